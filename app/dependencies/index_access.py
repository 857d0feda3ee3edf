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
from app.dependencies.loopback_bridge import bridged
from app.sandbox.port import Mount, SandboxCommand

_REFUSED_SHOWN = 5

log = structlog.get_logger()


@dataclass(frozen=True)
class IndexWay:
    """The port `Way` while a proxy stands."""

    indexes: Indexes
    proxy: Proxy

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what leads the tools to their indexes, and what the operator passes on."""
        given = self.indexes.environment.items()
        return {name: value for name, value in given if not name.startswith(DROPPED)}

    @property
    def mounts(self) -> Sequence[Mount]:
        """Return the indexes that are folders of this machine."""
        return self.indexes.mounts

    def wrap(self, command: SandboxCommand) -> SandboxCommand:
        """Return the command with the way out."""
        return bridged(command, self.proxy.socket, BUNDLE)

    def refused(self) -> Sequence[str]:
        """Return what was asked for and refused, the most frequent first."""
        return [str(refusal) for refusal in self.proxy.refused[:_REFUSED_SHOWN]]


@dataclass(frozen=True)
class IndexWays:
    """Opens ways on this machine."""

    finder: IndexFinder
    owner: tuple[int, int]
    _told: set[str] = field(default_factory=set)

    @asynccontextmanager
    async def open(
        self, tools: Mapping[str, str], *, reading_alone: bool = False
    ) -> AsyncIterator[IndexWay]:
        """Find the indexes of these tools, and hold a proxy to them open.

        The operator's other hosts are reached through tunnels, where one could also send, unless
        it is for `reading_alone`. Raises ConfigError for a host in the settings that is none.
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
        ) as proxy:
            yield IndexWay(indexes, proxy)
