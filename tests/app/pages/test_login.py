"""Logging in by a code of the machine; and forms that are not from our own pages."""

from __future__ import annotations

import pytest

from app.store.pages.logins import PageLogins


async def log_in(browser, scene, **more):
    code = await PageLogins(scene.database).make_code("ada")
    return await browser.post("/login", code=code, **more)


async def test_a_code_counts_once(pages):
    code = await PageLogins(pages.database).make_code("ada")
    async with pages.serve() as browser:
        first, _ = await browser.post("/login", code=f" {code.upper()} ", next="/spend")
        browser.session.cookie_jar.clear()
        second, text = await browser.post("/login", code=code)

    cookie = first.headers["Set-Cookie"]
    assert (first.status, first.headers["Location"]) == (303, "/spend")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=28800"))
    assert second.status == 403
    assert "was used" in text


async def test_logging_out_ends_the_session(pages):
    async with pages.logged_in() as browser:
        await browser.get("/")
        kept = {cookie.key: cookie.value for cookie in browser.session.cookie_jar}
        await browser.post("/logout")
        cookie = "; ".join(f"{name}={value}" for name, value in kept.items())
        got, _ = await browser.get("/", Cookie=cookie)

    assert kept
    assert got.status == 303


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\r\nX: y"],
)
async def test_nobody_is_sent_elsewhere_after_logging_in(pages, wanted):
    async with pages.serve() as browser:
        got, _ = await log_in(browser, pages, next=wanted)

    assert got.headers["Location"] == "/"
    assert "X" not in got.headers


async def test_codes_cannot_be_guessed_for_long(pages):
    async with pages.serve() as browser:
        tries = [(await browser.post("/login", code=f"wrong-{n}"))[0].status for n in range(11)]
        late, _ = await log_in(browser, pages)

    assert tries == [403] * 10 + [429]
    assert late.status == 429


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1"}],
)
async def test_a_form_of_another_site_does_nothing(pages, headers):
    await pages.run("0001-a")
    async with pages.logged_in() as browser:
        await browser.get("/runs/0001-a")
        got, _ = await browser.post("/runs/0001-a", headers=headers, kind="cancel")
        _, text = await browser.get("/runs/0001-a")

    assert got.status == 403
    assert "Said to the run" not in text


async def test_a_form_without_the_sessions_own_word_does_nothing(pages):
    await pages.run("0001-a")
    async with pages.logged_in("eve") as other:
        await other.get("/runs/0001-a")
        foreign = other.csrf
    async with pages.logged_in() as browser:
        for csrf in ("", foreign):
            got, text = await browser.post("/runs/0001-a", csrf=csrf, kind="cancel")
            assert got.status == 403
            assert "Load the page again" in text
    assert foreign


@pytest.mark.parametrize("host", ["evil.example", "fettle.example:8081", "127.0.0.1"])
async def test_a_name_that_somebody_pointed_here_shows_nothing(pages, host):
    async with pages.logged_in() as browser:
        got, _ = await browser.get("/", Host=host)

    assert got.status == 421


async def test_behind_a_proxy_the_cookie_is_for_tls_and_this_name_alone(pages):
    async with pages.serve(public_url="https://fettle.example") as browser:
        assert browser.url == "https://fettle.example"
        browser.url = f"http://127.0.0.1:{pages.port}"
        headers = {"Origin": "https://fettle.example", "Host": "fettle.example"}
        got, _ = await log_in(browser, pages, headers=headers)
        direct, _ = await browser.get("/login")

    cookie = got.headers["Set-Cookie"]
    assert got.status == 303
    assert cookie.startswith("__Host-fettle=")
    assert "Secure" in cookie
    assert "Domain" not in cookie
    assert direct.status == 421
