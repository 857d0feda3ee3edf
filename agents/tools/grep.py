"""The tool `grep`, which finds lines that match a pattern."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from agents.tools.base import Bench, Effect, Tool
from agents.tools.files import run_ripgrep
from agents.tools.paths import RepositoryPath

FOOTER = 200  # characters kept free for the closing line
_MATCH = re.compile(r".+?:\d+:")


class Grep(Tool):
    r"""Search files for a regular expression (Rust syntax, line by line).

    Returns `path:line:text`; with `around`, neighbouring lines as `path-line-text`. Git-ignored and
    binary files are left out. Escape what is literal: `foo\(`.
    """

    name: ClassVar[str] = "grep"
    effect: ClassVar[Effect] = Effect.READ
    room: ClassVar[int] = 15_000

    pattern: str = Field(min_length=1)
    path: RepositoryPath = "."
    glob: str = ""
    """Only files that match this; a leading `!` excludes."""
    ignore_case: bool = False
    around: int = Field(default=0, ge=0, le=20)
    """Lines to show before and after each match."""
    max_results: int = Field(default=100, ge=1, le=1000)

    def subject(self) -> str:
        """Return the pattern and where it is searched for."""
        place = self.glob or ("" if self.path == "." else self.path)
        return f"{self.pattern} in {place}" if place else self.pattern

    def paths(self) -> tuple[str, ...]:
        """Return where it searches."""
        return (self.path,)

    async def run(self, bench: Bench) -> str:
        """Return the matching lines, and whether there are more."""
        lines = await run_ripgrep(bench.tree, self._options(), self.path)
        if not lines:
            return "No match."
        shown = self._take_fitting(lines)
        if len(shown) < len(lines):
            count = sum(map(_is_match, shown))
            shown.append(f"[{count} matches shown, there are more: narrow pattern, glob or path]")
        return "\n".join(shown)

    def _options(self) -> list[str]:
        options = ["--line-number", "--no-heading", "--with-filename"]
        options += ["--max-columns=300", "--max-columns-preview", f"--context={self.around}"]
        options += [f"--glob={self.glob}"] if self.glob else []
        options += ["--ignore-case"] if self.ignore_case else []
        return [*options, f"--regexp={self.pattern}"]

    def _take_fitting(self, lines: list[str]) -> list[str]:
        """Return as many lines as were asked for and have room."""
        shown: list[str] = []
        left, matches = self.room - FOOTER, 0
        for line in lines:
            left -= len(line) + 1
            matches += _is_match(line)
            if left < 0 or matches > self.max_results:
                break
            shown.append(line)
        return shown


def _is_match(line: str) -> bool:
    return _MATCH.match(line) is not None
