"""Access of one set-up to the package indexes, through a proxy of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import structlog

from app.dependencies.index_proxy import BUNDLE, Proxy, open_proxy
from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.result import Indexes
from app.dependencies.layout import DROPPED
from app.dependencies.loopback_bridge import bridge
from app.sandbox.port import Mount, SandboxCommand

_REFUSED_SHOWN = 5

log = structlog.get_logger()


@dataclass(frozen=True)
class IndexWay:
    """The port `Way` while its proxy runs."""

    indexes: Indexes
    proxy: Proxy

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables that lead tools to their indexes, and those the operator passes."""
        given = self.indexes.environment.items()
        return {name: value for name, value in given if not name.startswith(DROPPED)}

    @property
    def mounts(self) -> Sequence[Mount]:
        """Return the mounts of indexes that are local folders."""
        return self.indexes.mounts

    def wrap(self, command: SandboxCommand) -> SandboxCommand:
        """Return the command with the proxy on its loopback."""
        return bridge(command, self.proxy.socket, BUNDLE)

    def list_refusals(self) -> Sequence[str]:
        """Return the refused requests, the most frequent first."""
        return [str(refusal) for refusal in self.proxy.refused[:_REFUSED_SHOWN]]


@dataclass(frozen=True)
class IndexWays:
    """Opens access to package indexes on this machine."""

    finder: IndexFinder
    owner: tuple[int, int]
    _told: set[str] = field(default_factory=set)

    @asynccontextmanager
    async def open(
        self, tools: Mapping[str, str], *, reading_alone: bool = False
    ) -> AsyncIterator[IndexWay]:
        """Find the indexes of these tools, and run a proxy to them.

        The operator's other hosts are reached through tunnels, which could also send data out,
        unless `reading_alone` is set. Raises ConfigError for a malformed host in the settings.
        """
        indexes = await self.finder.find(tools)
        for note in indexes.notes:  # for the operator alone: they tell where indexes are
            if note not in self._told:
                self._told.add(note)
                log.info("about the package indexes", note=note)
        async with open_proxy(
            [replace(o, tunnel=o.tunnel and not reading_alone) for o in indexes.allowed],
            self.owner,
            certificates=indexes.certificates,
            files=indexes.files,
            outbound=self.finder.outbound,
        ) as proxy:
            yield IndexWay(indexes, proxy)
