"""The client over gidgethub: what is repeated, followed, waited for, and what each refusal is."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agents.errors import RunError, TransientError
from app.github.transport.client import GitHub
from app.github.transport.errors import NotFound, NotPermitted, Suspended, Unprocessable
from app.github.transport.http import API_VERSION, HttpApi, RequestFailed
from app.github.transport.throttle import PATIENCE
from app.github.transport.tokens import Profile
from app.github.transport.urls import Urls

ISSUE = "/repos/ada/parse/issues/1"
COMMENTS = f"{ISSUE}/comments"


@pytest.fixture
async def client(scene):
    return await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.REPORT
    )


async def test_the_plain_calls(scene, client):
    made = await client.post(COMMENTS, data={"body": "one"})
    where = {"id": made["id"]}
    await client.patch("/repos/ada/parse/issues/comments/{id}", where, data={"body": "two"})
    found = await client.getitem("/repos/ada/parse/issues/comments/{id}", where)
    await client.delete("/repos/ada/parse/issues/comments/{id}", where)

    assert found["body"] == "two"
    assert not scene.issue.comments


async def test_every_request_pins_the_version_and_says_who_asks(scene, client):
    await client.getitem(ISSUE)

    for exchange in scene.server.requests:
        sent = {name.lower(): value for name, value in exchange.headers.items()}
        assert sent["x-github-api-version"] == API_VERSION
        assert sent["user-agent"] == "fettle"


async def test_all_pages_are_read(scene, client):
    for number in range(205):
        await scene.server.comment(scene.repository, 1, scene.people["bob"], f"c{number}")
    bodies = [comment["body"] async for comment in client.getiter(COMMENTS)]

    assert bodies == [f"c{number}" for number in range(205)]
    assert len(scene.calls("GET", COMMENTS)) == 3


async def test_a_wrapped_list_is_unwrapped(scene, client):
    found = client.getiter("/installation/repositories", iterable_key="repositories")

    assert [repository["name"] async for repository in found] == ["parse"]


async def test_values_cannot_leave_their_place_in_the_path(scene, client):
    with pytest.raises(NotFound):
        await client.getitem("/users/{login}", {"login": "../repos/ada/parse"})

    assert scene.server.requests[-1].path == "/api/v3/users/..%2Frepos%2Fada%2Fparse"


async def test_graphql_goes_to_this_github_and_counts_its_errors(scene, client):
    data = await client.graphql(
        'query($n: String!) { repository(owner: $n, name: "parse") { name } }', {"n": "ada"}
    )
    with pytest.raises(NotFound, match="Could not resolve"):
        await client.graphql('{ repository(owner: "ada", name: "nothing") { name } }')

    assert data == {"repository": {"name": "parse"}}
    assert scene.calls("POST", "/api/graphql")


# --- redirects --------------------------------------------------------------------------------


async def test_a_post_to_a_renamed_repository_stays_a_post(scene, client):
    await scene.server.rename_repository(scene.repository, "parser")

    made = await client.post(COMMENTS, data={"body": "still here"})

    assert made["body"] == "still here"
    assert [comment.body for comment in scene.issue.comments] == ["still here"]
    assert [(e.method, e.status) for e in scene.server.requests[-2:]] == [
        ("POST", 301),
        ("POST", 201),
    ]


@pytest.mark.parametrize("method", ["getitem", "post"])
async def test_no_redirect_leads_to_another_host(scene, client, method):
    heard = []

    async def listen(request: web.Request) -> web.Response:
        heard.append(request)
        return web.json_response({})

    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", listen)
    async with TestServer(application) as elsewhere:
        scene.server.faults.redirect("*", "/issues/1", str(elsewhere.make_url("/api/v3/x")))
        with pytest.raises(RunError, match="another host"):
            await getattr(client, method)(ISSUE, **({"data": {}} if method == "post" else {}))

    assert not heard


async def test_redirects_in_a_circle_end(scene, client):
    scene.server.faults.redirect("*", "/issues/1", "/api/v3" + ISSUE, times=99)
    with pytest.raises(RunError, match="301"):
        await client.getitem(ISSUE)

    assert len(scene.calls("GET", ISSUE)) == 4


async def test_a_302_is_no_reason_to_post_again(scene, client):
    scene.server.faults.redirect("POST", "/comments", "/api/v3" + COMMENTS, status=302)
    with pytest.raises(RunError, match="302"):
        await client.post(COMMENTS, data={"body": "x"})

    assert not scene.issue.comments


# --- trying again -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_get_is_repeated_when_github_is_ill(scene, client, status):
    scene.server.faults.status("GET", "/issues/1$", status, times=3)

    assert (await client.getitem(ISSUE))["number"] == 1
    assert scene.slept == [1, 2, 4]


async def test_a_get_is_given_up_in_the_end(scene, client):
    scene.server.faults.status("GET", "/issues/1$", 502, times=9)
    with pytest.raises(TransientError, match="502"):
        await client.getitem(ISSUE)

    assert len(scene.calls("GET", ISSUE)) == 4


async def test_a_lost_answer_to_a_get_is_asked_for_again(scene, client):
    scene.server.faults.lose_answer("GET", "/issues/1$", times=2)

    assert (await client.getitem(ISSUE))["number"] == 1


@pytest.mark.parametrize("kind", ["status", "lose_answer"])
async def test_a_post_is_sent_once_however_it_fails(scene, client, kind):
    arguments = [502] if kind == "status" else []
    getattr(scene.server.faults, kind)("POST", "/comments", *arguments)
    with pytest.raises(TransientError):
        await client.post(COMMENTS, data={"body": "x"})

    assert len(scene.calls("POST", COMMENTS)) == 1


async def test_a_404_is_waited_out_only_for_what_the_delivery_named(scene, client):
    scene.server.faults.status("GET", "/issues/1$", 404, times=2)
    assert (await client.getitem(ISSUE, named=True))["number"] == 1

    scene.server.faults.status("GET", "/issues/1$", 404)
    with pytest.raises(NotFound):
        await client.getitem(ISSUE)


# --- tokens -----------------------------------------------------------------------------------


async def test_a_token_that_was_revoked_is_replaced_even_for_a_post(scene, client):
    scene.server.tokens._live.clear()
    scene.server.advance_clock(timedelta(0))
    scene.github.broker._app.jwt._clock = _shift(scene.github.broker._app.jwt._clock, 60)

    await client.post(COMMENTS, data={"body": "x"})

    assert len(scene.issue.comments) == 1
    assert len(scene.calls("POST", "access_tokens")) == 2


async def test_a_fresh_token_gets_some_time_to_become_known(scene, client):
    scene.server.faults.status("GET", "/issues/1$", 401, times=3)

    assert (await client.getitem(ISSUE))["number"] == 1
    assert len(scene.calls("POST", "access_tokens")) == 1
    assert sum(scene.slept) <= 5


async def test_tokens_that_are_never_accepted_end_in_an_error(scene, client):
    scene.server.faults.status("GET", "/issues/1$", 401, times=99)
    with pytest.raises(TransientError, match="does not accept a token"):
        await client.getitem(ISSUE)

    assert len(scene.calls("POST", "access_tokens")) == 2


async def test_a_leased_client_has_its_own_token_and_takes_no_other(scene):
    where = scene.installation.id, scene.repository.id, Profile.PULLS
    async with scene.github.lease_client(*where) as leased:
        assert await leased.getitem("/repos/ada/parse/pulls") == []
        scene.server.faults.status("GET", "/pulls", 401, times=99)
        with pytest.raises(TransientError):
            await leased.getitem("/repos/ada/parse/pulls")

    assert len(scene.calls("POST", "access_tokens")) == 1
    assert not scene.server.tokens._live


def _shift(clock, seconds):
    return lambda: clock() + seconds


# --- limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rate_limit", "secondary_limit"])
async def test_a_short_limit_is_waited_out_for_a_get(scene, client, kind):
    getattr(scene.server.faults, kind)("GET", "/issues/1$", retry_after=3)

    assert (await client.getitem(ISSUE))["number"] == 1
    assert 2.5 < sum(scene.slept) <= 3


async def test_a_long_limit_is_the_engines_to_wait_for_and_holds_for_all(scene, client):
    scene.server.faults.secondary_limit("GET", "/issues/1$")
    with pytest.raises(TransientError) as first:
        await client.getitem(ISSUE)
    asked = len(scene.server.requests)
    with pytest.raises(TransientError) as second:
        await client.post(COMMENTS, data={"body": "x"})

    assert first.value.retry_after == 60
    assert PATIENCE < second.value.retry_after <= 60
    assert len(scene.server.requests) == asked  # pressing on may get the App banned


async def test_a_limited_post_is_not_repeated_here(scene, client):
    scene.server.faults.rate_limit("POST", "/comments", retry_after=1)
    with pytest.raises(TransientError) as error:
        await client.post(COMMENTS, data={"body": "x"})

    assert error.value.retry_after == 1
    assert not scene.issue.comments


async def test_another_installation_is_not_held(scene, client):
    scene.server.faults.secondary_limit("GET", "/issues/1$")
    with pytest.raises(TransientError):
        await client.getitem(ISSUE)
    repository = await scene.server.create_repository(scene.people["bob"], "tool")
    installation = await scene.server.install(scene.app.app_id, [repository])
    other = await scene.github.installation(installation.id, repository.id, Profile.READ)

    assert (await other.getitem("/repos/bob/tool"))["name"] == "tool"


async def test_few_calls_at_once(scene, client):
    now = most = 0

    async def arrive(_: web.Request) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    scene.server.faults.call_before("GET", "/issues/1$", arrive, times=40)
    await asyncio.gather(*(client.getitem(ISSUE) for _ in range(40)))

    assert 1 < most <= 10


# --- refusals ---------------------------------------------------------------------------------


async def test_a_missing_permission_is_named(scene):
    client = await scene.github.installation(
        scene.installation.id, scene.repository.id, Profile.READ
    )
    with pytest.raises(NotPermitted, match="`issues: write`") as error:
        await client.post(COMMENTS, data={"body": "x"})

    assert "POST /repos/ada/parse/issues/1/comments" in str(error.value)


async def test_a_suspension_in_the_middle_of_the_work(scene, client):
    await scene.server.suspend(scene.installation, scene.people["ada"])
    with pytest.raises(Suspended):
        await client.getitem(ISSUE)


async def test_invalid_input_tells_githubs_reason(scene, client):
    with pytest.raises(Unprocessable, match="body"):
        await client.post(COMMENTS, data={"body": " "})


# --- answers that only proxies and edges give -------------------------------------------------


@pytest.fixture
async def odd():
    """Yield (what to answer, a client of the server that answers it)."""
    answers: list[web.Response] = []

    async def answer(_: web.Request) -> web.Response:
        return answers.pop(0)

    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", answer)
    async with TestServer(application) as server, aiohttp.ClientSession() as session:
        yield answers, HttpApi(session, Urls.from_web_url(str(server.make_url("")).rstrip("/")))


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (web.Response(status=520, text="<html>edge</html>", content_type="text/html"), 502),
        (web.Response(status=599), 502),
        (web.Response(status=499), 400),
        (web.Response(status=502, text="[1]", content_type="application/json"), 502),
        (web.Response(status=422, text="{}", content_type="application/json"), 422),
        (web.Response(status=422, text="no json", content_type="application/json"), 422),
        (web.Response(status=403, body=b"<p>", headers={"Content-Type": "text/x; charset=q"}), 403),
        (web.Response(text="<html>Maintenance</html>", content_type="text/html"), 502),
        (web.Response(text="{cut off", content_type="application/json"), 502),
        (web.Response(body=b"\xff", headers={"Content-Type": "application/json"}), 502),
        (web.Response(body=b"{}", headers={"Content-Type": "application/json; charset=q"}), 502),
    ],
    ids=range(11),
)
async def test_every_odd_answer_becomes_a_plain_refusal(odd, response, status):
    answers, api = odd
    answers.append(response)
    with pytest.raises(RequestFailed) as refused:
        await api.send("GET", "/x")

    assert refused.value.reply.status == status


async def test_an_odd_graphql_answer_is_refused(odd):
    answers, api = odd
    for text in ("[]", "{}", json.dumps({"data": None})):
        answers.append(web.Response(text=text, content_type="application/json"))
        with pytest.raises(RequestFailed) as refused:
            await api.graphql_data("{ x }", {}, token="t")
        assert refused.value.reply.status == 502


async def test_a_graphql_limit_says_until_when(odd):
    answers, api = odd
    body = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    limit = {"x-ratelimit-limit": "9", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "77"}
    answers.append(web.json_response(body, headers=limit))
    with pytest.raises(RequestFailed) as refused:
        await api.graphql_data("{ x }", {}, token="t")

    assert refused.value.reply.status == 429
    assert refused.value.reply.headers["x-ratelimit-reset"] == "77"


async def test_a_server_that_is_not_there_is_transient(scene):
    where = scene.installation.id, scene.repository.id, Profile.READ
    async with GitHub.open(
        github_url="http://127.0.0.1:9",
        app_id=1,
        private_key=scene.app.private_key,
        redactor=scene.redactor,
    ) as github:
        github.app._sleep = scene.github.app._sleep
        with pytest.raises(TransientError, match="did not answer"):
            await github.installation(*where)


async def test_a_link_to_another_host_gets_no_token(odd):
    answers, api = odd
    answers.append(web.json_response([], headers={"link": '<https://evil.test/2>; rel="next"'}))
    _, more = await api.send("GET", "/x", token="t")
    with pytest.raises(RunError, match="another host"):
        await api.send("GET", more, token="t")


async def test_calls_refused_at_the_same_moment_do_not_lengthen_the_pause(scene, client):
    scene.server.faults.secondary_limit("GET", "/issues/1$", times=5)
    asked = (client.getitem(ISSUE) for _ in range(5))
    refused = await asyncio.gather(*asked, return_exceptions=True)
    assert [error.retry_after for error in refused] == [60] * 5
    with pytest.raises(TransientError) as held:
        await client.getitem(ISSUE)
    assert held.value.retry_after <= 60


@pytest.mark.parametrize("status", [401, 404])
async def test_one_refusal_of_a_token_takes_nobodys_installation_away(scene, status):
    scene.server.faults.status("POST", r"/access_tokens$", status, times=2)
    request = scene.request
    client = await scene.github.installation(
        request.installation_id, request.repository.id, Profile.READ
    )
    assert await client.getitem("/repos/{owner}/{repo}", {"owner": "ada", "repo": "parse"})
