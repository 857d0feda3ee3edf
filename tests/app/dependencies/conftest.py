"""What the tests of set-ups share: a sandbox that held, a folder for it, an index to read from."""

import asyncio

import pytest
from aiohttp import web

from app.dependencies.certificate_authority import Authority
from app.dependencies.indexes.operator_config import Operator
from app.sandbox.port import Mount, SandboxCommand


@pytest.fixture
def command(open_folder):
    """Make a command with an empty, writable /workspace."""
    tree = open_folder / "tree"
    tree.mkdir()
    tree.chmod(0o777)

    def make(script, **options):
        mounts = (Mount(tree, "/workspace", writable=True), *options.pop("mounts", ()))
        return SandboxCommand(("bash", "-c", script), mounts=mounts, **options)

    make.tree = tree
    return make


@pytest.fixture
def few_authorities(tmp_path, monkeypatch):
    """Trust one authority instead of the world's: reading those takes longer than most tests."""
    path = tmp_path / "one.pem"
    path.write_text(Authority().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))


class KnownOperator(Operator):
    """An operator whose tools are asked once by all tests of this process that agree on them."""

    async def _ask(self, program, *arguments):
        tool = "pip" if "/" in program else program  # whose Python is asked for it
        mine = (f"{tool.upper()}_", "HOME", "XDG_", "NETRC")
        told = {name: value for name, value in self.environ.items() if name.startswith(mine)}
        key = (program, arguments, self.toolchains, self.environ.get("PATH"), *sorted(told.items()))
        if key not in _ANSWERS:
            _ANSWERS[key] = await super()._ask(program, *arguments)
        return _ANSWERS[key]


_ANSWERS = {}


class LoopbackIndex:
    """A server on loopback that answers like an index and remembers who asked for what."""

    def __init__(self, host, authority=None):
        self.host = host
        self.authority = authority
        self.pages = {}
        self.asked = []
        self.port = 0

    @property
    def url(self):
        return f"{'https' if self.authority else 'http'}://{self.host}:{self.port}"

    async def answer(self, request):
        self.asked.append((request.method, request.raw_path, dict(request.headers)))
        status, headers, body = self.pages.get(request.raw_path, (404, {}, b"nothing"))
        return web.Response(status=status, headers=headers, body=body)

    def page(self, path, body, status=200, **headers):
        body = body if isinstance(body, bytes) else body.encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, {"Content-Type": "text/html", **named}, body)


@pytest.fixture
async def index():
    """Start indexes: `await index("name.example")`, with TLS unless told otherwise."""
    authority = Authority()
    runners = []

    async def start(host="index.example", *, tls=True):
        made = LoopbackIndex(host, authority if tls else None)
        runner = web.ServerRunner(web.Server(made.answer))
        await runner.setup()
        runners.append(runner)
        context = authority.server(host) if tls else None
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        made.port = runner.addresses[0][1]
        return made

    start.authority = authority
    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
async def canary():
    """A listener on loopback that nobody may reach; its `visits` must stay 0."""

    class Canary:
        visits = 0
        port = 0

    def count_visit(reader, writer):
        Canary.visits += 1
        writer.close()

    server = await asyncio.start_server(count_visit, "127.0.0.1", 0)
    Canary.port = server.sockets[0].getsockname()[1]
    yield Canary
    server.close()
    await server.wait_closed()
