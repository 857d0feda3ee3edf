"""Lines of text: titles and commit messages safe to publish, long results cut between lines."""

from __future__ import annotations

import re

from agents.text.actions import AllowedEffects, find_closings, find_triggers, split_pieces
from agents.text.characters import JOINER, plain_output, without_hidden

# https://docs.github.com/actions/managing-workflow-runs/skipping-workflow-runs
_SKIPS = re.compile(
    r"(?<=\[)(?=(?:skip ci|ci skip|no ci|skip actions|actions skip)\])|^(?=skip-checks\s*:)"
    r"|(?<=\*\*\*)(?=NO_CI\*\*\*)",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILER = re.compile(
    r"^(?P<key>[A-Za-z][A-Za-z-]*-by|Fettle-[A-Za-z]+|Change-Id)(?=\s*:)", re.MULTILINE
)


def one_line(text: str, limit: int, *, closes: frozenset[int] = frozenset()) -> str:
    """Return the text as a title or a commit's subject: one line that sets nothing off.

    Word joiners count into the limit of characters.
    """
    return _shorten(_defuse_line(" ".join(_normalize_line_ends(text).split()), closes), limit)


def split_title(text: str) -> tuple[str, str]:
    """Return title and body of an issue file: its first line, a heading or not, is the title."""
    first, _, body = text.strip().partition("\n")
    return first.lstrip("# ").strip(), body.strip()


def commit_text(text: str, limit: int = 10_000, *, closes: frozenset[int] = frozenset()) -> str:
    """Return the text as a commit's body, without mentions, closings, trailers or CI switches."""
    lines = [line.rstrip() for line in _normalize_line_ends(text).strip().split("\n")]
    defused = _defuse_line("\n".join(lines), closes)
    return _shorten(_TRAILER.sub(rf"\g<key>{JOINER}", defused), limit)


def quiet_in_commits(markdown: str) -> str:
    """Return published Markdown so that it sets nothing off as a commit's message either.

    GitHub makes one of a pull request's description when it is squashed; what is code in the one
    is plain text in the other.
    """
    for at in reversed(find_closings(markdown, AllowedEffects())):
        markdown = f"{markdown[:at]}{JOINER}{markdown[at:]}"
    return _TRAILER.sub(rf"\g<key>{JOINER}", _SKIPS.sub(JOINER, markdown))


def _normalize_line_ends(text: str) -> str:
    text = re.sub("\r\n?|[\u2028\u2029\v\f\x85]", "\n", plain_output(text.replace("\r\n", "\n")))
    return without_hidden(text)[0]


def _defuse_line(text: str, closes: frozenset[int]) -> str:
    allowed = AllowedEffects(closes=closes)
    for at in reversed(find_triggers(text, allowed)):
        text = f"{text[:at]}{JOINER}{text[at:]}"
    text = "".join(_plain(piece.kind, piece.text) for piece in split_pieces(text, allowed))
    return _SKIPS.sub(JOINER, text)


def _plain(kind: str, text: str) -> str:
    """Return a part of the text where no code can be written: references are broken up instead."""
    if kind != "code" or "://" in text or text.lower().startswith("www."):
        return text
    return re.sub("(?=[#@])", JOINER, text)


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def truncate(text: str, room: int, rest: str) -> str:
    """Return the text if it fits into `room` characters, else its head and tail.

    The line in between says how much is left out, and with `rest` how to get at it.
    """
    if len(text) <= room:
        return text
    half = room // 2
    head, tail = text[:half], text[-half:]
    if "\n" in head[half // 2 :]:
        head = head[: head.rindex("\n")]
    if "\n" in tail[: half // 2]:
        tail = tail[tail.index("\n") + 1 :]
    missing = text[len(head) : len(text) - len(tail)]
    lines = missing.count("\n")
    return f"{head}\n[… {len(missing):,} characters ({lines:,} lines) left out; {rest} …]\n{tail}"
