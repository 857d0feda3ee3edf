"""Replace lines of a file, and leave every other byte as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_MARK = "\ufeff"  # some programs begin UTF-8 with it; it belongs to no line


class CountedLine(NamedTuple):
    """A line as git counts it, and how it ends."""

    text: str
    end: str


class Replacement(NamedTuple):
    """What should stand instead of the lines from `start` to `end`, counted from 1."""

    start: int
    end: int
    lines: Sequence[str]


def lines_of(text: str) -> list[CountedLine]:
    """Return the lines of a file, whichever way each of them ends; the last one may not."""
    parts = text.removeprefix(_MARK).split("\n")
    last = parts.pop()
    lines = [_line(part) for part in parts]
    return [*lines, CountedLine(last, "")] if last else lines


def replace_lines(text: str, replacements: Iterable[Replacement]) -> str:
    """Return the text with these lines replaced, all counted as they are in `text`.

    They must not overlap. New lines end as the first of the old ones did, and a file that ended
    without a line end still does.
    """
    lines = lines_of(text)
    usual = next((line.end for line in lines if line.end), "\n")
    for start, end, new in sorted(replacements, reverse=True):
        old = lines[start - 1 : end]
        ending = old[0].end or usual
        written = [CountedLine(each, ending) for each in new]
        if written and not old[-1].end:
            written[-1] = CountedLine(written[-1].text, "")
        lines[start - 1 : end] = written
    mark = _MARK if text.startswith(_MARK) else ""
    return mark + "".join(line.text + line.end for line in lines)


def _line(part: str) -> CountedLine:
    return CountedLine(part[:-1], "\r\n") if part.endswith("\r") else CountedLine(part, "\n")
