"""Servers elsewhere: a real one on loopback, and some that are up to no good."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import asynccontextmanager

import aiohttp
import pytest
import uvicorn
from aiohttp import web
from mcp.server.mcpserver import MCPServer

from agents.errors import ToolError
from agents.policy import Policy, Toolset
from app.mcp import connection, http
from app.mcp.config import HttpServer
from app.mcp.connection import Connection
from app.mcp.toolsets import RunToolsets
from tests.patience import PATIENCE

POLICY = Policy(mcp=(Toolset(server="far"),))
TOKEN = "Bearer s3cr3t-value-of-the-operator"


def toolsets_of(url, headers=None, resolver=None):
    more = {"resolver": resolver} if resolver else {}
    server = HttpServer("far", url, headers or {})
    return RunToolsets(
        {"far": server},
        lambda each: Connection(each.name, lambda: http.make_transport(each, **more)),
    )


@pytest.fixture(scope="module")
def real():
    """The `mcp` package's own server, in a thread of its own; it notes who comes."""
    server, seen = MCPServer("far"), []

    @server.tool()
    def greet(name: str) -> str:
        """Greets."""
        return f"hello {name}"

    app = server.streamable_http_app()

    async def record_headers(scope, receive, send):
        if scope["type"] == "http":
            seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
        await app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(record_headers, log_level="error", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", seen
    running.should_exit = True
    thread.join(10)
    listening.close()


@asynccontextmanager
async def open_server(handle):
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_a_real_server_is_asked_with_its_headers_and_none_of_ours(real, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    url, seen = real
    toolsets = toolsets_of(url, {"Authorization": TOKEN})

    await toolsets.fetch_tools(POLICY)
    text = await toolsets.call("mcp_far_greet", {"name": "ada"})
    await toolsets.close()

    assert text == "hello ada"
    assert toolsets.effects("mcp_far_greet").outside
    assert {each["authorization"] for each in seen} == {TOKEN}
    assert not [each for each in seen if "cookie" in each]


async def test_redirects_are_not_followed_to_anyone(real):
    url, seen = real
    before = len(seen)

    async def redirect(request):
        await request.read()
        return web.Response(status=307, headers={"Location": url})

    async with open_server(redirect) as port:
        toolsets = toolsets_of(f"http://127.0.0.1:{port}/mcp", {"Authorization": TOKEN})
        assert await toolsets.fetch_tools(POLICY) == []
        await toolsets.close()

    assert len(seen) == before


@pytest.mark.parametrize("address", ["169.254.169.254", "168.63.129.16", "64:ff9b::a9fe:a9fe"])
async def test_some_addresses_are_never_asked(address, monkeypatch):
    """Private ones may be: the operator wrote the host down. Those of cloud metadata never."""
    if address != "168.63.129.16":  # that one is public but for its number

        async def resolver(host, port):
            return [address]

        toolsets = toolsets_of("http://mcp.internal/mcp", resolver=resolver)
        assert await toolsets.fetch_tools(POLICY) == []
        await toolsets.close()
    host = f"[{address}]" if ":" in address else address
    refused = http._OneHost(f"http://{host}/", None, http.system_resolver)
    with pytest.raises(http.httpx2.ConnectError):
        await refused.handle_async_request(http.httpx2.Request("GET", f"http://{host}/"))


@pytest.mark.parametrize(("later", "comes"), [("127.0.0.1", True), ("169.254.169.254", False)])
async def test_a_name_that_changes_its_mind_is_checked_where_it_is_connected_to(later, comes):
    seen, found = [], [["127.0.0.1"], [later]]

    async def refuse(request):
        seen.append(request.host)
        return web.Response(status=401)

    async def resolver(host, port):
        return found.pop(0) if len(found) > 1 else found[0]

    async with open_server(refuse) as port:
        toolsets = toolsets_of(f"http://mcp.internal:{port}/mcp", resolver=resolver)
        assert await toolsets.fetch_tools(POLICY) == []
        await toolsets.close()

    assert bool(seen) is comes


async def answers(kind):
    async def handle(request):
        await request.read()
        if kind == "silent":
            await asyncio.sleep(5)
        if kind == "packed":
            return web.Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
        if kind == "garbage":
            return web.Response(text="[" * 10_000, content_type="application/json")
        if kind == "page":
            return web.Response(text="<h1>Welcome</h1>", content_type="text/html")
        if kind == "refused":
            return web.Response(status=401)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * 65_536)
        except ConnectionError:
            return response

    return handle


@pytest.mark.parametrize("kind", ["silent", "packed", "garbage", "page", "refused", "endless"])
async def test_what_is_no_server_gives_no_tools(kind, monkeypatch):
    monkeypatch.setattr(connection, "START_SECONDS", 0.7)

    async with open_server(await answers(kind)) as port:
        toolsets = toolsets_of(f"http://127.0.0.1:{port}/mcp")
        async with asyncio.timeout(PATIENCE):
            assert await toolsets.fetch_tools(POLICY) == []
            await toolsets.close()


async def test_an_answer_without_end_is_left():
    async with open_server(await answers("endless")) as port, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{port}/"
        asked = http._OneHost(url, session, http.system_resolver)
        answer = await asked.handle_async_request(http.httpx2.Request("GET", url))
        with pytest.raises(http.httpx2.ReadError, match="too long"):
            async with asyncio.timeout(PATIENCE):
                await answer.aread()
        await answer.aclose()


async def test_one_that_is_gone_is_an_error_for_the_model():
    toolsets = toolsets_of("http://127.0.0.1:9/mcp")
    schema = {"type": "object", "properties": {}}
    gone = {"name": "mcp_far_x", "server": "far", "tool": "x", "description": ""}
    toolsets.recall([gone | {"input_schema": schema, "only_reads": True}])

    with pytest.raises(ToolError, match="The server far failed"):
        await toolsets.call("mcp_far_x", {})
    await toolsets.close()


async def test_a_server_that_is_no_longer_configured_is_an_error_for_the_model():
    toolsets = RunToolsets({}, lambda each: None)
    schema = {"type": "object", "properties": {}}
    gone = {"name": "mcp_far_x", "server": "far", "tool": "x", "description": ""}
    toolsets.recall([gone | {"input_schema": schema, "only_reads": True}])

    with pytest.raises(ToolError, match="no longer configured"):
        await toolsets.call("mcp_far_x", {})
