"""The port `Toolsets`: the tools of the operator's MCP servers, for one run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

import structlog
from mcp_types import CallToolResult, Tool
from pydantic import TypeAdapter

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Json, ToolEffects
from agents.requests import Frozen
from agents.text import printable
from agents.tools.mcp import tool_name
from app.mcp.config import McpServer, StdioServer
from app.mcp.connection import Unreachable
from app.mcp.server_texts import UnusableSchema, describe_tool, input_schema, text_of

MOST_DEFINED = 24_000  # characters of all definitions: every session pays for them

log = structlog.get_logger()


class ToolConnection(Protocol):
    """The connection to a server, as far as runs need it."""

    async def tools(self) -> list[Tool]:
        """Return the server's tools."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> CallToolResult:
        """Return the tool's result."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class LearnedTool(Frozen):
    """A tool as it was when the run began."""

    name: str
    server: str
    tool: str
    """The tool's name at its server."""
    description: str
    input_schema: Json
    only_reads: bool


_LEARNED: TypeAdapter[list[LearnedTool]] = TypeAdapter(list[LearnedTool])


class RunToolsets:
    """The tools of MCP servers that the policy lets one run use."""

    def __init__(
        self, servers: Mapping[str, McpServer], dial: Callable[[McpServer], ToolConnection]
    ) -> None:
        self._servers = servers
        self._dial = dial
        self._lines: dict[str, ToolConnection] = {}
        self._tools: dict[str, LearnedTool] = {}

    async def fetch_tools(self, policy: Policy) -> Json:
        """Ask the policy's servers for their tools, all at the same time."""
        named = dict.fromkeys(each.server for each in policy.mcp)
        for name in named:
            if name not in self._servers:
                log.warning("the policy names an MCP server that is not configured", server=name)
        known = [name for name in named if name in self._servers]
        offers = await asyncio.gather(*(self._offer(name) for name in known))
        await self.close()  # programs started now do not see the files, which come later
        kept: dict[str, LearnedTool] = {}
        room = MOST_DEFINED
        for tool in (tool for offer in offers for tool in offer):
            size = len(tool.model_dump_json())
            if not _is_wanted(policy, tool):
                continue
            if tool.name in kept or size > room:
                why = "its name is taken" if tool.name in kept else "there are too many tools"
                log.warning("MCP tool left out", server=tool.server, tool=tool.name, why=why)
                continue
            kept[tool.name] = tool
            room -= size
        learned = _LEARNED.dump_python([kept[name] for name in sorted(kept)], mode="json")
        self.recall(learned)
        return learned

    def recall(self, learned: Json) -> None:
        """Use the tools learned earlier, whatever the servers say now."""
        self._tools = {tool.name: tool for tool in _LEARNED.validate_python(learned)}

    def definitions(self) -> Sequence[Mapping[str, Json]]:
        """Return their Messages-API definitions, sorted by name."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in self._tools.values()
        ]

    def effects(self, name: str) -> ToolEffects | None:
        """Return what a call may do; a server in the sandbox cannot send anything out."""
        tool = self._tools.get(name)
        if tool is None:
            return None
        outside = not isinstance(self._servers.get(tool.server), StdioServer)
        return ToolEffects(only_reads=tool.only_reads, outside=outside)

    async def call(self, name: str, arguments: Mapping[str, Json]) -> str:
        """Call the tool. Raises ToolError, so that the model goes on without it."""
        tool = self._tools.get(name)
        if tool is None:
            names = ", ".join(self._tools) or "none"
            raise ToolError(f"There is no tool {name}. Tools of other servers are: {names}.")
        if tool.server not in self._servers:
            raise ToolError(f"The server {tool.server} is no longer configured. Go on without.")
        try:
            result = await self._line(tool.server).call(tool.tool, arguments)
        except Unreachable as error:
            said = printable(str(error))
            raise ToolError(f"The server {tool.server} failed: {said}. Go on without.") from error
        return text_of(result)

    async def close(self) -> None:
        """Close all connections."""
        lines, self._lines = self._lines, {}
        await asyncio.gather(*(line.close() for line in lines.values()))

    def _line(self, server: str) -> ToolConnection:
        if server not in self._lines:
            self._lines[server] = self._dial(self._servers[server])
        return self._lines[server]

    async def _offer(self, server: str) -> list[LearnedTool]:
        """Return what a server offers that can be given to a model."""
        try:
            tools = await self._line(server).tools()
        except Unreachable as error:
            log.warning("MCP server gives no tools to this run", server=server, why=str(error))
            return []
        offered = []
        for tool in tools:
            try:
                offered.append(_learn(server, tool))
            except UnusableSchema as error:
                log.warning("MCP tool left out", server=server, tool=tool.name[:80], why=str(error))
        return offered


def _learn(server: str, tool: Tool) -> LearnedTool:
    return LearnedTool(
        name=tool_name(server, tool.name),
        server=server,
        tool=tool.name,
        description=describe_tool(server, tool.description),
        input_schema=input_schema(tool.input_schema),
        only_reads=bool(tool.annotations and tool.annotations.read_only_hint),
    )


def _is_wanted(policy: Policy, tool: LearnedTool) -> bool:
    """Tell whether any stage may call it; which ones, the gate decides call by call."""
    _, _, word = tool.name.removeprefix("mcp_").partition("_")
    return any(
        each.server == tool.server and any(fnmatchcase(word, pattern) for pattern in each.tools)
        for each in policy.mcp
    )
