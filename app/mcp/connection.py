"""The connection to one MCP server: opened at the first call, closed after idle time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from mcp import Client, ClientSession, MCPError
from mcp.client import Transport
from mcp_types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)

START_SECONDS = 20.0
CALL_SECONDS = 120.0
IDLE_SECONDS = 60.0
CLOSE_SECONDS = 5.0
MOST_TOOLS = 100

log = structlog.get_logger()


class Unreachable(Exception):
    """The server does not answer as it should; the text says how."""


class Connection:
    """The session with one server; as the MCP library demands, one asyncio task owns it."""

    def __init__(self, name: str, dial: Callable[[], Transport]) -> None:
        self._name = name
        self._dial = dial
        self._holding: set[asyncio.Task[None]] = set()
        self._session: asyncio.Future[ClientSession] | None = None
        self._over = asyncio.Event()
        self._calls = self._rounds = 0

    async def tools(self) -> list[Tool]:
        """Return the server's tools, up to a limit."""
        found: list[Tool] = []
        cursor: str | None = None
        while len(found) < MOST_TOOLS:
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._ask(ListToolsRequest(params=params), ListToolsResult, START_SECONDS)
            found += page.tools
            cursor = page.next_cursor
            if not page.tools or not cursor:
                break
        return found[:MOST_TOOLS]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Return the tool's result. Raises Unreachable."""
        params = CallToolRequestParams(name=tool, arguments=dict(arguments))
        result: CallToolResult = await self._ask(
            CallToolRequest(params=params), CallToolResult, CALL_SECONDS
        )
        return result

    async def close(self) -> None:
        """Close the session; a program ends with all its children."""
        self._over.set()
        for _ in range(2):
            if not (holding := set(self._holding)):
                return
            _, slow = await asyncio.wait(holding, timeout=CLOSE_SECONDS)
            for each in slow:
                each.cancel()

    async def _ask(self, request: Any, answer: type[Any], seconds: float) -> Any:
        self._calls += 1
        try:
            session = await self._open()
            # Not by the session's own methods: they would hold results against the server's
            # output schemas, whose patterns may keep a parser busy for ever.
            async with asyncio.timeout(seconds):
                return await session.send_request(request, answer)
        except Exception as error:
            if not isinstance(error, MCPError) or error.error.code == CONNECTION_CLOSED:
                await self.close()
            raise Unreachable(_explain(error, seconds)) from error
        finally:
            self._calls -= 1
            self._rest_later()

    async def _open(self) -> ClientSession:
        if self._session is None or not self._holding or self._over.is_set():
            self._over = asyncio.Event()
            self._session = asyncio.get_running_loop().create_future()
            self._session.add_done_callback(asyncio.Future.exception)  # its caller may be gone
            holding = asyncio.create_task(self._hold(self._session, self._over))
            self._holding.add(holding)
            holding.add_done_callback(self._holding.discard)
        return await asyncio.shield(self._session)

    async def _hold(self, opened: asyncio.Future[ClientSession], over: asyncio.Event) -> None:
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # servers' faults are told by us
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = Client(self._dial(), read_timeout_seconds=CALL_SECONDS, cache=None)
                async with asyncio.timeout(START_SECONDS):
                    await stack.enter_async_context(client)
                opened.set_result(client.session)
                await over.wait()
        except Exception as error:  # noqa: BLE001 whatever a server does to the library ends here
            if not opened.done():
                opened.set_exception(Unreachable(_explain(error, START_SECONDS)))
            else:
                log.info("MCP server gone", server=self._name, why=type(error).__name__)
        finally:
            over.set()
            if not opened.done():
                opened.set_exception(Unreachable("it was stopped"))

    def _rest_later(self) -> None:
        """Close the line unless somebody calls meanwhile: who waits for people holds nothing."""
        self._rounds += 1
        over, round_ = self._over, self._rounds

        def rest() -> None:
            if self._calls == 0 and round_ == self._rounds:
                over.set()

        asyncio.get_running_loop().call_later(IDLE_SECONDS, rest)


def _explain(error: Exception, seconds: float) -> str:
    if isinstance(error, Unreachable):
        return str(error)
    if isinstance(error, ExceptionGroup):
        return _explain(error.exceptions[0], seconds)
    if isinstance(error, TimeoutError):
        return f"it did not answer within {seconds:.0f} s"
    return f"{type(error).__name__}: {error}"[:500]
