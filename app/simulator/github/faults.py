"""Inject faults into chosen requests (errors, delays, lost answers), and record every request."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.simulator.github.answers import ApiError
from app.simulator.github.state.world import World

GoOn = Callable[[], Awaitable[web.StreamResponse]]
Fault = Callable[[web.Request, GoOn], Awaitable[web.StreamResponse]]
Hook = Callable[[web.Request], Awaitable[None]]
LOST = web.RequestKey("lost", bool)
SECONDARY_LIMIT = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)


@dataclass
class Exchange:
    """One request and what became of it; the Authorization header is not kept."""

    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    body: bytes
    at: datetime
    status: int | None = None
    """None while under way."""
    lost: bool = False
    """It took effect, but the answer never left."""
    answer_headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b""
    seconds: float = 0.0


@dataclass
class _Planned:
    method: str
    path: re.Pattern[str]
    fault: Fault
    times: int

    def takes(self, request: web.Request) -> bool:
        fits = self.method in ("*", request.method) and self.path.search(request.path)
        return bool(fits) and self.times > 0


class Faults:
    """What shall go wrong next; `path` is a regular expression searched in the request's path."""

    def __init__(self) -> None:
        self._planned: list[_Planned] = []

    def add(self, method: str, path: str, fault: Fault, *, times: int = 1) -> None:
        """Let a fault have the next `times` requests of this kind; `*` is any method."""
        self._planned.append(_Planned(method, re.compile(path), fault, times))

    def clear(self) -> None:
        """Forget what has not happened yet."""
        self._planned.clear()

    def status(self, method: str, path: str, status: int, *, times: int = 1) -> None:
        """Answer this status without doing anything: 502, 503, or 404 for a lagging replica."""
        message = {404: "Not Found", 401: "Bad credentials", 502: "Server Error"}
        self.add(method, path, _refusal(status, message.get(status, "Server Error")), times=times)

    def rate_limit(self, method: str, path: str, *, retry_after: int = 1, times: int = 1) -> None:
        """Answer 429 with `retry-after`."""
        headers = {"Retry-After": str(retry_after)}
        self.add(method, path, _refusal(429, SECONDARY_LIMIT, headers), times=times)

    def secondary_limit(
        self, method: str, path: str, *, retry_after: int | None = None, times: int = 1
    ) -> None:
        """Answer 403 in the words of the secondary limit, with or without `retry-after`."""
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        self.add(method, path, _refusal(403, SECONDARY_LIMIT, headers), times=times)

    def primary_limit(self, method: str, path: str, *, reset_in: int = 1, times: int = 1) -> None:
        """Answer 403 as when the hour's requests are used up; `reset_in` is in seconds."""
        reset = str(int(time.time()) + reset_in)
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
        self.add(method, path, _refusal(403, "API rate limit exceeded", headers), times=times)

    def redirect(
        self, method: str, path: str, to: str, *, status: int = 301, times: int = 1
    ) -> None:
        """Send elsewhere, as for a renamed repository; `to` is a URL or a path."""
        self.add(method, path, _redirection(status, to), times=times)

    def lose_answer(self, method: str, path: str, *, times: int = 1) -> None:
        """Do what was asked, then drop the connection."""
        self.add(method, path, _lose_answer, times=times)

    def delay(self, method: str, path: str, seconds: float, *, times: int = 1) -> None:
        """Wait before doing anything."""

        async def wait(_: web.Request) -> None:
            await asyncio.sleep(seconds)

        self.call_before(method, path, wait, times=times)

    def call_before(self, method: str, path: str, hook: Hook, *, times: int = 1) -> None:
        """Call the hook before the request takes effect."""

        async def first(request: web.Request, go_on: GoOn) -> web.StreamResponse:
            await hook(request)
            return await go_on()

        self.add(method, path, first, times=times)

    def call_after(self, method: str, path: str, hook: Hook, *, times: int = 1) -> None:
        """Call the hook once the request has taken effect, before its answer is sent."""

        async def respond_first(request: web.Request, go_on: GoOn) -> web.StreamResponse:
            response = await go_on()
            await hook(request)
            return response

        self.add(method, path, respond_first, times=times)

    def take(self, request: web.Request) -> Fault | None:
        """Return the fault that is due for this request, and count it."""
        due = next((each for each in self._planned if each.takes(request)), None)
        if due is None:
            return None
        due.times -= 1
        return due.fault


def ledger_middleware(world: World, ledger: list[Exchange], faults: Faults) -> Middleware:
    """Return the outermost layer of the server: note every request, apply what is planned."""

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        git = request.path.endswith(("/git-upload-pack", "/git-receive-pack"))
        exchange = Exchange(
            method=request.method,
            path=request.path_qs,
            headers={k: v for k, v in request.headers.items() if k != "Authorization"},
            body=b"" if git else await request.read(),
            at=world.get_time(),
        )
        ledger.append(exchange)
        began = time.perf_counter()

        async def go_on() -> web.StreamResponse:
            return await handler(request)

        fault = faults.take(request)
        try:
            response = await (fault(request, go_on) if fault else go_on())
        except web.HTTPException as refusal:
            exchange.status = refusal.status
            raise
        exchange.seconds = time.perf_counter() - began
        exchange.lost = request.get(LOST, False)
        exchange.status = response.status
        exchange.answer_headers = dict(response.headers)
        if isinstance(response, web.Response) and isinstance(response.body, bytes) and not git:
            exchange.answer = response.body
        return response

    return note


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Fault:
    async def refuse(_request: web.Request, _go_on: GoOn) -> web.StreamResponse:
        return ApiError(status, message, headers=headers).answer().response()

    return refuse


def _redirection(status: int, to: str) -> Fault:
    async def send_away(request: web.Request, _go_on: GoOn) -> web.StreamResponse:
        url = to if "://" in to else f"{request.url.origin()}{to}"
        refused = ApiError(
            status, "Moved Permanently", headers={"Location": url}, extra={"url": url}
        )
        return refused.answer().response()

    return send_away


async def _lose_answer(request: web.Request, go_on: GoOn) -> web.StreamResponse:
    response = await go_on()
    request[LOST] = True
    if request.transport:
        request.transport.abort()
    return response
