"""The ports for everything outside the sandbox: the web, GitHub's data, MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agents.policy import Policy
from agents.ports.json_types import Json


@dataclass(frozen=True)
class Page:
    """What was found at a web address."""

    url: str
    """Where it came from in the end, after redirects."""
    status: int
    kind: str
    """The media type, like `text/html`."""
    text: str
    """Decoded, at most 50 KB; markup already turned into plain text."""
    cut: bool
    """There was more."""


class Web(Protocol):
    """Fetches public pages, checked hop by hop."""

    async def fetch(self, url: str, *, allowed: Callable[[str], bool]) -> Page:
        """Return the page; ToolError when the address, a redirect, or the content is refused.

        `allowed` says of a host name whether a redirect may lead there.
        """
        ...


class RepositoryReads(Protocol):
    """Reads the run's own repository on GitHub; the token stays on our side."""

    async def read(self, verb: str, arguments: Mapping[str, Json]) -> str:
        """Return what one of the typed read verbs of the tool `gh` finds, as text.

        Raises ToolError when there is no such thing, or the run has no GitHub.
        """
        ...


@dataclass(frozen=True)
class ToolEffects:
    """What a call of another server's tool may do."""

    only_reads: bool
    """The server says of the tool that it changes nothing."""
    outside: bool
    """What the call says leaves this machine."""


class Toolsets(Protocol):
    """Tools of other servers (MCP), as they were when the run began."""

    async def fetch_tools(self, policy: Policy) -> Json:
        """Ask the servers that the policy names for their tools; return them as a JSON value.

        Of a server that does not answer there are none. The run keeps the value, and gives it back
        to every later process: tools stand first in what the model's server caches.
        """
        ...

    def recall(self, learned: Json) -> None:
        """Take the tools to be what `fetch_tools` returned, then or in an earlier process."""
        ...

    def definitions(self) -> Sequence[Mapping[str, Json]]:
        """Return their Messages-API definitions, sorted by name."""
        ...

    def effects(self, name: str) -> ToolEffects | None:
        """Return what a call of this tool may do; None when there is no such tool."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Json]) -> str:
        """Call one of them and return what it says as text; ToolError when that fails."""
        ...

    async def close(self) -> None:
        """Let go of the servers; a later call finds them again."""
        ...
