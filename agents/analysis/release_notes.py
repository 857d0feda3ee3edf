"""Find what a package's own changelog says of the releases between two versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

MOST_LINES = 40
"""Of an excerpt: nobody reads more beside a change."""
LONGEST_LINE = 300
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-.+]?[0-9A-Za-z]+)*")
_HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s|(?:\*\*|\[|version\s|release\s|v)*\d+\.\d)", re.IGNORECASE
)
_UNDERLINE = re.compile(r"\s{0,3}(?:={3,}|-{3,}|~{3,}|\^{3,})\s*")


def extract_notes(changelog: str, old: str, new: str) -> str:
    """Return the sections of the releases after `old` up to `new`, newest first, cut to size.

    Where the changelog has no heading for `old`, or begins with its oldest release, the section of
    `new` alone; empty where it has none for that either.
    """
    lines = changelog.replace("\r\n", "\n").split("\n")
    headings = list(_list_headings(lines))
    start = next((at for at, named in headings if named == new), None)
    if start is None:
        return ""
    later = [(at, named) for at, named in headings if at > start]
    end = next((at for at, named in later if named == old), None)
    if end is None:
        end = next((at for at, _ in later), len(lines))
    return cut_notes(lines[start:end])


def cut_notes(lines: Sequence[str]) -> str:
    """Return the first of these lines as one text, none of them longer than people read."""
    found = [line.rstrip()[:LONGEST_LINE] for line in lines]
    text = "\n".join(found[:MOST_LINES]).strip()
    return f"{text}\n[…]" if len(found) > MOST_LINES else text


def _list_headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines that begin a release's section, each with the first version in it."""
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        begins = _HEADING.match(line) or (line.strip() and _UNDERLINE.fullmatch(below))
        named = _VERSION.search(line[:LONGEST_LINE]) if begins else None
        if named:
            yield at, named[0]
