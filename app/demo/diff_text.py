"""Print a diff in the terminal: coloured, without lock files' noise, of limited length."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from agents.text import printable
from app.simulator.github.patches import FileChange, parse_diff

LONGEST = 160  # lines
COLOURS = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


def diff_text(diff: str, longest: int = LONGEST) -> Text:
    """Return a unified diff as text of at most so many lines and one that counts the rest."""
    lines = list(_lines(diff))
    shown = lines[:longest]
    if hidden := len(lines) - len(shown):
        shown.append(Text(f"... {hidden:,} more lines", "dim italic"))
    return Text("\n").join(shown)


def _lines(diff: str) -> Iterator[Text]:
    for number, change in enumerate(parse_diff(diff)):
        if number:
            yield Text()
        yield _heading(change)
        for line in (change.patch or "(binary)").splitlines():
            shown = printable(line).replace("\t", "    ")
            yield Text(shown, COLOURS.get(line[:1], ""))


def _heading(change: FileChange) -> Text:
    name = f"{change.previous} -> {change.path}" if change.previous else change.path
    return Text.assemble(
        (printable(name), "bold"),
        "  ",
        (f"+{change.additions}", "green"),
        " ",
        (f"-{change.deletions}", "red"),
        ("" if change.status == "modified" else f"  {change.status}", "dim"),
    )
