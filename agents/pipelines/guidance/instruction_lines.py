"""The repository's file of instructions, and lines that are added to it."""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import ToolError
from agents.pipelines.stages.onboarding import NEARBY
from agents.run import StageContext

HEADING = "## What reviewers ask for"
LARGEST = 200_000  # bytes of a file that lines are added to


async def find_file(run: StageContext) -> str:
    """Return the path of the file that the lines are for: one of those that agents read."""
    present = set(await run.ports.source.files(run.trunk))
    return next((path for path in NEARBY if path in present), NEARBY[0])


async def read_file(run: StageContext, path: str) -> str | None:
    """Return the file's text, empty where it is to be begun; None where nothing can be added.

    A symbolic link, say, would be replaced by a file of its own.
    """
    if path not in await run.ports.source.files(run.trunk):
        return ""
    try:
        return (await (await run.tree()).read(path, limit=LARGEST)).decode("utf-8")
    except (ToolError, UnicodeDecodeError):
        return None


def add_lines(text: str, lines: Sequence[str]) -> str:
    """Return the text with the lines in the section about reviewers, which is begun if need be."""
    end = "\r\n" if "\r\n" in text else "\n"
    standing = text.replace("\r\n", "\n").split("\n")
    added = [f"- {line}" for line in lines]
    places = [
        at for at, line in enumerate(standing) if line.strip().casefold() == HEADING.casefold()
    ]
    if not places:
        while standing and not standing[-1].strip():
            standing.pop()
        return end.join([*standing, *([""] if standing else []), HEADING, "", *added, ""])
    at = _find_end(standing, places[0] + 1)
    return end.join([*standing[:at], *added, *standing[at:]])


def _find_end(lines: Sequence[str], start: int) -> int:
    """Return after which line the section ends that has its first one at `start`."""
    after = next((at for at in range(start, len(lines)) if _begins(lines[at])), len(lines))
    while after > start and not lines[after - 1].strip():
        after -= 1
    return after


def _begins(line: str) -> bool:
    return line.startswith(("# ", "## "))
