"""The tool `write`, which writes a whole file."""

from __future__ import annotations

from typing import ClassVar

from agents.errors import ToolError
from agents.tools.base import Bench, Effect, Tool
from agents.tools.files import LARGEST, TextFile, decode
from agents.tools.paths import RepositoryPath


class Write(Tool):
    """Create a file, or replace all of its content; for parts of a file use edit."""

    name: ClassVar[str] = "write"
    effect: ClassVar[Effect] = Effect.WRITE

    path: RepositoryPath
    content: str

    def subject(self) -> str:
        """Return the path."""
        return self.path

    def paths(self) -> tuple[str, ...]:
        """Return the file."""
        return (self.path,)

    async def run(self, bench: Bench) -> str:
        """Write it; tell how it was before."""
        old = await self._find_existing(bench)
        file = old or TextFile(self.content)
        text = self.content
        if old is not None and old.newline == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        await bench.tree.write(self.path, file.encode(text))
        lines = len(TextFile(text).lines)
        count = "1 line" if lines == 1 else f"{lines} lines"
        if old is None:
            return f"Created {self.path} ({count})."
        kept = f" Kept: {old.peculiarities}." if old.peculiarities else ""
        return f"Replaced {self.path} ({count}, before {len(old.lines)}).{kept}"

    async def _find_existing(self, bench: Bench) -> TextFile | None:
        """Return the text file that is there; None if there is none."""
        try:
            return decode(self.path, await bench.tree.read(self.path, limit=LARGEST))
        except ToolError:
            return None
