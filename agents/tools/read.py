"""The tool `read`, which returns a file's lines with their numbers."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from agents.errors import ToolError
from agents.tools.base import Bench, Effect, Tool
from agents.tools.files import TextFile, load
from agents.tools.paths import RepositoryPath

LINE = 1_000  # characters of one line that are shown
FOOTER = 300  # characters kept free for the closing line


class Read(Tool):
    """Read a text file, as numbered lines: number, tab, text.

    About 700 lines fit into one answer. Prefer one large read over many small ones.
    """

    name: ClassVar[str] = "read"
    effect: ClassVar[Effect] = Effect.READ
    room: ClassVar[int] = 30_000

    path: RepositoryPath
    """Relative to the repository's root."""
    offset: int = Field(default=1, ge=1)
    """The first line to show."""
    limit: int = Field(default=2000, ge=1)
    """Lines at most."""

    def subject(self) -> str:
        """Return the path, with the first line if it is not the first."""
        return self.path if self.offset == 1 else f"{self.path}:{self.offset}"

    def paths(self) -> tuple[str, ...]:
        """Return the file."""
        return (self.path,)

    async def run(self, bench: Bench) -> str:
        """Return the numbered lines, and where to go on if there are more."""
        file = await load(bench.tree, self.path)
        lines = file.lines
        if self.offset > max(len(lines), 1):
            raise ToolError(f"{self.path} has only {len(lines)} lines.")
        shown = self._take_fitting(lines)
        return "\n".join([*shown, *self._notes(file, len(lines), self.offset - 1 + len(shown))])

    def _take_fitting(self, lines: list[str]) -> list[str]:
        """Return as many numbered lines as were asked for and have room."""
        shown: list[str] = []
        left = self.room - FOOTER
        start = self.offset - 1
        for number, line in enumerate(lines[start : start + self.limit], self.offset):
            text = f"{number:>6}\t{_clip(line)}"
            left -= len(text) + 1
            if left < 0:
                break
            shown.append(text)
        return shown

    def _notes(self, file: TextFile, count: int, last: int) -> list[str]:
        notes = []
        if count == 0:
            notes.append("the file is empty")
        if last < count:
            notes.append(f"lines {self.offset}-{last} of {count}; go on with offset={last + 1}")
        if file.peculiarities:
            notes.append(file.peculiarities)
        return [f"[{'; '.join(notes)}]"] if notes else []


def _clip(line: str) -> str:
    if len(line) <= LINE:
        return line
    return f"{line[:LINE]} […{len(line) - LINE} more characters in this line]"
