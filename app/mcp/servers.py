"""The operator's MCP servers, and for each run the port to their tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from agents.errors import ConfigError
from app.mcp.config import HttpServer, McpServer, StdioServer, read_servers
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.port import Sandbox
from app.secrets.redaction import Redactor

if TYPE_CHECKING:
    from app.mcp.toolsets import RunToolsets

log = structlog.get_logger()

ForRun = Callable[[Path | None], "RunToolsets"]
"""Gives a run its toolsets; the path is the folder of its files."""


def open_toolsets(file: Path | None, redactor: Redactor, sandbox: Sandbox) -> ForRun | None:
    """Return what gives each run its MCP tools; None when no servers are configured.

    Raises ConfigError when servers are configured and the extra `mcp` is not installed.
    """
    servers = {
        name: server
        for name, server in read_servers(file, redactor).items()
        if _can_run(server, sandbox)
    }
    if not servers:
        return None
    try:
        from app.mcp import http, stdio  # noqa: PLC0415 an extra: only who has servers needs it
        from app.mcp.connection import Connection  # noqa: PLC0415 the same
        from app.mcp.toolsets import RunToolsets  # noqa: PLC0415 the same
    except ImportError as error:
        raise ConfigError(
            f"FETTLE_MCP_SERVERS names servers, but the package `{error.name}` is not installed."
            " Run `deploy/setup.sh extras` in the checkout, or build the image with"
            " LOCK=requirements-extras.lock; or unset FETTLE_MCP_SERVERS."
        ) from error

    def for_run(files: Path | None) -> RunToolsets:
        def dial(server: McpServer) -> Connection:
            if isinstance(server, HttpServer):
                return Connection(server.name, lambda: http.make_transport(server))
            assert isinstance(sandbox, Bubblewrap)
            return Connection(server.name, lambda: stdio.make_transport(sandbox, server, files))

        return RunToolsets(servers, dial)

    return for_run


def _can_run(server: McpServer, sandbox: Sandbox) -> bool:
    if isinstance(server, StdioServer) and not isinstance(sandbox, Bubblewrap):
        log.warning(
            "MCP server left out",
            server=server.name,
            why=f"the sandbox `{sandbox.name}` cannot hold a program that is spoken to",
        )
        return False
    return True
