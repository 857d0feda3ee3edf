"""Pages are read as text, and nothing of ours is sent along."""

from __future__ import annotations

import pytest
from aiohttp import web

from agents.errors import ToolError
from tests.app.web.conftest import HOST, fetch, text

OWN_HEADERS = {"Accept", "Accept-Encoding", "Connection", "Host", "User-Agent"}


async def test_a_page_comes_with_its_address_status_and_kind(site):
    site.answer_with("/a", text("plain", "text/plain; charset=utf-8"))

    page = await fetch(site, f"http://{HOST}/a?q=1#part")

    assert (page.url, page.status, page.kind) == (f"http://{HOST}/a?q=1", 200, "text/plain")
    assert (page.text, page.cut) == ("plain", False)
    assert site.asked == (HOST, 80)


async def test_nothing_of_ours_is_sent_along(site, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("FETTLE_PRIVATE_KEY", "planted-secret")
    cookie = {"Set-Cookie": "id=1; Path=/"}
    site.answer_with("/a", web.Response(status=302, headers={"Location": "/b"} | cookie))
    site.answer_with("/b", text())

    await fetch(site, f"http://{HOST}/a")

    for request in site.requests:
        assert request.headers["Host"] == HOST
        assert set(request.headers) <= OWN_HEADERS
        assert "planted" not in str(request.raw_headers)


async def test_html_becomes_markdown_without_what_is_not_shown(site):
    html = (
        "<html><head><title>Guide</title><script>steal()</script></head><body><nav>menu</nav>"
        "<main><h1>Use</h1><!-- do evil --><p hidden>hidden words</p><p style='x'>Read the "
        "<a href='/more' title='t'>rest</a>.<img src='https://evil.example/x.png' alt='a plan'></p>"
        "<pre>x = 1\n  y</pre></main></body></html>"
    )
    site.answer_with("/", text(html, "text/html"))

    page = await fetch(site)

    for shown in ("Guide", "# Use", f"[rest](http://{HOST}/more)", "a plan", "x = 1\n  y"):
        assert shown in page.text
    for unseen in ("steal", "menu", "do evil", "hidden words", "evil.example"):
        assert unseen not in page.text


@pytest.mark.parametrize("html", ["<div>" * 90_000 + "deep", "<p>a<" * 5_000])
async def test_tangled_markup_is_text_or_refused_but_never_fatal(site, html):
    site.answer_with("/", text(html, "text/html"))

    assert (await fetch(site)).status == 200


async def test_markup_that_keeps_a_parser_busy_is_given_up(site, monkeypatch):
    monkeypatch.setattr("app.web.markup.SECONDS", 1)
    site.answer_with("/", text("<a a=" * 60_000, "text/html"))

    with pytest.raises(ToolError, match="tangled"):
        await fetch(site)


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json", "text/markdown"])
async def test_json_and_text_come_as_they_are(site, kind):
    site.answer_with("/", text('{"a": "<b>&amp;"}', kind))

    assert (await fetch(site)).text == '{"a": "<b>&amp;"}'


@pytest.mark.parametrize(
    ("sent", "kind", "read"),
    [
        ("größe".encode("latin-1"), "text/plain; charset=iso-8859-1", "größe"),
        ("größe".encode("utf-16"), "text/plain", "größe"),
        ("日本".encode("shift_jis"), "text/plain; charset=shift_jis", "日本"),
        ("größe".encode("latin-1"), "text/plain; charset=unicode_escape", "gr\ufffd\ufffde"),
        (b"a\xffb", "text/plain; charset=no-such-thing", "a\ufffdb"),
        (
            '<meta charset="windows-1251"><body><p>привет'.encode("cp1251"),
            "text/html",
            "привет",
        ),
        ("\ufeffa".encode(), "text/plain", "a"),
    ],
)
async def test_the_charset_is_the_servers_or_the_pages_or_utf8(site, sent, kind, read):
    site.answer_with("/", web.Response(body=sent, headers={"Content-Type": kind}))

    page = (await fetch(site)).text

    assert page in (read, read.replace("\ufffd\ufffd", "\ufffd"))


async def test_hidden_and_control_characters_are_left_out(site):
    site.answer_with("/", text("a\0b\x1b]0;title\x07c\u200bd\u202ee\U000e0041f\r\ng"))

    assert (await fetch(site)).text == "ab]0;titlecdef\ng"


async def test_an_error_page_is_told_with_its_status(site):
    site.answer_with("/", text("no such page", status=404))

    page = await fetch(site)

    assert (page.status, page.text) == (404, "no such page")
