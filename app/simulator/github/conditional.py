"""Conditional requests: ETags, and 304 answers that cost nothing of the rate limit."""

from __future__ import annotations

import hashlib

from aiohttp import web

VARY = ("Accept", "Authorization", "Cookie", "X-GitHub-OTP")
CACHED = {"Cache-Control": "private, max-age=60, s-maxage=60", "Vary": ", ".join(VARY)}


def conditional(request: web.Request, response: web.Response) -> web.Response:
    """Give an answer to a GET its tag; 304 when the caller names that tag."""
    if request.method != "GET" or response.status != 200 or not isinstance(response.body, bytes):
        return response
    tag = _tag(request, response.body)
    headers = CACHED | {"ETag": f'W/"{tag}"'}
    if _matches_tag(request, tag):
        return web.Response(status=304, headers=headers)
    response.headers.update(headers)
    return response


def is_free(request: web.Request, response: web.StreamResponse) -> bool:
    """Say whether GitHub counts a request against nobody's limit: a 304 for a known caller."""
    return response.status == 304 and "Authorization" in request.headers


def _tag(request: web.Request, body: bytes) -> str:
    """Hash what is seen and who sees it as what: another token gets another tag, as on GitHub."""
    digest = hashlib.sha256()
    for name in VARY:
        digest.update(request.headers.get(name, "").encode() + b"\0")
    digest.update(body)
    return digest.hexdigest()


def _matches_tag(request: web.Request, tag: str) -> bool:
    named = request.headers.get("If-None-Match", "").split(",")
    return any(each.strip().removeprefix("W/") in (f'"{tag}"', "*") for each in named)
