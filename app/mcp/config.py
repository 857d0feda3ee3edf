"""Read the operator's file of MCP servers; entries that do not fit are left out with a warning."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.tools.mcp import server_word
from app.secrets.redaction import Redactor

log = structlog.get_logger()

_SECRET_NAME = re.compile(
    r"auth|cookie|credential|dsn|key|passphrase|passw|pat$|private|secret|session|token",
    re.IGNORECASE,
)
_SECRET_LOOK = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[A-Za-z0-9_+=~.-]{24,}|://[^/\s]*@")
_VARIABLE = re.compile(r"\$\{|^\$[A-Z_]+$")

ShortText = Annotated[str, Field(max_length=4_000)]


@dataclass(frozen=True)
class StdioServer:
    """A program that runs inside the sandbox."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpServer:
    """A server elsewhere: its host is in the operator's file, so it may be asked."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


McpServer = StdioServer | HttpServer


class Unusable(ValueError):
    """An entry cannot be used; the text says why, and what to write."""


class _ServerEntry(BaseModel):
    """One entry as other programs write it, too; what they add means nothing here."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    command: ShortText | None = None
    args: Annotated[list[ShortText], Field(max_length=100)] = []
    env: dict[str, ShortText] = {}
    type: ShortText | None = None
    url: ShortText | None = None
    headers: dict[str, ShortText] = {}
    disabled: bool = False


def read_servers(path: Path | None, redactor: Redactor) -> dict[str, McpServer]:
    """Return the servers by name; each one that is left out is named in a warning.

    A faulty file never stops Fettle: runs go on without those tools.
    """
    servers: dict[str, McpServer] = {}
    for name, entry in _entries(path).items():
        try:
            server = _server(name, _ServerEntry.model_validate(entry), redactor)
        except ValidationError as error:
            where = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
            _warn(name, f"these values are not what they should be: {where or 'the whole entry'}")
        except Unusable as error:
            _warn(name, str(error))
        else:
            if server is None:
                continue
            if server_word(name) in map(server_word, servers):
                _warn(name, "another server's name differs from it in punctuation only")
                continue
            servers[name] = server
    return servers


def _entries(path: Path | None) -> Mapping[str, Any]:
    if path is None:
        return {}
    try:
        entries = json.loads(path.read_text("utf-8"))["mcpServers"]
        return dict(entries)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        log.warning(
            "no MCP servers: the file cannot be used",
            file=str(path),
            fault=type(error).__name__,
            remedy='write {"mcpServers": {"name": {"command": ...} or {"url": ...}}}',
        )
        return {}


def _warn(name: str, why: str) -> None:
    log.warning("MCP server left out", server=name[:60], why=why)


def _server(name: str, entry: _ServerEntry, redactor: Redactor) -> McpServer | None:
    """Return the server of an entry; None for one that is switched off. Raises Unusable."""
    if entry.disabled:
        return None
    if not server_word(name):
        raise Unusable("its name has neither letters nor digits")
    if bool(entry.command) == bool(entry.url):
        raise Unusable("it needs either `command` (a program) or `url` (a server), and not both")
    if entry.command:
        return _stdio(name, entry, redactor)
    return _http(name, entry, redactor)


def _stdio(name: str, entry: _ServerEntry, redactor: Redactor) -> StdioServer:
    assert entry.command
    for variable, value in entry.env.items():
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", variable) or "\0" in value:
            raise Unusable(f"`env.{variable[:60]}` is no variable")
        if _secret(variable, value, redactor):
            raise Unusable(
                f"`env.{variable}` looks like a secret, and none ever enters the sandbox, where"
                " this program would run. Run it as an HTTP server elsewhere, and give its `url`"
            )
    argv = (entry.command, *entry.args)
    if any("\0" in each or _secret("", each, redactor) for each in argv):
        raise Unusable("its `args` hold what looks like a secret, and none enters the sandbox")
    return StdioServer(name, argv, dict(entry.env))


def _secret(name: str, value: str, redactor: Redactor) -> bool:
    looks = _SECRET_LOOK.fullmatch(value) or ("://" in value and _SECRET_LOOK.search(value))
    return bool(_SECRET_NAME.search(name) or looks or redactor.clean(value) != value)


def _http(name: str, entry: _ServerEntry, redactor: Redactor) -> HttpServer:
    assert entry.url
    if entry.type == "sse":
        raise Unusable("the transport `sse` is not spoken any more; give its streamable HTTP `url`")
    _require_address(entry.url)
    for header, value in entry.headers.items():
        if not re.fullmatch("[A-Za-z0-9-]+", header) or not value.isprintable():
            raise Unusable(f"`headers.{header[:60]}` is no header")
        if _VARIABLE.search(value):
            raise Unusable(f"`headers.{header}` names a variable; write the value itself")
    for value in entry.headers.values():
        redactor.add(value)
        redactor.add(value.rpartition(" ")[2])  # without the word `Bearer`
    return HttpServer(name, entry.url, dict(entry.headers))


def _require_address(url: str) -> None:
    """Raise Unusable unless it is https, or leads to this network and no further."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise Unusable(f"its `url` is no address ({error})") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii():
        raise Unusable("its `url` must begin with https:// and a host")
    if "@" in parts.netloc:
        raise Unusable("its `url` holds a user name; put credentials into `headers`")
    if parts.scheme == "http" and not _is_local(host):
        raise Unusable("its `url` is not encrypted; use https://")


def _is_local(host: str) -> bool:
    """Tell whether the name, as it stands, can only be one of this network."""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".internal", ".local", ".localhost", ".svc"))
