"""What the git tests share: a repository, its mirror, a git server with tokens, a sandbox."""

import asyncio
import base64
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from agents.policy import Policy
from app.git.environment import CommitIdentity
from app.git.mirror.mirror import Mirror
from app.git.run_objects import RunObjects
from app.git.worktree.worktree import open_work_tree
from app.sandbox.bubblewrap.backend import Bubblewrap

BOT = CommitIdentity("fettle[bot]", "1+fettle[bot]@users.noreply.example")
TOKEN = "ghs_0123456789abcdefghijABCDEFGHIJ012345"


def git(folder, *args, **environment):
    """Run git as a person would, with their name but without their settings."""
    done = subprocess.run(
        ["git", "-C", str(folder), *args],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_repository(folder, files, branch="main"):
    """Make a repository with one commit of these files; return the commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", branch)
    write_files(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


def write_files(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def place():
    """A folder that the sandbox's user may enter; pytest's own is closed to all but us."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", folder], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


FILES = {
    "README.md": "# Sample\n",
    "src/a.py": "A = 1\n",
    "src/b.py": "B = 2\n",
    ".gitignore": "build/\n",
}


@dataclass
class Estate:
    """A repository of somebody, where Fettle pushes to, and Fettle's mirror of it."""

    place: Path
    upstream: Path
    mirror: Mirror
    base: str
    url: str
    sandbox: Bubblewrap = None
    opened: int = field(default=0)

    async def open(self, run_id=None, base=None, policy=None, **options):
        self.opened += 1
        run_id = run_id or f"run-{self.opened}"
        return await open_work_tree(
            RunObjects(self.mirror, run_id),
            self.place / "runs",
            run_id,
            base or self.base,
            sandbox=self.sandbox,
            policy=policy or Policy(),
            identity=BOT,
            **options,
        )


@pytest.fixture(scope="session")
def template(sandbox):
    """The same estate for all, made once and copied for each test."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-test-"))
    make_repository(folder / "somebody", FILES)
    upstream = folder / "upstream.git"
    git(folder, "clone", "-q", "--bare", str(folder / "somebody"), str(upstream))
    git(upstream, "config", "http.receivepack", "true")
    mirror = Mirror(folder / "mirrors" / "1.git", group=sandbox.owner[1], allow_files=True)
    asyncio.run(mirror.fetch(f"file://{upstream}", None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def estate(place, sandbox, template):
    subprocess.run(["cp", "-a", f"{template}/.", place], check=True)
    place.chmod(0o755)
    mirror = Mirror(place / "mirrors" / "1.git", group=sandbox.owner[1], allow_files=True)
    base = git(place / "somebody", "rev-parse", "HEAD")
    upstream = place / "upstream.git"
    return Estate(place, upstream, mirror, base, f"file://{upstream}", sandbox)


@dataclass
class GitServer:
    """Git over HTTP that wants the token; `faults` are answers to give first."""

    root: Path
    url: str = ""
    token: str = TOKEN
    seen: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    pause: float = 0.0

    async def handle(self, request):
        self.seen.append(f"{request.method} {request.path_qs}")
        self.authorizations.append(request.headers.get("Authorization", ""))
        body = await request.read()
        await asyncio.sleep(self.pause)
        if self.faults:
            return web.Response(status=self.faults.pop(0), headers={"Location": "/elsewhere"})
        credentials = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {credentials}":
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        return await self.backend(request, body)

    async def backend(self, request, body):
        process = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_NOSYSTEM": "1",
                "REMOTE_USER": "app",
                "REQUEST_METHOD": request.method,
                "PATH_INFO": request.path,
                "QUERY_STRING": request.query_string,
                "CONTENT_TYPE": request.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            },
        )
        answer, _ = await process.communicate(body)
        head, _, rest = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, headers=headers, body=rest)


@pytest.fixture
async def server(place):
    """Serve every repository of `place` to those who have the token."""
    made = GitServer(place)
    app = web.Application(client_max_size=2**27)
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    made.url = f"http://127.0.0.1:{port}"
    yield made
    await runner.cleanup()
