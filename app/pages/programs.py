"""Programs at the pages: who they are by their token, how often they may ask, what they send."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from math import ceil

import orjson
from aiohttp import web
from cachetools import LRUCache

from app.pages.render import refuse
from app.store.database import Database
from app.store.pages.logins import PageLogin, PageLogins
from app.store.pages.tokens import PREFIX, ApiTokens

PER_MINUTE = 120
MINUTE = 60
MOST_TOKENS = 10_000
_UNKNOWN = "The token is not known, was ended, or is too old. An operator makes one: fettle token."
_TOO_OFTEN = f"A token may ask {PER_MINUTE} times a minute."


class Programs:
    """Lets programs in, each with its token."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens, self._logins = ApiTokens(database), PageLogins(database)
        self._clock = clock
        self._asked: LRUCache[str, deque[float]] = LRUCache(MOST_TOKENS)
        """When each token asked last, as often as it may in a minute."""

    async def identify(self, request: web.Request) -> PageLogin | web.Response:
        """Return whose token came with the request, or why it goes no further."""
        scheme, _, secret = request.headers.get("Authorization", "")[:200].partition(" ")
        login = await self._find_login(secret) if scheme.lower() == "bearer" else None
        if login is None:
            refused = refuse(request, 401, "Not let in", _UNKNOWN)
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        now, name = self._clock(), f"{login.name} {login.token is None}"
        asked = self._asked.setdefault(name, deque(maxlen=PER_MINUTE))
        if len(asked) == PER_MINUTE and now - asked[0] < MINUTE:
            refused = refuse(request, 429, "Too often", _TOO_OFTEN)
            refused.headers["Retry-After"] = str(ceil(asked[0] + MINUTE - now))
            return refused
        asked.append(now)
        return login

    async def _find_login(self, secret: str) -> PageLogin | None:
        """Return whose token it is: a program's, or the session of who uses `fettle login`."""
        if not secret.startswith(PREFIX):
            return await self._logins.find(secret) if secret else None
        token = await self._tokens.find(secret)
        return PageLogin(token.name, token.expires_at, token=token) if token else None


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
