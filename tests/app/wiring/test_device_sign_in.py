"""Signing in without a browser: a code, somebody who types it on GitHub, and who that is here."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from app.simulator.github.rest.oauth import SIGN_INS
from tests.app.commands.answering_scene import make_asking
from tests.app.wiring.test_page_people import RUN, front, key, make_front, pages, scene, signer
from tests.patience import PATIENCE

__all__ = ["front", "key", "make_front", "pages", "scene", "signer"]  # fixtures
BEGIN, FINISH = "/login/device", "/login/device/finish"
SHORTLY = 1.1
CODE = r"[0-9A-F]{4}-[0-9A-F]{4}"


@pytest.fixture
def devices(front):
    """Return the front; its App lets programs sign people in."""
    front.app.device_flow = True
    return front


async def send(browser, path, **fields):
    headers = {"Origin": browser.url, "Accept": "application/json"}
    got, text = await browser.post(path, headers=headers, **fields)
    return got.status, json.loads(text)


async def ask_again(front, browser, begun):
    """Ask once more whether the code was typed, as late as GitHub wants it."""
    front.scene.server.world.clock_skew += timedelta(seconds=6)
    await asyncio.sleep(SHORTLY)
    return await send(browser, FINISH, handle=begun["handle"])


async def type_code(front, user_code, login, **more):
    """Do what somebody does on GitHub with a code."""
    asked = {"user_code": user_code, "login": login, **more}
    url = f"{front.scene.server.url}/login/device"
    async with front.open_browser() as browser, browser.session.get(url, params=asked) as got:
        assert "connected" in await got.text()


async def test_who_types_the_code_is_signed_in_here(devices):
    async with devices.open_browser() as browser:
        status, begun = await send(browser, BEGIN)
        waits, _ = await send(browser, FINISH, handle=begun["handle"])
        await type_code(devices, begun["user_code"], "bob")
        done, told = await ask_again(devices, browser, begun)
        bearer = {"Authorization": f"Bearer {told['token']}"}
        seen, run = await browser.get(f"/runs/{RUN}", **bearer)
        again, why = await ask_again(devices, browser, begun)

    assert (status, waits, done) == (200, 202, 200)
    assert re.fullmatch(CODE, begun["user_code"])
    assert urlsplit(begun["verification_uri"]).path == "/login/device"
    assert told["login"] == "bob"
    assert (seen.status, json.loads(run)["id"]) == (200, RUN)
    assert again == 403
    assert "incorrect_device_code" in why["text"]
    tokens = devices.scene.server._runner.app[SIGN_INS].tokens
    assert tokens == {}, "it is worth nothing any more"


async def test_a_person_decides_from_a_terminal_what_they_could_on_the_page(devices):
    asked = await devices.approvals.ask_once(RUN, make_asking())
    path, digest = f"/approvals/{asked.id}", asked.binding[:6]
    answered = {}
    async with devices.open_browser() as browser:
        for login in ("eve", "bob"):
            _, begun = await send(browser, BEGIN)
            await type_code(devices, begun["user_code"], login)
            _, told = await ask_again(devices, browser, begun)
            headers = {"Authorization": f"Bearer {told['token']}"}
            got, _ = await browser.post(path, headers=headers, verdict="approve", digest=digest)
            answered[login] = got.status
    stored = await devices.approvals.get(asked.id)

    assert answered == {"eve": 403, "bob": 303}
    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", "bob", "page")


async def test_who_says_no_on_github_is_not_signed_in(devices):
    async with devices.open_browser() as browser:
        _, begun = await send(browser, BEGIN)
        await type_code(devices, begun["user_code"], "bob", deny="1")
        status, told = await ask_again(devices, browser, begun)

    assert status == 403
    assert "access_denied" in told["text"]


@pytest.mark.parametrize("handle", ["", "x", "gAAAAAB" + "x" * 100, "\u00e9", "\ud800"])
async def test_what_was_made_up_signs_nobody_in(devices, handle):
    async with devices.open_browser() as browser:
        body = json.dumps({"handle": handle}).encode()
        headers = {"Content-Type": "application/json", "Origin": browser.url}
        async with browser.session.post(browser.url + FINISH, data=body, headers=headers) as got:
            assert got.status in (400, 403)


async def test_the_word_for_the_program_is_not_githubs_own(devices):
    """Whoever holds GitHub's could ask there for the person's token."""
    async with devices.open_browser() as browser:
        _, begun = await send(browser, BEGIN)

    [kept] = devices.scene.server._runner.app[SIGN_INS]._devices
    assert kept not in json.dumps(begun)


async def test_an_app_that_allows_it_not_says_who_can_change_that(front):
    async with front.open_browser() as browser:
        status, told = await send(browser, BEGIN)

    assert status == 403
    assert "Enable Device Flow" in told["text"]


async def test_another_site_begins_nothing(devices):
    async with devices.open_browser() as browser:
        got, _ = await browser.post(BEGIN, headers={"Origin": "https://evil.example"})
        many = [(await send(browser, BEGIN))[0] for _ in range(11)]

    assert got.status == 403
    assert many == [200] * 10 + [429]


# --- the commands ---------------------------------------------------------------------------------


async def start(tmp_path, *args, typed=None):
    """Start `fettle` as a user would, with a home of its own."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("FETTLE_")}
    home = {"HOME": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app", *args),
        env=environ | home | {"FETTLE_DATA_DIR": str(tmp_path / "data")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    if typed is not None:
        process.stdin.write(typed.encode())
        process.stdin.close()
    return process


async def test_a_terminal_signs_in_and_asks(devices, tmp_path):
    login = await start(tmp_path, "login", devices.address)
    async with asyncio.timeout(PATIENCE):
        shown = b""
        while not (code := re.search(CODE, shown.decode())):
            shown += await login.stderr.readuntil(b"\n")
        await type_code(devices, code[0], "bob")
        _, said = await login.communicate()
        asked = await start(tmp_path, "api", f"/runs/{RUN}")
        out, _ = await asked.communicate()
        gone = await start(tmp_path, "api", "/runs/0009-z")
        await gone.communicate()
    file = tmp_path / ".config" / "fettle" / "login.json"

    assert (login.returncode, asked.returncode, gone.returncode) == (0, 0, 1)
    assert "as bob" in " ".join(said.decode().split())
    assert json.loads(out)["id"] == RUN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("args", "typed", "words"),
    [
        (("login", "http://fettle.example"), None, "https://fettle.example"),
        (("login", "{address}", "--with-token"), "fettle_api_x\n", "said no (401)"),
        (("login", "{github}"), None, "does not answer as a server of Fettle"),
        (("api", "/runs"), None, "signed in to no server"),
    ],
)
async def test_what_cannot_be_is_told_in_words(devices, tmp_path, args, typed, words):
    places = {"address": devices.address, "github": devices.scene.server.url}
    process = await start(tmp_path, *(each.format(**places) for each in args), typed=typed)
    async with asyncio.timeout(PATIENCE):
        _, said = await process.communicate()

    assert process.returncode == 2
    assert words in " ".join(said.decode().split())
    assert "Traceback" not in said.decode()
    assert not (tmp_path / ".config" / "fettle" / "login.json").exists()
