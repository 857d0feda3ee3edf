"""The frame of every REST call: authenticate, check permissions, answer conditional requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from aiohttp import web

from app.simulator.github.answers import Answer, ApiError, not_found
from app.simulator.github.calls import BODY, TOKEN, Call, Parts
from app.simulator.github.conditional import conditional
from app.simulator.github.state.world import Repository, World
from app.simulator.github.tokens import bearer_of

Json = Any
RouteScope = Literal["open", "anyone", "app", "token", "repository", "public"]
"""`public`: like `repository`, but every token reads what is public, wherever its App is installed.

https://docs.github.com/rest/authentication/permissions-required-for-github-apps
"""
OF_REPOSITORY = ("repository", "public")
PARTS = web.AppKey("parts", Parts)
Handler = Callable[[Call], Awaitable[Json]]


@dataclass(frozen=True)
class Route:
    """A REST call: where it is, who may make it, what answers it."""

    method: str
    path: str
    scope: RouteScope
    needs: str
    """Permissions as `X-Accepted-GitHub-Permissions` writes them: `a=write; b=read`, either."""
    run: Handler


class Routes(list[Route]):
    """The REST calls of one subject."""

    def add(
        self,
        method: str,
        path: str,
        *,
        scope: RouteScope = "repository",
        needs: str = "metadata=read",
    ) -> Callable[[Handler], Handler]:
        """Register a handler; it returns JSON (200) or an Answer."""

        def keep(run: Handler) -> Handler:
            self.append(Route(method, path, scope, needs, run))
            return run

        return keep

    @cached_property
    def resources(self) -> tuple[web.AbstractResource, ...]:
        """The addresses for aiohttp, which every server shares: to parse them takes longest."""
        table = web.UrlDispatcher()
        for route in self:
            roots = [""]
            if route.scope in OF_REPOSITORY:  # they answer by name and by id
                roots = ["/repos/{owner}/{repo}", "/repositories/{repository_id}"]
            for root in roots:
                table.add_route(route.method, f"/api/v3{root}{route.path}", _endpoint(route))
        return tuple(table.resources())


def register(app: web.Application, routes: Routes) -> None:
    """Put the calls on the server, whose parts are its `PARTS`."""
    for resource in routes.resources:
        app.router.register_resource(resource)


def _endpoint(route: Route) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        request[BODY] = await request.read()
        result = await route.run(_admit(request.app[PARTS], route, request))
        whole = result if isinstance(result, Answer) else Answer(200, result)
        return conditional(request, whole.response())

    return answer


def _admit(parts: Parts, route: Route, request: web.Request) -> Call:
    call = Call(parts, request)
    if route.scope == "open":
        return call
    credential = bearer_of(request.headers.get("Authorization"))
    if credential is None and route.scope == "anyone":
        return call
    if credential is None:
        raise ApiError(401, "Requires authentication")
    if route.scope == "app":
        call.app = parts.tokens.app_of(credential)
        return call
    call.token = request[TOKEN] = parts.tokens.find(credential)
    if route.scope in OF_REPOSITORY:
        call.found = _visible(call, to_all=route.scope == "public")
        if call.token.sees(call.found):
            _check_permission(call, route.needs)
    return call


def _visible(call: Call, *, to_all: bool) -> Repository:
    assert call.token
    token = call.token

    def sees(repository: Repository) -> bool:
        return token.sees(repository) or (to_all and not repository.private)

    named = find_repository(call.world, call.request, sees)
    if not sees(named):
        raise not_found()
    if named.archived and call.request.method != "GET":
        raise ApiError(403, "Repository was archived so is read-only.")
    return named


def find_repository(
    world: World, request: web.Request, sees: Callable[[Repository], bool]
) -> Repository:
    """Return the repository of the path; 301 for the former name of one that the caller sees."""
    where = request.match_info
    if "repository_id" in where:
        text = where["repository_id"]
        found = world.repositories.get(int(text)) if text.isdecimal() else None
    else:
        full_name = f"{where['owner']}/{where['repo']}"
        found = world.repository(full_name)
        moved = world.repositories.get(world.former_names.get(full_name.lower(), 0))
        if found is None and moved is not None and sees(moved):
            rest = request.rel_url.raw_path.split("/", 6)[6:]
            query = f"?{request.rel_url.raw_query_string}" if request.query else ""
            url = "/".join([world.api, "repositories", str(moved.id), *rest]) + query
            headers, extra = {"Location": url}, {"url": url}
            raise ApiError(301, "Moved Permanently", headers=headers, extra=extra)
    if found is None:
        raise not_found()
    return found


def _check_permission(call: Call, needs: str) -> None:
    """Refuse unless one of the alternatives is held; `pull_requests` opens no plain issue."""
    assert call.token
    on_issue = "/issues/" in call.request.path and not _is_pull(call)
    for alternative in needs.split("; "):
        pairs = [each.split("=") for each in alternative.split(",")]
        if on_issue and any(name == "pull_requests" for name, _ in pairs):
            continue
        if all(call.token.grants(name, level) for name, level in pairs):
            return
    headers = {"X-Accepted-GitHub-Permissions": needs}
    raise ApiError(403, "Resource not accessible by integration", headers=headers)


def _is_pull(call: Call) -> bool:
    where = call.request.match_info
    if "comment_id" in where and where["comment_id"].isdecimal():
        comment = call.repository.comment(int(where["comment_id"]))
        return bool(comment and comment.issue.pull)
    number = where.get("number", "")
    issue = call.repository.issues.get(int(number)) if number.isdecimal() else None
    return bool(issue and issue.pull)
