"""The tool `edit`, which replaces exact text in a file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import StringConstraints

from agents.errors import ToolError
from agents.tools.base import Bench, Effect, Tool
from agents.tools.files import TextFile, load
from agents.tools.paths import RepositoryPath

LISTED = 10  # places that are named
COMPARED = 5_000  # lines that are searched for something similar
SHOWN = 300  # characters of a similar line that are shown


class Edit(Tool):
    """Replace text in a file.

    `old` must be there exactly as given, and once: take in neighbouring lines until it is, or set
    `replace_all`. Leave out the line numbers of read, and write plain line breaks.
    """

    name: ClassVar[str] = "edit"
    effect: ClassVar[Effect] = Effect.WRITE

    path: RepositoryPath
    old: Annotated[str, StringConstraints(min_length=1)]
    new: str
    """Empty to delete."""
    replace_all: bool = False

    def subject(self) -> str:
        """Return the path."""
        return self.path

    def paths(self) -> tuple[str, ...]:
        """Return the file."""
        return (self.path,)

    async def run(self, bench: Bench) -> str:
        """Replace it; tell where."""
        if self.old == self.new:
            raise ToolError("`old` and `new` are the same: there is nothing to change.")
        file = await load(bench.tree, self.path)
        places = list(self._places(file.text))
        self._check(file, places)
        await bench.tree.write(self.path, file.encode(self._replace(file, places)))
        numbers = _line_numbers(file.text, places)
        return f"Replaced {_count(len(places))} in {self.path} ({numbers})."

    def _places(self, text: str) -> Iterator[re.Match[str]]:
        """Yield where `old` stands; its line breaks match either kind."""
        lines = self.old.replace("\r\n", "\n").split("\n")
        return re.finditer("\r?\n".join(map(re.escape, lines)), text)

    def _check(self, file: TextFile, places: list[re.Match[str]]) -> None:
        if not places:
            raise ToolError(f"`old` is not in {self.path}. {_find_nearest(file.lines, self.old)}")
        if len(places) > 1 and not self.replace_all:
            numbers = _line_numbers(file.text, places)
            raise ToolError(
                f"`old` is in {self.path} {_count(len(places))} ({numbers})."
                " Take in neighbouring lines so that it fits one place, or set replace_all."
            )

    def _replace(self, file: TextFile, places: list[re.Match[str]]) -> str:
        parts, end = [], 0
        for place in places:
            newline = _newline_of(place[0]) or file.newline
            new = self.new.replace("\r\n", "\n").replace("\n", newline)
            parts += [file.text[end : place.start()], new]
            end = place.end()
        return "".join([*parts, file.text[end:]])


def _newline_of(text: str) -> str | None:
    if "\n" not in text:
        return None
    return "\r\n" if "\r\n" in text else "\n"


def _count(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _line_numbers(text: str, places: list[re.Match[str]]) -> str:
    numbers = [str(text.count("\n", 0, place.start()) + 1) for place in places[:LISTED]]
    more = ", …" if len(places) > LISTED else ""
    return f"{'line' if len(places) == 1 else 'lines'} {', '.join(numbers)}{more}"


def _find_nearest(lines: list[str], old: str) -> str:
    """Return the part of the file that is most like `old`, and how it differs if only in space."""
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    start = _similar(lines, wanted)
    if start is None:
        return "Nothing in it is similar; read the file again."
    found = lines[start : start + len(wanted)]
    shown = "\n".join(f"{start + 1 + n:>6}\t{line[:SHOWN]}" for n, line in enumerate(found))
    if [line.split() for line in found] == [line.split() for line in wanted]:
        return f"These lines differ from it in white space only:\n{shown}"
    return f"Most similar are these lines:\n{shown}"


def _similar(lines: list[str], wanted: list[str]) -> int | None:
    """Return the index where the lines most like `wanted` begin; its longest line leads there."""
    anchor = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()))
    bare = [line.strip() for line in lines[:COMPARED]]
    target = wanted[anchor].strip()
    close = [target] if target in bare else difflib.get_close_matches(target, bare, n=1)
    return max(bare.index(close[0]) - anchor, 0) if close and target else None
