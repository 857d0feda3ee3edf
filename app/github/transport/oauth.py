"""Who somebody is, by GitHub's own sign-in page for users of the App.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

import aiohttp
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from agents.errors import RunError, TransientError
from agents.requests import Person
from app.github.transport.http import API_VERSION, TIMEOUT, USER_AGENT
from app.github.transport.urls import Urls

_AWAY = "GitHub does not answer now, so nobody can sign in. Try again in a moment."
_REFUSED = "GitHub did not confirm who you are ({why}). Begin again with /login."
_MISSET = (
    "GitHub does not know these pages ({why}). The operator has to compare FETTLE_CLIENT_ID,"
    " FETTLE_CLIENT_SECRET and the callback address with the App's own page on GitHub."
)
_OF_OPERATOR = frozenset({"incorrect_client_credentials", "redirect_uri_mismatch"})
_NO_DEVICES = (
    "The App does not let programs sign people in. Its owner can tick `Enable Device Flow` on the"
    " App's page at GitHub; the pages themselves work without it."
)
_NOT_YET = frozenset({"authorization_pending", "slow_down"})
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class DeviceSignIn(BaseModel):
    """What GitHub gives a program that has no browser.

    https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
    """

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    device_code: Annotated[str, Field(min_length=1, max_length=200)]
    """With which the program asks whether somebody has typed the other one. Secret."""
    user_code: Annotated[str, Field(pattern=r"^[A-Z0-9-]{4,20}$")]
    verification_uri: Annotated[str, Field(pattern=r"^https?://[\x21-\x7e]{1,300}$")]
    expires_in: Annotated[int, Field(ge=1, le=3600)]
    """Seconds."""
    interval: Annotated[int, Field(ge=1, le=60)]
    """Seconds from one question to the next."""


@dataclass(frozen=True)
class OAuthClient:
    """Sends people to GitHub, and learns from it who came back. No token of theirs is kept."""

    urls: Urls
    client_id: str
    client_secret: SecretStr

    def build_sign_in_url(self, redirect_uri: str, state: str, verifier: str) -> str:
        """Return the page of GitHub where somebody says that they want to sign in here."""
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.urls.web}/login/oauth/authorize?{urlencode(asked)}"

    async def identify(self, code: str, redirect_uri: str, verifier: str) -> Person:
        """Return who got this code. Raises RunError where GitHub says no, and TransientError."""
        async with self._open_session() as session:
            token = await self._exchange(session, code, redirect_uri, verifier)
            return await self._ask_once(session, token)

    async def begin_device(self) -> DeviceSignIn:
        """Have GitHub give a code that somebody types there, for a program without a browser.

        Raises RunError where the App does not allow it, and TransientError.
        https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
        """
        async with self._open_session() as session:
            told = await self._post(session, "/login/device/code", {"client_id": self.client_id})
        try:
            return DeviceSignIn.model_validate(told)
        except ValidationError:
            why = str(told.get("error") or "no code")[:60]
            words = _NO_DEVICES if why == "device_flow_disabled" else _MISSET.format(why=why)
            raise RunError(words) from None

    async def finish_device(self, device_code: str) -> Person | None:
        """Return who typed the code; None while nobody has. Raises as `identify` does."""
        sent = {
            "client_id": self.client_id,
            "device_code": device_code,
            "grant_type": _DEVICE_GRANT,
        }
        async with self._open_session() as session:
            told = await self._post(session, "/login/oauth/access_token", sent)
            if told.get("error") in _NOT_YET:
                return None
            return await self._ask_once(session, _find_token(told))

    @asynccontextmanager
    async def _open_session(self) -> AsyncIterator[aiohttp.ClientSession]:
        """Open the way to GitHub. Raises TransientError where that is cut meanwhile."""
        try:
            async with self.urls.outbound.open_session(limit=2) as session:
                yield session
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise TransientError(_AWAY) from error

    async def _ask_once(self, session: aiohttp.ClientSession, token: str) -> Person:
        """Return whose token it is; afterwards it is worth nothing."""
        try:
            return await self._ask_who(session, token)
        finally:
            await self._revoke(session, token)

    async def _exchange(
        self, session: aiohttp.ClientSession, code: str, redirect_uri: str, verifier: str
    ) -> str:
        sent = {
            "client_id": self.client_id,
            "client_secret": self.client_secret.get_secret_value(),
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return _find_token(await self._post(session, "/login/oauth/access_token", sent))

    async def _post(
        self, session: aiohttp.ClientSession, path: str, sent: dict[str, str]
    ) -> dict[str, Any]:
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        async with session.post(
            f"{self.urls.web}{path}",
            data=sent,
            headers=headers,
            timeout=TIMEOUT,
            allow_redirects=False,
        ) as answer:
            return await _read(answer)

    async def _ask_who(self, session: aiohttp.ClientSession, token: str) -> Person:
        url = f"{self.urls.rest}/user"
        headers = {**_HEADERS, "Authorization": f"Bearer {token}"}
        async with session.get(
            url, headers=headers, timeout=TIMEOUT, allow_redirects=False
        ) as answer:
            told = await _read(answer)
        ident, login = told.get("id"), told.get("login")
        if not isinstance(ident, int) or not isinstance(login, str) or told.get("type") != "User":
            raise RunError(_REFUSED.format(why="no user"))
        return Person(id=ident, login=login)

    async def _revoke(self, session: aiohttp.ClientSession, token: str) -> None:
        """Make the token worth nothing: who somebody is was all that it was for.

        https://docs.github.com/rest/apps/oauth-applications#delete-an-app-token
        """
        url = f"{self.urls.rest}/applications/{self.client_id}/token"
        login = aiohttp.encode_basic_auth(self.client_id, self.client_secret.get_secret_value())
        async with session.delete(
            url,
            json={"access_token": token},
            headers={**_HEADERS, "Authorization": login},
            timeout=TIMEOUT,
            allow_redirects=False,
        ) as answer:
            await answer.read()


_HEADERS = {
    "Accept": "application/vnd.github+json",
    "User-Agent": USER_AGENT,
    "X-GitHub-Api-Version": API_VERSION,
}


def _find_token(told: dict[str, Any]) -> str:
    """Return the token of an answer. Raises RunError where there is none."""
    token = told.get("access_token")
    if isinstance(token, str) and token:
        return token
    why = str(told.get("error") or "no token")[:60]
    raise RunError((_MISSET if why in _OF_OPERATOR else _REFUSED).format(why=why))


async def _read(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    """Return what GitHub said. Raises TransientError where it is out of order."""
    if answer.status >= 500 or answer.status == 429:
        raise TransientError(_AWAY)
    try:
        told = await answer.json(content_type=None)
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {}
