"""Headers of every API answer: request id, API version, and the hourly rate limit."""

from __future__ import annotations

import uuid
from datetime import timedelta
from wsgiref.handlers import format_date_time

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.simulator.github.answers import ApiError, Json
from app.simulator.github.calls import TOKEN, Call
from app.simulator.github.conditional import is_free
from app.simulator.github.routing import Routes
from app.simulator.github.state.world import World
from app.simulator.github.tokens import Token

VERSIONS = ("2022-11-28", "2026-03-10")
WINDOW = timedelta(hours=1)
ANONYMOUS = 0


class RateLimits:
    """Requests left in this hour, for each installation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._used: dict[int, int] = {}
        self._reset = world.get_time() + WINDOW
        self.hourly = 5000
        """How many requests an installation may make in an hour."""

    def count(self, token: Token | None) -> None:
        """Count a request."""
        if self._world.get_time() >= self._reset:
            self._used.clear()
            self._reset = self._world.get_time() + WINDOW
        key = token.installation.id if token else ANONYMOUS
        self._used[key] = self._used.get(key, 0) + 1

    def state(self, token: Token | None) -> dict[str, int]:
        """Return limit, remaining, used and reset."""
        used = self._used.get(token.installation.id if token else ANONYMOUS, 0)
        return {
            "limit": self.hourly,
            "remaining": max(0, self.hourly - used),
            "used": used,
            "reset": int(self._reset.timestamp()),
        }


def limit_routes(limits: RateLimits) -> Routes:
    """Return the call that tells the limits; it is free of charge."""
    routes = Routes()

    @routes.add("GET", "/rate_limit", scope="token")
    async def get_rate_limit(call: Call) -> Json:
        core = limits.state(call.token)
        shape: dict[str, Json] = {"resources": {"core": core, "search": core, "graphql": core}}
        if call.request.headers.get("X-GitHub-Api-Version", VERSIONS[0]) == VERSIONS[0]:
            shape["rate"] = core
        return shape

    return routes


def api_middleware(world: World, limits: RateLimits) -> Middleware:
    """Return the layer that turns refusals into answers and adds GitHub's headers."""

    @web.middleware
    async def frame(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith("/api/"):
            return await handler(request)
        try:
            _check_version(request)
            response = await handler(request)
        except ApiError as refused:
            response = refused.answer().response()
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            response = ApiError(404, "Not Found").answer().response()
        token = request.get(TOKEN)
        if not is_free(request, response) and not request.path.endswith("/rate_limit"):
            limits.count(token)
        response.headers.update(_headers(world, limits, request, token))
        return response

    return frame


def _check_version(request: web.Request) -> None:
    asked = request.headers.get("X-GitHub-Api-Version", VERSIONS[0])
    if asked not in VERSIONS:
        raise ApiError(400, f"{asked} is not a supported version of the API")


def _headers(
    world: World, limits: RateLimits, request: web.Request, token: Token | None
) -> dict[str, str]:
    state = limits.state(token)
    version = request.headers.get("X-GitHub-Api-Version", VERSIONS[0])
    return {
        "Date": format_date_time(world.get_time().timestamp()),
        "X-GitHub-Request-Id": uuid.uuid4().hex[:16].upper(),
        "X-GitHub-Media-Type": "github.v3; format=json",
        "X-GitHub-Api-Version-Selected": version,
        "X-RateLimit-Limit": str(state["limit"]),
        "X-RateLimit-Remaining": str(state["remaining"]),
        "X-RateLimit-Used": str(state["used"]),
        "X-RateLimit-Reset": str(state["reset"]),
        "X-RateLimit-Resource": "graphql" if request.path == "/api/graphql" else "core",
    }
