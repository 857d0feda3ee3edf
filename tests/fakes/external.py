"""Fakes of the ports Web and Toolsets: one page at every address, and tools that say the same."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.errors import ToolError
from agents.ports import Page


@dataclass
class MemoryWeb:
    """The port Web: the same page at every address."""

    text: str | None = "hello"
    """None: nothing is there."""
    kind: str = "text/plain"
    cut: bool = False
    fetched: list = field(default_factory=list)
    allowed: object = None
    """Tells of a host whether the last fetch may be redirected to it."""

    async def fetch(self, url, *, allowed):
        self.fetched.append(url)
        self.allowed = allowed
        if self.text is None:
            raise ToolError("Nothing is there.")
        return Page(url, 200, self.kind, self.text, self.cut)


@dataclass
class MemoryToolsets:
    """The port Toolsets: tools by their names, with what each may do."""

    known: dict = field(default_factory=dict)
    says: str = "done"
    faults: list = field(default_factory=list)
    """What the next calls raise after they have done their work."""
    called: list = field(default_factory=list)

    async def fetch_tools(self, policy):
        return []

    def recall(self, learned):
        pass

    def definitions(self):
        return [{"name": name} for name in sorted(self.known)]

    def effects(self, name):
        return self.known.get(name)

    async def call(self, name, arguments):
        self.called.append((name, dict(arguments)))
        if self.faults:
            raise self.faults.pop()
        return self.says

    async def close(self):
        pass
