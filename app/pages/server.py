"""The server of the pages, on a port of its own: who may come in, and which page is where."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from agents.errors import ConfigError, TransientError
from app.config.values import CALLBACK
from app.pages.alerts_page import AlertsPage
from app.pages.approval_page import ApprovalPage
from app.pages.badge import BadgePage
from app.pages.device_sign_in import BEGIN, FINISH, DeviceSignInPage
from app.pages.events import RunEvents
from app.pages.logins import LoginPage, derive_csrf
from app.pages.openapi import ROUTE, show_description
from app.pages.overview import OverviewPages
from app.pages.page_context import PageContext
from app.pages.people import PageAccess
from app.pages.programs import Programs
from app.pages.render import CSRF, FOLDER, HEADERS, LOGIN, OPERATOR, refuse
from app.pages.repository_page import RepositoryPage
from app.pages.retries import RetryPage
from app.pages.run_pages import RunPages
from app.pages.sign_in import SignInPage
from app.store.pages.logins import PageLogins

LARGEST_FORM = 64 * 1024
GITHUB = "/login/github"
BADGE = "badge"
OPEN = (
    "/login",
    GITHUB,
    CALLBACK,
    BEGIN,
    FINISH,
    ROUTE,
    "/static/style.css",
    "/static/live.js",
    "/static/icon.svg",
)
"""What is shown to who is not logged in."""
NO_PAGES = ("application/json", "text/event-stream")
"""What is asked for by who cannot log in on a page."""

log = structlog.get_logger()


@dataclass(frozen=True)
class PageAddress:
    """Where the pages listen, and where browsers find them."""

    host: str
    port: int
    public_url: str | None = None
    """The address before a proxy that adds TLS; None: browsers are on this machine."""

    @property
    def is_secure(self) -> bool:
        """Tell whether browsers reach them by TLS."""
        return (self.public_url or "").startswith("https:")


@dataclass(frozen=True)
class OpenedPages:
    """Where pages are served."""

    url: str
    """For browsers."""
    port: int
    """On this machine."""


@asynccontextmanager
async def open_pages(context: PageContext, address: PageAddress) -> AsyncIterator[OpenedPages]:
    """Serve the pages while the context lasts. Raises ConfigError."""
    database = context.database
    guard = _Guard(PageLogins(database), Programs(database), address, context.access)
    runner = web.AppRunner(build_pages(context, guard), access_log=None, shutdown_timeout=2)
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host, address.port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(
            f"The pages cannot listen on {address.host} port {address.port}: {error.strerror}."
            " Set FETTLE_PAGES_PORT and FETTLE_PAGES_HOST, or FETTLE_PAGES=off."
        ) from error
    port = runner.addresses[0][1]
    try:
        local = f"http://{address.host}:{port}"
        yield OpenedPages(address.public_url or local, port)
    finally:
        await runner.cleanup()


def build_pages(context: PageContext, guard: _Guard) -> web.Application:
    """Return the application."""
    made = web.Application(client_max_size=LARGEST_FORM, middlewares=[guard.let_in])
    overview, runs = OverviewPages(context), RunPages(context)
    approvals, events = ApprovalPage(context), RunEvents(context)
    login = guard.login
    made.add_routes(
        [
            web.get("/", overview.show_now),
            web.get("/runs", overview.show_now),
            web.get("/alerts", AlertsPage(context).show),
            web.get("/spend", overview.show_spending),
            web.get("/audit", overview.show_audit),
            web.get("/r/{owner}/{name}", RepositoryPage(context).show),
            web.get("/r/{owner}/{name}/badge.svg", BadgePage(context).show, name=BADGE),
            web.get("/runs/{run}", runs.show),
            web.get("/runs/{run}/stages/{stage:.+}", runs.show_stage),
            web.get("/runs/{run}/events", events.stream),
            web.get("/runs/{run}/trajectory", runs.show_trajectory),
            web.post("/runs/{run}", runs.steer),
            web.post("/runs/{run}/retry", RetryPage(context).ask),
            web.get("/approvals/{approval}", approvals.show),
            web.post("/approvals/{approval}", approvals.decide),
            web.get("/login", login.show),
            web.post("/login", login.enter),
            web.post("/logout", login.leave),
            web.get(ROUTE, show_description),
            web.static("/static", FOLDER / "static"),
        ]
    )
    if people := context.access.people:
        sign_in = SignInPage(login, people)
        devices = DeviceSignInPage(login, people)
        made.add_routes(
            [
                web.get(GITHUB, sign_in.begin),
                web.get(CALLBACK, sign_in.finish),
                web.post(BEGIN, devices.begin),
                web.post(FINISH, devices.finish),
            ]
        )
    return made


class _Guard:
    """Lets in who is logged in, and forms of our own pages alone."""

    def __init__(
        self, logins: PageLogins, programs: Programs, address: PageAddress, access: PageAccess
    ) -> None:
        self.login = LoginPage(logins, address.is_secure, github=access.people is not None)
        self._logins, self._address, self._access = logins, address, access
        self._programs = programs

    @property
    def let_in(self) -> Middleware:
        """Return the middleware."""

        @web.middleware
        async def let_in(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                answered = await self._look(request) or await handler(request)
            except web.HTTPNotFound:
                answered = refuse(request, 404, "Not here", "There is no such page, or no more.")
            except web.HTTPException as error:
                answered = refuse(request, error.status, "Not done", error.reason)
            except TransientError:
                words = "The database or GitHub does not answer now. Try again in a moment."
                answered = refuse(request, 503, "Not now", words)
            except Exception:
                log.exception("page broke", page=request.path)
                words = "Fettle has a fault here; its log says which. Runs are not touched by it."
                answered = refuse(request, 500, "This went wrong", words)
            if not answered.prepared:
                answered.headers.update({**HEADERS, **answered.headers})
            return answered

        return let_in

    async def _look(self, request: web.Request) -> web.Response | None:
        """Return why the request goes no further; None where it does."""
        hosts = self._list_hosts(request)
        if request.headers.getall("Host", []) not in ([each] for each in hosts):
            return refuse(request, 421, "Not here", "These pages have another address.")
        # No other site's form can have that header.
        by_program = "Authorization" in request.headers
        origin = request.headers.get("Origin")
        scheme = "https" if self._address.is_secure else "http"
        origins = [f"{scheme}://{host}" for host in hosts]
        if request.method == "POST" and not by_program and origin not in origins:
            return refuse(request, 403, "Not done", "That form is not from this page.")
        if request.path in OPEN or self._is_badge(request):
            return None
        if by_program:
            return await self._look_for_token(request)
        return await self._look_for_login(request)

    async def _look_for_token(self, request: web.Request) -> web.Response | None:
        found = await self._programs.identify(request)
        if isinstance(found, web.Response):
            return found
        request[LOGIN], request[OPERATOR] = found, self._access.is_operator(found)
        return None

    def _is_badge(self, request: web.Request) -> bool:
        """Tell whether it is for everybody: where people may come in, badges are."""
        return self._access.people is not None and request.match_info.route.name == BADGE

    async def _look_for_login(self, request: web.Request) -> web.Response | None:
        token = request.cookies.get(self.login.cookie, "")
        login = await self._logins.find(token) if token else None
        if login is None:
            accepted = request.headers.get("Accept", "")
            if request.method != "GET" or any(each in accepted for each in NO_PAGES):
                return refuse(request, 401, "Log in first", "Open /login in a browser.")
            return web.Response(status=303, headers={"Location": f"/login?next={request.path}"})
        request[LOGIN], request[CSRF] = login, derive_csrf(token)
        request[OPERATOR] = self._access.is_operator(login)
        if request.method == "POST":
            given = str((await request.post()).get("csrf", ""))
            if not hmac.compare_digest(given.encode(), request[CSRF].encode()):
                return refuse(request, 403, "Not done", "That form is old. Load the page again.")
        return None

    def _list_hosts(self, request: web.Request) -> list[str]:
        """Return the names under which browsers have these pages."""
        public = urlsplit(self._address.public_url or "").netloc
        if public:
            return [public]
        _, port, *_ = request.get_extra_info("sockname", ("", 0))  # where the connection came in
        return [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
