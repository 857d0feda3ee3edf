"""Signing in with GitHub: there with a word that only this browser knows, and back with a code.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app#using-the-web-application-flow-to-generate-a-user-access-token
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from urllib.parse import quote, unquote

from aiohttp import web

from agents.errors import RunError
from app.config.values import CALLBACK
from app.pages.logins import LoginPage, find_local
from app.pages.people import People
from app.pages.render import refuse

_COOKIE, _SECONDS = "sign-in", 600
_NOT_OURS = (
    "This is not the answer to a sign-in that began in this browser within ten minutes. Nobody was"
    " logged in. Begin again with /login."
)


@dataclass(frozen=True)
class SignInPage:
    """The way to GitHub and back."""

    login: LoginPage
    people: People

    async def begin(self, request: web.Request) -> web.Response:
        """Send the browser to GitHub."""
        state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        wanted = find_local(request.query.get("next", "/"))[:500]
        address = self.people.build_sign_in_url(self._find_way_back(request), state, verifier)
        answered = web.Response(status=303, headers={"Location": address})
        self.login.set_cookie(
            answered, self._cookie, f"{state}.{verifier}.{quote(wanted, safe='')}", _SECONDS
        )
        return answered

    async def finish(self, request: web.Request) -> web.Response:
        """Log in who came back, if GitHub says who it is and the way began in this browser."""
        state, _, rest = request.cookies.get(self._cookie, "").partition(".")
        verifier, _, wanted = rest.partition(".")
        code, given = request.query.get("code", "")[:200], request.query.get("state", "")
        if not state or not code or not hmac.compare_digest(state.encode(), given.encode()):
            return refuse(request, 403, "Not logged in", _NOT_OURS)
        if not self.login.may_try():
            return refuse(request, 429, "Wait a moment", "Too many tried. Wait a minute.")
        try:
            person = await self.people.identify(code, self._find_way_back(request), verifier)
        except RunError as error:
            return refuse(request, 403, "Not logged in", str(error))
        token = await self.login.logins.begin(person)
        answered = self.login.welcome(token, find_local(unquote(wanted)))
        answered.del_cookie(self._cookie, path="/", secure=self.login.secure, httponly=True)
        return answered

    @property
    def _cookie(self) -> str:
        return f"{self.login.cookie}-{_COOKIE}"

    def _find_way_back(self, request: web.Request) -> str:
        """Return our own address; the name in it was compared with ours before."""
        scheme = "https" if self.login.secure else "http"
        return f"{scheme}://{request.headers['Host']}{CALLBACK}"
