"""Forward a package index's response to a sandbox, without cookies or credentials."""

from __future__ import annotations

import asyncio
import contextlib
import re
from urllib.parse import quote, urljoin

import aiohttp
from aiohttp import web

from app.dependencies.origins import Key
from app.dependencies.refusals import Refused

ANSWERED = frozenset(
    {"accept-ranges", "cache-control", "content-encoding", "content-length", "content-range"}
    | {"content-type", "etag", "expires", "last-modified", "location", "retry-after", "vary"}
    | {"x-pypi-last-serial", "npm-notice"}
)
"""Headers of an answer that pass."""

_PAGES = ("application/json", "application/vnd.", "text/")
_PAGE_LARGEST = 32 * 1024 * 1024
_PAGES_AT_ONCE = 4
_PIECE = 64 * 1024
_SHORTEST = 6
"""Shorter secrets are part of many a word."""


class Passing:
    """Forwards responses; pages of private indexes are first searched for credentials."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(_PAGES_AT_ONCE)

    async def forward_answer(
        self, found: aiohttp.ClientResponse, request: web.BaseRequest, key: Key | None
    ) -> web.StreamResponse:
        """Forward one response. Raises Refused when it holds the credential of its index."""
        headers = {k: v for k, v in found.headers.items() if k.lower() in ANSWERED}
        if "Location" in headers:  # whoever asked may know a mirror by another name
            headers["Location"] = urljoin(str(found.url), headers["Location"])
        if key is None:
            return await _stream(found, request, headers)
        if "Location" in headers:
            headers["Location"] = _without_secrets(headers["Location"].encode(), key).decode()
        if not found.content_type.startswith(_PAGES) or request.method == "HEAD":
            return await _stream(found, request, headers)
        async with self._turn:
            page = await _page(found)
            body = await asyncio.to_thread(_without_secrets, page, key)
        changed = {"content-length", "etag", "accept-ranges"}
        headers = {k: v for k, v in headers.items() if k.lower() not in changed}
        return web.Response(status=found.status, headers=headers, body=body)


async def _page(found: aiohttp.ClientResponse) -> bytes:
    page = bytearray()
    packed = found.headers.get("Content-Encoding", "identity") != "identity"
    async for data in found.content.iter_chunked(_PIECE):
        page += data
        if packed or len(page) > _PAGE_LARGEST:
            raise Refused(502, "answered with a page that cannot be searched for its password")
    return bytes(page)


def _without_secrets(text: bytes, key: Key) -> bytes:
    """Return a page of a private index; some indexes write their caller's password into URLs."""
    secrets = [s for s in (s.get_secret_value() for s in key.secrets) if len(s) >= _SHORTEST]
    forms = {form.encode() for secret in secrets for form in (secret, quote(secret, safe=""))}
    for form in forms:
        text = re.sub(rb"//[^/@\s\"'<>]*" + re.escape(form) + rb"[^/@\s\"'<>]*@", b"//", text)
    if any(form in text for form in forms):
        raise Refused(502, "answered with the password that it was asked with")
    return text


async def _stream(
    found: aiohttp.ClientResponse, request: web.BaseRequest, headers: dict[str, str]
) -> web.StreamResponse:
    answer = web.StreamResponse(status=found.status, headers=headers)
    await answer.prepare(request)
    if request.method != "HEAD":
        async for data in found.content.iter_chunked(_PIECE):
            await answer.write(data)
    with contextlib.suppress(ConnectionError):
        await answer.write_eof()
    return answer
