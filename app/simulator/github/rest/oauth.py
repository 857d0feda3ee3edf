"""Sign in through an App: the page that asks, the exchange of its code, and who it was.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app
https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps#device-flow
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from urllib.parse import urlencode

from aiohttp import web

from app.simulator.github.accounts import Account, App
from app.simulator.github.admin.apps import AppsAdmin
from app.simulator.github.answers import Answer, ApiError, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.common import public_account_json
from app.simulator.github.state.world import World
from app.simulator.github.tokens import bearer_of

AUTHORIZE, EXCHANGE = "/login/oauth/authorize", "/login/oauth/access_token"
DEVICE, DEVICE_CODE = "/login/device", "/login/device/code"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
INTERVAL, DEVICE_LIFETIME = 5, timedelta(minutes=15)
CODE_LIFETIME, TOKEN_LIFETIME = timedelta(minutes=10), timedelta(hours=8)

routes = Routes()


@dataclass(frozen=True)
class _Grant:
    """What somebody agreed to, until its code is exchanged."""

    app: App
    account: Account
    redirect_uri: str
    challenge: str
    expires_at: datetime


@dataclass
class _Device:
    """A program that waits until somebody types its code."""

    app: App
    user_code: str
    expires_at: datetime
    interval: int = INTERVAL
    asked_at: datetime | None = None
    account: Account | None = None
    refused: bool = False

    def find_error(self, now: datetime) -> str | None:
        """Return what GitHub says instead of a token; None once somebody has agreed."""
        soon = self.asked_at and (now - self.asked_at).total_seconds() < self.interval
        self.asked_at = now
        if self.expires_at <= now:
            return "expired_token"
        if soon:
            self.interval += INTERVAL
            return "slow_down"
        if self.refused:
            return "access_denied"
        return None if self.account else "authorization_pending"


class SignIns:
    """Codes that nobody has exchanged yet, and the tokens of people."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tokens: dict[str, tuple[App, Account, datetime]] = {}
        self._grants: dict[str, _Grant] = {}
        self._devices: dict[str, _Device] = {}

    async def authorize(self, request: web.Request) -> web.Response:
        """Send who is at the keyboard back with a code; `login` says who that is, or they do."""
        asked = request.query
        app = self._find_app(asked.get("client_id", ""))
        if app is not None and "login" not in asked:
            return self._ask_who(app, request)
        account = self.world.account(asked.get("login", ""))
        if app is None or account is None or account.kind != "User":
            return web.Response(status=404, text="Not Found")
        redirect = asked.get("redirect_uri") or next(iter(app.callback_urls), "")
        back = {"state": asked["state"]} if "state" in asked else {}
        if redirect not in app.callback_urls:
            back["error"] = "redirect_uri_mismatch"
            redirect = next(iter(app.callback_urls), app.owner.login)
        elif asked.get("code_challenge_method", "S256") != "S256":
            back["error"] = "invalid_request"
        else:
            back["code"] = secrets.token_hex(10)
            expires = self.world.get_time() + CODE_LIFETIME
            challenge = asked.get("code_challenge", "")
            self._grants[back["code"]] = _Grant(app, account, redirect, challenge, expires)
        return web.Response(status=302, headers={"Location": f"{redirect}?{urlencode(back)}"})

    def _ask_who(self, app: App, request: web.Request) -> web.Response:
        """Have whoever is there choose: nobody has a password here."""
        people = [each.login for each in self.world.accounts.values() if each.kind == "User"]
        links = "".join(
            f'<li><a href="{escape(str(request.rel_url.update_query(login=login)))}">'
            f"{escape(login)}</a></li>"
            for login in sorted(people)
        )
        return web.Response(
            text=_CHOICE.format(app=escape(app.slug), links=links), content_type="text/html"
        )

    async def exchange(self, request: web.Request) -> web.Response:
        """Give a token for a code, once; what is wrong is told with status 200."""
        sent = await self._read(request)
        app = self._find_app(sent.get("client_id", ""))
        if "grant_type" in sent:
            return self._exchange_device(app, sent)
        if app is None or not hmac.compare_digest(sent.get("client_secret", ""), app.client_secret):
            return _refuse("incorrect_client_credentials")
        grant = self._grants.pop(sent.get("code", ""), None)
        if grant is None or grant.app is not app or grant.expires_at <= self.world.get_time():
            return _refuse("bad_verification_code")
        if grant.challenge and grant.challenge != _challenge(sent.get("code_verifier", "")):
            return _refuse("bad_verification_code")
        if sent.get("redirect_uri", grant.redirect_uri) != grant.redirect_uri:
            return _refuse("redirect_uri_mismatch")
        return self._give_token(app, grant.account)

    async def begin_device(self, request: web.Request) -> web.Response:
        """Give a program a code that somebody types on the page for it."""
        app = self._find_app((await self._read(request)).get("client_id", ""))
        if app is None:
            return web.Response(status=404, text="Not Found")
        if not app.device_flow:
            return _refuse("device_flow_disabled")
        code = f"{secrets.token_hex(2)}-{secrets.token_hex(2)}".upper()
        expires = self.world.get_time() + DEVICE_LIFETIME
        self._devices[device_code := secrets.token_hex(20)] = _Device(app, code, expires)
        return web.json_response(
            {
                "device_code": device_code,
                "user_code": code,
                "verification_uri": str(request.url.origin().with_path(DEVICE)),
                "expires_in": int(DEVICE_LIFETIME.total_seconds()),
                "interval": INTERVAL,
            }
        )

    async def show_device(self, request: web.Request) -> web.Response:
        """Ask for a code and who types it; `login` says who, and `deny` that they do not agree."""
        asked = request.query
        waits = {each.user_code: each for each in self._devices.values()}
        device, login = waits.get(asked.get("user_code", "").upper()), asked.get("login", "")
        account = self.world.account(login)
        if device is None or account is None or account.kind != "User":
            return web.Response(text=_TYPE_CODE, content_type="text/html")
        device.account, device.refused = account, "deny" in asked
        return web.Response(text=_DEVICE_DONE, content_type="text/html")

    def _exchange_device(self, app: App | None, sent: Mapping[str, str]) -> web.Response:
        """Give a token once somebody has typed the code; who asks too often waits longer."""
        device = self._devices.get(sent.get("device_code", ""))
        if sent["grant_type"] != DEVICE_GRANT:
            return _refuse("unsupported_grant_type")
        if app is None:
            return _refuse("incorrect_client_credentials")
        if device is None or device.app is not app:
            return _refuse("incorrect_device_code")
        if error := device.find_error(self.world.get_time()):
            return _refuse(error, interval=device.interval)
        del self._devices[sent["device_code"]]
        return self._give_token(app, device.account or app.owner)

    def _give_token(self, app: App, account: Account) -> web.Response:
        token = f"ghu_{secrets.token_urlsafe(27).replace('-', 'a').replace('_', 'b')}"
        self.tokens[token] = (app, account, self.world.get_time() + TOKEN_LIFETIME)
        return web.json_response(
            {
                "access_token": token,
                "expires_in": int(TOKEN_LIFETIME.total_seconds()),
                "refresh_token": f"ghr_{secrets.token_hex(38)}",
                "refresh_token_expires_in": 15_897_600,
                "scope": "",
                "token_type": "bearer",
            }
        )

    def find_person(self, token: str | None) -> Account:
        """Return whose token it is. Raises ApiError 401."""
        found = self.tokens.get(token or "")
        if found is None or found[2] <= self.world.get_time():
            raise ApiError(401, "Bad credentials")
        return found[1]

    def find_client(self, header: str | None) -> App:
        """Return the App that names itself with its client secret. Raises ApiError 404."""
        scheme, _, said = (header or "").partition(" ")
        try:
            ident, _, secret = base64.b64decode(said).decode().partition(":")
        except ValueError:
            ident = secret = ""
        app = self._find_app(ident)
        if scheme != "Basic" or app is None or not hmac.compare_digest(secret, app.client_secret):
            raise ApiError(404, "Not Found")
        return app

    def _find_app(self, client_id: str) -> App | None:
        return next((app for app in self.world.apps.values() if app.client_id == client_id), None)

    async def _read(self, request: web.Request) -> Mapping[str, str]:
        if request.content_type == "application/json":
            return {name: str(value) for name, value in (await request.json()).items()}
        return {
            **request.query,
            **{name: str(text) for name, text in (await request.post()).items()},
        }


_CHOICE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in to {app}</title>'
    '<link rel="stylesheet" href="/style.css"><main><h1>Sign in to {app}</h1>'
    "<p>Who are you? Nobody has a password on this GitHub.</p><ul>{links}</ul></main></html>"
)
_TYPE_CODE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Device activation</title>'
    '<link rel="stylesheet" href="/style.css"><main><h1>Enter the code of your device</h1>'
    '<form><label>Code <input name="user_code"></label> <label>Who are you?'
    ' <input name="login"></label> <button>Continue</button></form></main></html>'
)
_DEVICE_DONE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Device activation</title>'
    '<link rel="stylesheet" href="/style.css"><main><h1>Your device is connected</h1></main></html>'
)
SIGN_INS = web.AppKey("sign_ins", SignIns)


class _Revoked(Input):
    access_token: str


@routes.add("GET", "/user", scope="open")
async def show_user(call: Call) -> Answer:
    """Answer who the token's owner is, as everybody may see them."""
    signed_in = call.request.app[SIGN_INS]
    account = signed_in.find_person(bearer_of(call.request.headers.get("Authorization")))
    return Answer(200, public_account_json(call.world, account))


@routes.add("DELETE", "/applications/{client_id}/token", scope="open")
async def revoke(call: Call) -> Answer:
    """Make a person's token worth nothing."""
    signed_in = call.request.app[SIGN_INS]
    app = signed_in.find_client(call.request.headers.get("Authorization"))
    token, named = call.parse_body(_Revoked).access_token, call.request.match_info["client_id"]
    require_found(signed_in.tokens.get(token) if app.client_id == named else None)
    del signed_in.tokens[token]
    return Answer(204, None)


def register_sign_in(app: web.Application, admin: AppsAdmin) -> None:
    """Put the page and the exchange on the server."""
    made = app[SIGN_INS] = SignIns(admin.world)
    app.router.add_get(AUTHORIZE, made.authorize)
    app.router.add_post(EXCHANGE, made.exchange)
    app.router.add_post(DEVICE_CODE, made.begin_device)
    app.router.add_get(DEVICE, made.show_device)


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _refuse(error: str, **more: int) -> web.Response:
    told = {"error": error, "error_description": _WHY[error], "error_uri": _DOCS, **more}
    return web.json_response(told)


_DOCS = (
    "https://docs.github.com/apps/oauth-apps/maintaining-oauth-apps/"
    "troubleshooting-oauth-app-access-token-request-errors"
)
_WHY = {
    "incorrect_client_credentials": "The client_id and/or client_secret passed are incorrect.",
    "bad_verification_code": "The code passed is incorrect or expired.",
    "access_denied": "The authorization request was denied.",
    "authorization_pending": "The authorization request is still pending.",
    "device_flow_disabled": "Device Flow must be explicitly enabled for this App",
    "expired_token": "The device_code has expired.",
    "incorrect_device_code": "The device_code provided is not valid.",
    "slow_down": "Too many requests have been made in the same timeframe.",
    "unsupported_grant_type": "The provided grant_type is not supported.",
    "redirect_uri_mismatch": (
        "The redirect_uri MUST match the registered callback URL for this application."
    ),
}
