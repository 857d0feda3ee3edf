"""MCP over stdio: a program inside the sandbox, without network or secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from app.mcp.config import StdioServer
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.bubblewrap.stdio_session import StdioSession, open_session
from app.sandbox.port import Mount, ResourceLimits, SandboxCommand

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def _open_streams(
    sandbox: Bubblewrap, server: StdioServer, files: Path | None
) -> AsyncIterator[tuple[object, object]]:
    """Hold the program of this server, which sees the work tree read-only, if there is one."""
    mounts = (Mount(files, "/workspace"),) if files else ()
    command = SandboxCommand(
        argv=server.command,
        folder="/workspace" if mounts else "/tmp",  # noqa: S108 the sandbox's own
        mounts=mounts,
        environment=server.environment,
        limits=ResourceLimits(nproc=256),
    )
    read_to, read_from = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_to, write_from = anyio.create_memory_object_stream[SessionMessage](0)
    async with (
        read_to,
        read_from,
        write_to,
        write_from,
        open_session(sandbox.for_run(files.parent) if files else sandbox, command) as talk,
        anyio.create_task_group() as group,
    ):
        group.start_soon(_hear, talk, read_to)
        group.start_soon(_say, talk, write_from, read_to)
        try:
            yield read_from, write_to
        finally:
            group.cancel_scope.cancel()


def make_transport(sandbox: Bubblewrap, server: StdioServer, files: Path | None) -> Transport:
    """Return the transport to this server, not yet started."""
    return _open_streams(sandbox, server, files if files and files.is_dir() else None)  # type: ignore[return-value]  # streams, loosely typed


async def _hear(talk: StdioSession, to: Incoming) -> None:
    """Pass on what it says; a line that is no message is left out, like a stray print."""
    try:
        async for line in talk.read_lines():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                continue
            await to.send(SessionMessage(message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # nobody listens any more
    await to.aclose()


async def _say(talk: StdioSession, what: Outgoing, to: Incoming) -> None:
    try:
        async for each in what:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            await talk.send(text.encode())
    except OSError:
        await to.aclose()  # it is gone: whoever waits for an answer must hear of that
