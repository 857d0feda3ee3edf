"""What programs get: by token, as it is described, within bounds, and nothing of others."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
import schemathesis
from aiohttp.test_utils import make_mocked_request
from hypothesis import HealthCheck, Phase, given, seed, settings
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis import Case

from app.pages.openapi import describe_api
from app.pages.programs import PER_MINUTE, Programs
from app.store.pages.logins import PageLogin
from app.store.pages.tokens import ApiTokens
from app.store.runs import StoredSteers
from tests.app.cli.runs.runs_scene import answer
from tests.app.commands.answering_scene import make_asking
from tests.app.pages.conftest import TURNS

OURS = 7


@asynccontextmanager
async def a_program(pages, *rights, repositories=None, name="nightly"):
    """Yield a function that asks as a program with such a token does."""
    tokens = ApiTokens(pages.database)
    secret = await tokens.make(name, {"read", *rights}, repositories, days=1, by="ada")
    headers = {"Authorization": f"Bearer {secret}"}
    async with pages.serve() as served, aiohttp.ClientSession(headers=headers) as session:

        async def ask(path, *, method="GET", **given):
            async with session.request(
                method, served.url + path, allow_redirects=False, **given
            ) as got:
                return got, json.loads(await got.text())

        ask.url, ask.secret = served.url, secret
        yield ask


async def store_runs(pages):
    """Store a run of each kind, and what was asked; return the approval."""
    half = answer({"type": "text", "text": "half a character: \ud800"})
    await pages.run("0001-a", *TURNS, half, title="Add well")
    await pages.run("0002-b", *TURNS, state="parked")
    await pages.run("0003-c", *TURNS, state="done")
    await pages.fix("0004-d")
    return await pages.approvals.ask_once("0002-b", make_asking())


def test_the_description_is_openapi():
    OpenAPIV31SpecValidator(describe_api()).validate()


async def test_a_third_party_finds_every_answer_as_described(pages):
    """Schemathesis asks for what is there and for what it makes up, and compares."""
    asked = await store_runs(pages)
    async with a_program(pages, "alerts", "steer") as ask:
        known = {"run": "0001-a", "stage": "implement/1", "approval": asked.id}
        known |= {"owner": "ada", "name": "parse"}
        seen = await asyncio.to_thread(_compare, ask.url, ask.secret, known)

    assert {status for _, status in seen} >= {200, 404}
    assert {name for name, status in seen if status == 200} == {
        each["operationId"] for path in describe_api()["paths"].values() for each in path.values()
    } - {"followRun"}


def _compare(url, secret, known):
    """Ask for all that is described; return operations with the statuses that they answered."""
    described = describe_api()
    del described["paths"]["/runs/{run}/events"]  # it ends with the run
    schema = schemathesis.openapi.from_dict(described)
    schema.config.update(base_url=url)
    seen = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        names = {each.name for each in operation.path_parameters}
        body = {"kind": "remark", "words": "Keep the name", "once": "1"}
        cases = [
            operation.Case(
                path_parameters={name: known[name] for name in names},
                **({"body": body, "media_type": "application/json"} if operation.body else {}),
            ),
            *(_make_up(operation, number) for number in range(5)),
        ]
        for number, case in enumerate(cases):
            if number % 2:  # what was made up about a run that there is
                case.path_parameters = {name: known[name] for name in names}
            answered = case.call_and_validate(headers={"Authorization": f"Bearer {secret}"})
            seen.add((operation.definition.raw["operationId"], answered.status_code))
    return seen


def _make_up(operation, number) -> Case:
    """Return a request that Schemathesis makes of the description."""
    made = []

    @seed(number)
    @settings(
        max_examples=1,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def take(case):
        made.append(case)

    take()
    return made[-1]


async def test_a_token_reads_its_repositories_alone(pages):
    asked = await store_runs(pages)
    async with a_program(pages, "alerts", "steer", repositories=[1]) as ask:
        _, now = await ask("/runs")
        paths = ("/runs/0001-a", "/runs/0001-a/trajectory", f"/approvals/{asked.id}", "/audit")
        hidden = [(await ask(path))[0].status for path in (*paths, "/spend", "/r/ada/parse")]
        steered, _ = await ask("/runs/0001-a", method="POST", json={"kind": "cancel"})
        _, alerts = await ask("/alerts")

    assert (now["live"], now["ended"], now["waiting"], now["spent_today"]) == ([], [], [], None)
    assert hidden == [404] * 6
    assert steered.status == 404
    assert alerts["fixes"] == []


async def test_alerts_take_a_right_of_their_own(pages):
    await store_runs(pages)
    async with a_program(pages) as ask:
        _, now = await ask("/runs")
        _, alerts = await ask("/alerts")
        run, _ = await ask("/runs/0004-d")
    async with a_program(pages, "alerts", name="security") as ask:
        _, seen = await ask("/alerts")

    assert "0004-d" not in [each["id"] for each in now["ended"] + now["live"]]
    assert (alerts["fixes"], run.status) == ([], 404)
    assert [each["run"] for each in seen["fixes"]] == ["0004-d"]
    assert seen["fixes"][0]["found"] == [3, 4]


async def test_a_token_steers_only_where_it_may(pages):
    await store_runs(pages)
    word = {"kind": "remark", "words": "Keep the name", "once": "1"}
    async with a_program(pages) as ask:
        refused, why = await ask("/runs/0001-a", method="POST", json=word)
    async with a_program(pages, "steer", name="chatops") as ask:
        for _ in range(2):
            heard, run = await ask("/runs/0001-a", method="POST", json=word)
        odd, _ = await ask("/runs/0001-a", method="POST", json={"kind": ["cancel"]})
        broken, _ = await ask(
            "/runs/0001-a", method="POST", data="{", headers={"Content-Type": "application/json"}
        )

    assert (refused.status, heard.status, odd.status, broken.status) == (403, 200, 400, 400)
    assert "--may steer" in why["text"]
    assert [(each["by"], each["words"]) for each in run["said"]] == [("chatops", "Keep the name")]
    [steer] = await StoredSteers(pages.database).list_after("0001-a")
    assert (steer.via, steer.by) == ("page", "chatops")


async def test_no_token_decides(pages):
    asked = await store_runs(pages)
    yes = {"verdict": "approve", "digest": asked.binding[:6]}
    async with a_program(pages, "alerts", "steer") as ask:
        for form in (yes, {"verdict": "deny"}):
            got, why = await ask(f"/approvals/{asked.id}", method="POST", json=form)
            assert got.status == 403
            assert "a person decides" in why["text"]

    assert (await pages.approvals.get(asked.id)).state == "waiting"


async def test_no_token_has_work_begin(pages):
    await store_runs(pages)
    async with a_program(pages, "alerts", "steer") as ask:
        got, why = await ask("/runs/0003-c/retry", method="POST", json={"once": "1"})

    assert got.status == 403
    assert "a person has work begin" in why["text"]


async def test_an_ended_or_foreign_token_lets_nobody_in(pages):
    await store_runs(pages)
    async with a_program(pages) as ask:
        assert (await ask("/runs"))[0].status == 200
        assert await ApiTokens(pages.database).end("nightly")
        ended, _ = await ask("/runs")
        others = [
            (await ask("/runs", headers={"Authorization": text}))[0].status
            for text in ("Bearer fettle_api_x", "Basic eDp5", "Bearer", ask.secret)
        ]

    assert ended.status == 401
    assert ended.headers["WWW-Authenticate"] == "Bearer"
    assert others == [401] * 4


async def test_a_token_may_ask_so_often(pages):
    async with a_program(pages) as ask:
        told = [(await ask("/runs"))[0] for _ in range(PER_MINUTE + 1)]

    assert {got.status for got in told[:-1]} == {200}
    assert told[-1].status == 429
    assert 0 < int(told[-1].headers["Retry-After"]) <= 60


async def test_a_token_may_ask_so_often_in_any_minute(pages):
    secret = await ApiTokens(pages.database).make("nightly", {"read"}, None, days=1, by="ada")
    request = make_mocked_request("GET", "/runs", {"Authorization": f"Bearer {secret}"})
    now = 50.0
    programs = Programs(pages.database, clock=lambda: now)
    first = [await programs.identify(request) for _ in range(PER_MINUTE // 2)]
    now = 70.0
    then = [await programs.identify(request) for _ in range(PER_MINUTE // 2)]
    refused = await programs.identify(request)
    now = 110.5
    later = [await programs.identify(request) for _ in range(PER_MINUTE // 2)]
    again = await programs.identify(request)

    assert {type(each) for each in (*first, *then, *later)} == {PageLogin}
    assert (refused.status, refused.headers["Retry-After"]) == (429, "40")
    assert (again.status, again.headers["Retry-After"]) == (429, "20")


async def test_what_is_kept_of_a_token_lets_nobody_in(pages):
    async with a_program(pages, repositories=[OURS]) as ask:
        [kept] = await ApiTokens(pages.database).list_all()
        stored = (pages.folder / "fettle.db").read_bytes()

    assert ask.secret.encode() not in stored
    assert (kept.name, kept.repositories) == ("nightly", {OURS})


@pytest.mark.parametrize("origin", [{}, {"Origin": "https://evil.example"}])
async def test_a_cookie_beside_a_wrong_token_counts_for_nothing(pages, origin):
    await pages.run("0001-a")
    async with pages.logged_in() as browser:
        await browser.get("/runs/0001-a")
        forged = {"Authorization": "Bearer fettle_api_x", **origin}
        got, _ = await browser.post("/runs/0001-a", headers=forged, kind="cancel")

    assert got.status == 401
    assert not await StoredSteers(pages.database).list_after("0001-a")
