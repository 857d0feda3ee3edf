"""A web server on loopback that leads one browser to GitHub and back, once.

The port is bound to 127.0.0.1, and the path cannot be guessed. Requests under another host name
(DNS rebinding) or from another site are refused, and an answer from GitHub has to carry the state
that went out.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from agents.errors import ConfigError, FettleError
from app.github.transport import Urls
from app.registration.conversion import CODE, Registered
from app.registration.manifest import app_manifest
from app.web.page import page

Finish = Callable[[str], Awaitable[Registered]]
HOST = "127.0.0.1"


@dataclass(frozen=True)
class RegistrationRequest:
    """The App to register, and its owner."""

    urls: Urls
    webhook_url: str
    organization: str | None = None
    name: str | None = None
    pages_url: str = ""
    """Where people will sign in with GitHub; empty: nowhere."""

    def action(self, state: str) -> str:
        """Return the page that receives the manifest from the browser.

        https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
        """
        where = f"/organizations/{self.organization}" if self.organization else ""
        return f"{self.urls.web}{where}/settings/apps/new?state={state}"


class BrowserFlow:
    """Leads one browser through; `done` holds the result."""

    def __init__(self, wanted: RegistrationRequest, finish: Finish, port: int) -> None:
        self.done: asyncio.Future[Registered] = asyncio.get_running_loop().create_future()
        self.port = port
        self._wanted = wanted
        self._finish = finish
        self._path = f"/{secrets.token_urlsafe(32)}"
        self._state = secrets.token_urlsafe(32)
        self._used = False

    @property
    def url(self) -> str:
        """Return the address to open."""
        return f"{self._origin}{self._path}"

    @property
    def busy(self) -> bool:
        """Tell whether a browser came back and its result is still being worked on."""
        return self._used and not self.done.done()

    @property
    def _origin(self) -> str:
        return f"http://{HOST}:{self.port}"

    def application(self) -> web.Application:
        """Return the web application."""
        made = web.Application(middlewares=[self._guard()])
        made.router.add_get(self._path, self._begin, allow_head=False)
        made.router.add_get(f"{self._path}/registered", self._come_back, allow_head=False)
        return made

    def _guard(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.headers.getall("Host", []) != [f"{HOST}:{self.port}"]:
                return web.Response(status=421, text="This is not who you asked for.\n")
            origins = set(request.headers.getall("Origin", []))
            inside = request.headers.get("Sec-Fetch-Dest", "document") != "document"
            if inside or not origins <= {self._origin, self._wanted.urls.web}:
                return web.Response(status=403, text="Open this page by itself.\n")
            return await handler(request)

        return guard

    async def _begin(self, _request: web.Request) -> web.Response:
        if self._used:
            return _reject_reuse()
        manifest, wanted = app_manifest(), self._wanted
        return page(
            "register",
            owner=wanted.organization or "your account",
            github=wanted.urls.web,
            action=wanted.action(self._state),
            manifest=manifest.form(
                name=wanted.name,
                webhook_url=wanted.webhook_url,
                redirect_url=f"{self.url}/registered",
                pages_url=wanted.pages_url,
            ),
            webhook=wanted.webhook_url,
            pages=wanted.pages_url,
            permissions=sorted(manifest.default_permissions.items()),
            events=manifest.default_events,
        )

    async def _come_back(self, request: web.Request) -> web.Response:
        states, codes = (request.query.getall(name, []) for name in ("state", "code"))
        if len(states) != 1 or not _matches(states[0], self._state):
            return _refuse("This did not begin here, so nothing was done.")
        if self._used:
            return _reject_reuse()
        if len(codes) != 1 or not CODE.fullmatch(codes[0]):
            return _refuse("GitHub sent no code along. Go back and try again.")
        self._used = True
        try:
            registered = await self._finish(codes[0])
        except (FettleError, OSError) as error:
            self.done.set_exception(error)
            return _render(502, "It did not work", "The terminal says why, and what to do.")
        self.done.set_result(registered)
        return _render(
            200,
            "The App is registered",
            "Its key and its webhook secret are on the server. You can close this page.",
            registered.install_link(self._wanted.urls),
        )


@asynccontextmanager
async def open_door(
    wanted: RegistrationRequest, finish: Finish, *, port: int = 0
) -> AsyncIterator[BrowserFlow]:
    """Serve on loopback while the context lasts; port 0 takes any free port."""
    listening = _bind(port)
    door = BrowserFlow(wanted, finish, listening.getsockname()[1])
    runner = web.AppRunner(door.application(), access_log=None, shutdown_timeout=5)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        yield door
    finally:
        await runner.cleanup()  # lets the last answer reach the browser


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigError(
            f"The page cannot be had on port {port}: {os.strerror(error.errno or 0)}. Give another "
            "--port, or none: then a free one is taken."
        ) from error


def _matches(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def _refuse(text: str) -> web.Response:
    return _render(400, "Not done", text)


def _reject_reuse() -> web.Response:
    return _render(410, "This page has been used", "It works once. The terminal says what is next.")


def _render(status: int, title: str, text: str, link: str = "") -> web.Response:
    return page("registered", status=status, title=title, text=text, link=link)
