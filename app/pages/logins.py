"""Logging in to the pages: a code from the machine, then a cookie; and who may send a form."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections import deque
from dataclasses import dataclass, field

from aiohttp import web

from app.pages.render import answer, refuse
from app.store.pages.logins import SESSION_SECONDS, PageLogins

MOST_TRIES, TRY_SECONDS = 10, 60.0
"""Codes that may be tried in this time, by all together."""
_LOCAL = re.compile(r"/(?!/)[\w/.?=&%~-]*\Z", re.ASCII)
_WRONG = "That code is not known, was used, or is older than ten minutes. `fettle page` makes one."
_TRIED = "Too many codes were tried. Wait a minute."


def derive_csrf(token: str) -> str:
    """Return what each form of a session has to bring back; no other site can know it."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


@dataclass
class LoginPage:
    """Where operators log in and out. `secure`: browsers reach the pages by TLS."""

    logins: PageLogins
    secure: bool
    github: bool = False
    """People can sign in with GitHub besides."""
    tries: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_TRIES))

    @property
    def cookie(self) -> str:
        """Return the cookie's name; browsers keep the promises of the first one's prefix."""
        return "__Host-fettle" if self.secure else "fettle"

    async def show(self, request: web.Request) -> web.Response:
        """Ask for a code."""
        wanted = request.query.get("next", "/")
        return await answer(request, "login", self._view(wanted))

    async def enter(self, request: web.Request) -> web.Response:
        """Take a code, and begin a session with it."""
        if not self.may_try():
            return refuse(request, 429, "Wait a moment", _TRIED)
        form = await request.post()
        token = await self.logins.redeem(str(form.get("code", ""))[:100])
        wanted = str(form.get("next", "/"))
        if token is None:
            return await answer(request, "login", self._view(wanted, _WRONG), status=403)
        return self.welcome(token, find_local(wanted))

    def welcome(self, token: str, page: str) -> web.Response:
        """Return the answer that begins a session, and leads to the page that was wanted."""
        answered = web.Response(status=303, headers={"Location": page})
        self.set_cookie(answered, self.cookie, token, int(SESSION_SECONDS))
        return answered

    def set_cookie(self, answered: web.Response, name: str, value: str, seconds: int) -> None:
        """Have the browser keep a value that no script and no other site gets to see."""
        answered.set_cookie(
            name,
            value,
            max_age=seconds,
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="Lax",
        )

    async def leave(self, request: web.Request) -> web.Response:
        """End the session."""
        await self.logins.end(request.cookies.get(self.cookie, ""))
        answered = web.Response(status=303, headers={"Location": "/login"})
        answered.del_cookie(self.cookie, path="/", secure=self.secure, httponly=True)
        return answered

    def may_try(self) -> bool:
        """Tell whether one more may try to log in now."""
        now = time.monotonic()
        if len(self.tries) == MOST_TRIES and now - self.tries[0] < TRY_SECONDS:
            return False
        self.tries.append(now)
        return True

    def _view(self, wanted: str, wrong: str = "") -> dict[str, object]:
        return {"wanted": wanted, "wrong": wrong, "github": self.github}


def find_local(wanted: str) -> str:
    """Return the page that was wanted, if it is one of ours."""
    return wanted if _LOCAL.match(wanted) else "/"
