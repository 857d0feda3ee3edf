"""What a GitHub may answer to a code, the worst included: used only when all of it is right."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

from agents.errors import RunError, TransientError
from app.github.transport.urls import Urls
from app.registration.conversion import convert
from app.views.text import to_line
from tests.app.config.test_settings import pem


@pytest.fixture(scope="module")
def good():
    return {
        "id": 7,
        "slug": "fettle",
        "name": "Fettle",
        "html_url": "http://github.example/apps/fettle",
        "pem": pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)),
        "webhook_secret": "s3cret-of-the-webhook",
        "client_secret": "never kept",
    }


@asynccontextmanager
async def open_server(*answers):
    """Serve these answers, one for each request: a status, or an object with 201."""
    asked = []

    async def convert_code(request):
        asked.append(request.match_info["code"])
        answer = answers[min(len(asked), len(answers)) - 1]
        if isinstance(answer, int):
            return web.json_response({"message": "no"}, status=answer)
        return web.json_response(answer, status=201)

    application = web.Application()
    application.router.add_post("/api/v3/app-manifests/{code}/conversions", convert_code)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Urls.from_web_url(f"http://127.0.0.1:{runner.addresses[0][1]}"), asked
    finally:
        await runner.cleanup()


async def test_a_good_answer(good):
    async with open_server(good) as (urls, asked):
        made = await convert(urls, "c0de", pause=0)
    assert (made.id, made.pem.get_secret_value(), asked) == (7, good["pem"], ["c0de"])
    assert good["webhook_secret"] not in repr(made)
    assert made.for_sign_in == {}


@pytest.mark.parametrize("ident", ["Iv23.abc", "Iv1\nFETTLE_HOST=0.0.0.0", ""])
@pytest.mark.parametrize("secret", ["s" * 40, "s\ns", "", None])
async def test_what_people_sign_in_with_never_costs_the_key(good, ident, secret):
    async with open_server(good | {"client_id": ident, "client_secret": secret}) as (urls, _):
        made = await convert(urls, "c0de", pause=0)
    assert made.pem.get_secret_value() == good["pem"]
    fit = ident == "Iv23.abc" and secret == "s" * 40
    expected = {"FETTLE_CLIENT_ID": ident, "FETTLE_CLIENT_SECRET": secret} if fit else {}
    assert made.for_sign_in == expected
    assert not secret or secret not in repr(made)


async def test_no_answer_is_asked_for_again(good):
    async with open_server(502, good) as (urls, asked):
        assert (await convert(urls, "c0de", pause=0)).id == 7
    assert len(asked) == 2
    async with open_server(502) as (urls, asked):
        with pytest.raises(TransientError, match="--import"):
            await convert(urls, "c0de", pause=0)
    assert len(asked) == 3


@pytest.mark.parametrize("status", [404, 422, 401, 403])
async def test_a_refusal_is_final_and_says_what_is_left(status):
    async with open_server(status) as (urls, asked):
        with pytest.raises(RunError, match=f"status {status}.*--import"):
            await convert(urls, "c0de", pause=0)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"pem": "-----BEGIN RSA PRIVATE KEY-----\nhush-hush\n-----END RSA PRIVATE KEY-----"},
        {"pem": None},
        {"webhook_secret": ""},
        {"webhook_secret": None},
        {"webhook_secret": "hush-hush\nFETTLE_SANDBOX=none"},
        {"webhook_secret": "hush-hush\x1b[2J"},
        {"id": -1},
        {"id": "7; rm"},
        {"slug": "../../x"},
        {"slug": "a\nb"},
        {"slug": "\x1b]0;owned\x07"},
    ],
)
async def test_attack_an_answer_with_something_wrong_in_it_is_not_used(good, change):
    async with open_server({**good, **change}) as (urls, _):
        with pytest.raises(RunError, match="cannot be used") as caught:
            await convert(urls, "c0de", pause=0)
    said = str(caught.value)
    assert next(iter(change)) in said
    assert said.isprintable()
    assert "hush" not in said


@pytest.mark.parametrize("answer", [[], "x", None, {}])
async def test_attack_an_answer_of_another_shape(answer):
    async with open_server(answer) as (urls, _):
        with pytest.raises(RunError, match="cannot be used"):
            await convert(urls, "c0de", pause=0)


async def test_attack_a_name_cannot_speak_to_the_terminal(good):
    name = "Fettle\n\x1b[2J\x1b]8;;http://evil.example\x07click\u202e\u200b"
    async with open_server({**good, "name": name}) as (urls, _):
        made = await convert(urls, "c0de", pause=0)
    shown = to_line(made.name, 60)
    assert shown.isprintable()
    assert len(shown) <= 60


@pytest.mark.parametrize(
    ("html_url", "path"),
    [
        ("{web}/github-apps/fettle", "/github-apps/fettle"),
        ("https://evil.example/apps/another", "/apps/fettle"),
        ("{web}@evil.example/apps/fettle", "/apps/fettle"),
        ("javascript:alert(1)", "/apps/fettle"),
        ("{web}/apps/fettle?next=https://evil.example", "/apps/fettle"),
        ("{web}/apps/\x1b[2Jfettle", "/apps/fettle"),
        ("{web}/apps/fettle\nhttps://evil.example", "/apps/fettle"),
    ],
)
async def test_attack_the_install_link_leads_to_this_github_alone(good, html_url, path):
    async with open_server(None) as (urls, _):
        address = html_url.format(web=urls.web)
    async with open_server({**good, "html_url": address}) as (urls, _):
        made = await convert(urls, "c0de", pause=0)
        mine = made.model_copy(update={"html_url": html_url.format(web=urls.web)})
        assert mine.install_link(urls) == f"{urls.web}{path}/installations/new"
