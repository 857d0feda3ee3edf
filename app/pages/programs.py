"""Programs at the pages: who they are by their token, how often they may ask, what they send."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import orjson
from aiohttp import web
from cachetools import TTLCache

from app.pages.render import refuse
from app.store.api_tokens import PREFIX, ApiTokens
from app.store.database import Database
from app.store.page_logins import PageLogin

PER_MINUTE = 120
MINUTE = 60
MOST_TOKENS = 10_000
_UNKNOWN = "The token is not known, was ended, or is too old. An operator makes one: fettle token."
_TOO_OFTEN = f"A token may ask {PER_MINUTE} times a minute."


class Programs:
    """Lets programs in, each with its token."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = ApiTokens(database)
        self._clock = clock
        self._asked: TTLCache[tuple[str, int], int] = TTLCache(MOST_TOKENS, MINUTE, timer=clock)

    async def identify(self, request: web.Request) -> PageLogin | web.Response:
        """Return whose token came with the request, or why it goes no further."""
        scheme, _, secret = request.headers.get("Authorization", "")[:200].partition(" ")
        token = None
        if scheme.lower() == "bearer" and secret.startswith(PREFIX):
            token = await self._tokens.find(secret)
        if token is None:
            refused = refuse(request, 401, "Not let in", _UNKNOWN)
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        minute = int(self._clock() // MINUTE)
        asked = self._asked.get((token.name, minute), 0) + 1
        self._asked[token.name, minute] = asked
        if asked > PER_MINUTE:
            refused = refuse(request, 429, "Too often", _TOO_OFTEN)
            refused.headers["Retry-After"] = str(MINUTE)
            return refused
        return PageLogin(token.name, token.expires_at, token=token)


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form, or of the JSON object that a program sent.

    Raises HTTPBadRequest for what is neither.
    """
    if request.content_type != "application/json":
        return {
            name: value for name, value in (await request.post()).items() if isinstance(value, str)
        }
    try:
        told = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or not all(isinstance(each, str) for each in told.values()):
        raise web.HTTPBadRequest(reason="The body has to be a JSON object of texts.")
    return told
