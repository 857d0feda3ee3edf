"""No answer is read further, longer or in another form than wanted."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from aiohttp import web

from agents.errors import ToolError
from app.web import body
from tests.app.web.conftest import fetch, go, stream


async def test_an_endless_body_is_left_after_50_kb(site):
    site.answer_with("/", stream(piece=b"x" * 4096))

    page = await fetch(site)

    assert len(page.text) == body.MOST_TEXT
    assert page.cut


async def test_endless_markup_is_left_too_and_its_text_is_bounded(site):
    piece = b"<p>" + b"word " * 200 + b"</p>"
    site.answer_with("/", stream(piece=piece, **{"Content-Type": "text/html"}))

    page = await fetch(site)

    assert len(page.text.encode()) <= body.MOST_TEXT
    assert page.cut


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_no_further_than_wanted(site, coding):
    packed = (gzip.compress if coding == "gzip" else zlib.compress)(b"0" * 200_000_000)
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    site.answer_with("/", web.Response(body=packed, headers=headers))

    tracemalloc.start()
    page = await fetch(site)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 5_000_000
    assert len(page.text) == body.MOST_TEXT
    assert page.cut


async def test_packed_pages_are_unpacked(site):
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    site.answer_with("/", web.Response(body=gzip.compress(b"small"), headers=headers))

    assert (await fetch(site)).text == "small"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip"])
async def test_other_packings_are_refused(site, coding):
    headers = {"Content-Type": "text/plain", "Content-Encoding": coding}
    site.answer_with("/", web.Response(body=b"?", headers=headers))

    with pytest.raises(ToolError, match="packed as"):
        await fetch(site)


async def test_what_is_not_packed_as_it_says_is_refused(site):
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    site.answer_with("/", web.Response(body=b"not gzip at all", headers=headers))

    with pytest.raises(ToolError, match="nothing that can be read"):
        await fetch(site)


async def test_a_slow_drip_ends_with_the_time(site):
    site.answer_with("/", stream(piece=b".", pause=0.05))

    with pytest.raises(ToolError, match="did not answer within"):
        await fetch(site, seconds=0.3)


async def test_a_chain_of_slow_redirects_shares_the_time(site):
    async def redirect_later(_request):
        await asyncio.sleep(0.2)
        return await go("/")(_request)

    site.answer_with("/", redirect_later)

    with pytest.raises(ToolError, match="did not answer within"):
        await fetch(site, seconds=0.5)
    assert len(site.requests) <= 3


async def test_a_body_shorter_than_it_claims_is_told_as_cut(site):
    async def short(request):
        response = web.StreamResponse(
            headers={"Content-Type": "text/plain", "Content-Length": "1000"}
        )
        await response.prepare(request)
        await response.write(b"only this")
        request.transport.close()
        return response

    site.answer_with("/", short)

    page = await fetch(site)

    assert (page.text, page.cut) == ("only this", True)


@pytest.mark.parametrize(
    "kind", ["application/octet-stream", "image/png", "application/pdf", "application/zip", ""]
)
async def test_other_kinds_are_refused_before_their_body(site, kind):
    site.answer_with("/", stream(piece=b"x" * 1000, **{"Content-Type": kind}))

    with pytest.raises(ToolError, match="only text and JSON"):
        await fetch(site)
