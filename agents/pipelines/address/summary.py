"""The comment that closes a batch of reviews."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.requests import Frozen
from agents.text import code_span, one_line, publish
from agents.text.outgoing import LIMIT

PLACE_LIMIT, WORDS_LIMIT, NOTE_LIMIT = 120, 160, 4_000  # characters
ANSWERS = 10  # that are shown whole
ABBREVIATED = 10  # characters of a commit's id

_HEAD = ("| Thread | Verdict | Commit | In short |", "| --- | --- | --- | --- |")
_BAR = re.compile(r"\\*\|")
_LEFT_OUT = "{count} more rows do not fit here; each thread has its answer where it was opened."


class SummaryRow(Frozen):
    """What became of one thing that somebody said."""

    place: str
    """Where it was said: untrusted."""
    url: str
    verdict: str
    """Markdown of ours."""
    commit: str = ""
    words: str = ""
    """The model's: untrusted."""
    note: str = ""
    """Why it stays open."""


def format_summary(
    first: str,
    rows: Sequence[SummaryRow],
    notes: Sequence[str],
    answers: Sequence[tuple[str, str]] = (),
    *,
    repository_url: str,
    limit: int = LIMIT,
) -> str:
    """Return the comment: its first line, the table, and the notes, which may be anybody's words.

    `answers` are to be read whole, each with who it is for. Rows that do not fit are left out, and
    it says so.
    """
    answered = [f"**To {code_span(login)}:**\n\n{words}" for login, words in answers[:ANSWERS]]
    below = [
        publish(note, repository_url=repository_url, limit=NOTE_LIMIT)
        for note in (*answered, *notes)
    ]
    room = limit - sum(len(part) + 2 for part in (first, _LEFT_OUT, *below)) - 20
    table = _take_fitting(_table(rows, repository_url), room)
    cut = len(rows) + len(_HEAD) - len(table)
    parts = [first, "\n".join(table) if rows else "", *below]
    parts.insert(2, _LEFT_OUT.format(count=cut) if rows and cut else "")
    return "\n\n".join(part for part in parts if part)


def commit_link(commit: str, repository_url: str) -> str:
    """Return a commit's id as people know it, as a link where there is something to lead to."""
    short = f"`{commit[:ABBREVIATED]}`"
    return f"[{short}]({repository_url}/commit/{commit})" if repository_url else short


def _table(rows: Sequence[SummaryRow], repository_url: str) -> list[str]:
    """Return the table's lines. Read and written as a table, no cell of it can leave its place."""
    lines = [*_HEAD, *(_row(row, repository_url) for row in rows)]
    safe = publish("\n".join(lines), repository_url=repository_url, limit=10 * LIMIT).split("\n")
    assert len(safe) == len(lines), "a cell of one line stays one"
    return safe


def _row(row: SummaryRow, repository_url: str) -> str:
    place = code_span(one_line(row.place, PLACE_LIMIT))
    words = one_line(row.words, WORDS_LIMIT)
    note = one_line(row.note, WORDS_LIMIT)
    cells = (
        f"[{place}]({row.url})" if row.url else place,
        row.verdict,
        commit_link(row.commit, repository_url) if row.commit else "",
        f"{words} (open: {note})" if note else words,
    )
    # Several backslashes before a bar are read in different ways, a single one is not.
    escaped = (_BAR.sub(r"\|", cell) for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _take_fitting(lines: Sequence[str], room: int) -> list[str]:
    """Return the lines from the first on that fit."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept
