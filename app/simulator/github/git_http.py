"""Git over HTTP: `git http-backend` behind the API's tokens, permissions and branch rules."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping
from functools import cache

from aiohttp import web

from app.simulator.github.answers import ApiError
from app.simulator.github.calls import Parts
from app.simulator.github.gitdir import GitDir, git_environment
from app.simulator.github.push_rules import push_refusal, report
from app.simulator.github.state.world import Repository
from app.simulator.github.tokens import Token, bearer_of

CHUNK = 65_536
SERVICES = ("git-upload-pack", "git-receive-pack")


class GitHttp:
    """The git side of the server."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def register(self, app: web.Application) -> None:
        """Put the three paths of the smart protocol on the server."""
        app.router.add_get("/{owner}/{name}.git/info/refs", self.advertise)
        app.router.add_post("/{owner}/{name}.git/git-upload-pack", self.upload)
        app.router.add_post("/{owner}/{name}.git/git-receive-pack", self.receive)

    async def advertise(self, request: web.Request) -> web.StreamResponse:
        """Show the refs."""
        service = request.query.get("service", "")
        if service not in SERVICES:
            return web.Response(status=403, text="Please upgrade your git client.")
        try:
            repository = self._repository(request)
            self._admit(request, repository, "write" if service == SERVICES[1] else "read")
        except ApiError as refused:
            return _refuse(refused)
        return await _backend(request, repository, "/info/refs", b"")

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Serve a fetch or a clone."""
        try:
            repository = self._repository(request)
            self._admit(request, repository, "read")
        except ApiError as refused:
            return _refuse(refused)
        return await _backend(request, repository, "/git-upload-pack", await request.read())

    async def receive(self, request: web.Request) -> web.StreamResponse:
        """Take a push, unless a rule of the repository is against it."""
        try:
            repository = self._repository(request)
            token = self._admit(request, repository, "write")
        except ApiError as refused:
            return _refuse(refused)
        assert token
        body = await request.read()
        refusal = await push_refusal(repository, token, body)
        if refusal:
            return web.Response(
                body=report(body, refusal),
                content_type="application/x-git-receive-pack-result",
            )
        before = await GitDir(repository.gitdir).refs()
        response = await _backend(request, repository, "/git-receive-pack", body)
        await self._parts.pulls.follow_push(repository, token.actor, before)
        return response

    def _repository(self, request: web.Request) -> Repository:
        """Return the repository of the path; 301 for a former name, 401 before 404."""
        where, world = request.match_info, self._parts.world
        full_name = f"{where['owner']}/{where['name']}"
        found = world.repository(full_name)
        moved = world.repositories.get(world.former_names.get(full_name.lower(), 0))
        if found is None and moved is not None:
            rest = request.path_qs.split(".git/", 1)[1]
            url = f"{world.url}/{moved.full_name}.git/{rest}"
            raise ApiError(301, "Moved Permanently", headers={"Location": url})
        if found is not None:
            return found
        if bearer_of(request.headers.get("Authorization")) is None:
            raise ApiError(401, "Authentication required")
        raise ApiError(404, "Repository not found.")

    def _admit(self, request: web.Request, repository: Repository, level: str) -> Token | None:
        """Return the caller's token; None for the public; Refused as git understands it."""
        credential = bearer_of(request.headers.get("Authorization"))
        if credential is None and level == "read" and not repository.private:
            return None
        if credential is None:
            raise ApiError(401, "Authentication required")
        token = self._parts.tokens.find(credential)
        if not token.sees(repository) and repository.private:
            raise ApiError(404, "Repository not found.")
        public = level == "read" and not repository.private
        if not public and not (token.sees(repository) and token.grants("contents", level)):
            bot = token.actor.account.login
            raise ApiError(403, f"Permission to {repository.full_name}.git denied to {bot}.")
        if level == "write" and repository.archived:
            raise ApiError(403, "This repository was archived so it is read-only.")
        return token


def _refuse(refused: ApiError) -> web.Response:
    asking = {"WWW-Authenticate": 'Basic realm="GitHub"'} if refused.status == 401 else {}
    headers = {**refused.headers, **asking}
    return web.Response(status=refused.status, text=f"{refused}\n", headers=headers)


async def _backend(
    request: web.Request, repository: Repository, path: str, body: bytes
) -> web.StreamResponse:
    process = await asyncio.create_subprocess_exec(
        _find_backend(),
        env=_cgi_environment(request, repository, path, len(body)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout
    feeding = asyncio.create_task(_feed(process.stdin, body))
    try:
        status, headers = await _read_head(process.stdout)
        if path == "/git-receive-pack":
            whole = await process.stdout.read()
            return web.Response(status=status, headers=headers, body=whole)
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        while chunk := await process.stdout.read(CHUNK):
            await response.write(chunk)
        return response
    finally:
        if process.returncode is None and not process.stdout.at_eof():
            process.kill()
        await asyncio.gather(feeding, process.wait())


@cache
def _find_backend() -> str:
    """Return where `git http-backend` is: asked for by git it is two processes each time."""
    command = ["git", "--exec-path"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return f"{said.stdout.strip()}/git-http-backend"


async def _feed(stdin: asyncio.StreamWriter, body: bytes) -> None:
    try:
        stdin.write(body)
        await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        pass  # git has answered without reading all of it
    finally:
        stdin.close()


async def _read_head(stdout: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    status, headers = 200, {}
    while line := (await stdout.readline()).strip():
        name, _, value = line.decode().partition(": ")
        if name.lower() == "status":
            status = int(value.split(" ", 1)[0])
        else:
            headers[name] = value
    return status, headers


def _cgi_environment(
    request: web.Request, repository: Repository, path: str, length: int
) -> Mapping[str, str]:
    root, name = repository.gitdir.parent, repository.gitdir.name
    environment = git_environment(repository.gitdir) | {
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GATEWAY_INTERFACE": "CGI/1.1",
        "PATH_INFO": f"/{name}{path}",
        "QUERY_STRING": request.query_string,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(length),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_ADDR": request.remote or "",
        "REMOTE_USER": "pusher",
    }
    del environment["GIT_DIR"]
    return environment
