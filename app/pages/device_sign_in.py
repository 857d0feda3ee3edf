"""Signing in for programs without a browser: `fettle login` shows a code, GitHub asks for it.

What the program asks again with is held by it alone, so that any worker can answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aiohttp import web
from cachetools import TTLCache

from agents.errors import RunError
from app.pages.logins import LoginPage
from app.pages.people import People
from app.pages.programs import read_form
from app.pages.render import refuse
from app.store.pages.logins import SESSION_SECONDS

BEGIN, FINISH = "/login/device", "/login/device/finish"
LEAST_SECONDS = 1
"""Between two questions of one program; GitHub itself wants five."""
MOST_WAITING = 1_000
LONGEST_HANDLE = 1_000


@dataclass(frozen=True)
class DeviceSignInPage:
    """Begins such a sign-in, and tells once it is done."""

    login: LoginPage
    people: People
    _asked: TTLCache[str, bool] = field(
        default_factory=lambda: TTLCache(MOST_WAITING, LEAST_SECONDS)
    )

    async def begin(self, request: web.Request) -> web.Response:
        """Answer with the code for people, and what the program asks again with."""
        if not self.login.may_try():
            return refuse(request, 429, "Wait a moment", "Too many tried. Wait a minute.")
        try:
            given = await self.people.begin_device()
        except RunError as error:
            return refuse(request, 403, "Not logged in", str(error))
        return web.json_response(
            {
                "user_code": given.user_code,
                "verification_uri": given.verification_uri,
                "expires_in": given.expires_in,
                "interval": given.interval,
                "handle": given.device_code,
            }
        )

    async def finish(self, request: web.Request) -> web.Response:
        """Answer with a session's token once somebody has typed the code; 202 until then."""
        handle = (await read_form(request)).get("handle", "")[:LONGEST_HANDLE]
        if handle in self._asked:
            return refuse(request, 429, "Wait a moment", "Ask every five seconds.")
        self._asked[handle] = True
        try:
            person = await self.people.finish_device(handle)
        except RunError as error:
            return refuse(request, 403, "Not logged in", str(error))
        if person is None:
            return web.json_response({"state": "pending"}, status=202)
        token = await self.login.logins.begin(person)
        told = {"token": token, "login": person.login, "seconds": int(SESSION_SECONDS)}
        return web.json_response(told)
