"""The tool `glob`, which lists files by a pattern of their path."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from agents.tools.base import Bench, Effect, Tool
from agents.tools.files import run_ripgrep
from agents.tools.paths import ROOT

FOOTER = 200  # characters kept free for the closing line


class Glob(Tool):
    """List the files whose path matches a pattern.

    `**` goes across folders: `src/**`, `**/test_*`. A pattern without a slash matches in every
    folder. Git-ignored files are left out.
    """

    name: ClassVar[str] = "glob"
    effect: ClassVar[Effect] = Effect.READ

    pattern: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^!]")]
    max_results: int = Field(default=200, ge=1, le=2000)

    def subject(self) -> str:
        """Return the pattern."""
        return self.pattern

    async def run(self, bench: Bench) -> str:
        """Return the paths, and whether there are more."""
        pattern = self.pattern.removeprefix(f"{ROOT}/").removeprefix("./")
        files = await run_ripgrep(bench.tree, ["--files", f"--glob={pattern}"])
        if not files:
            return "No file matches."
        shown = self._take_fitting(files)
        if len(shown) < len(files):
            shown.append(f"[{len(shown)} files shown, there are more: narrow the pattern]")
        return "\n".join(shown)

    def _take_fitting(self, files: list[str]) -> list[str]:
        shown: list[str] = []
        left = self.room - FOOTER
        for file in files[: self.max_results]:
            left -= len(file) + 1
            if left < 0:
                break
            shown.append(file)
        return shown
