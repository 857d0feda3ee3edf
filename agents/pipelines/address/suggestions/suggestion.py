"""A reviewer's suggested change: parse it, and tell whether it applies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from markdown_it.token import Token

from agents.pipelines.address.suggestions.replaced import lines_of
from agents.ports import Thread
from agents.requests import Frozen
from agents.text import without_hidden
from agents.text.child_process import Exhausted, run_in_child
from agents.text.markdown import SUGGESTION, parse_blocks

_PLAIN = (SUGGESTION, f"{SUGGESTION}:-0+0")
"""How a block is named; the second says in another platform's words the same as the first."""
_ROW = ("+", "-", " ", "\\", "")  # how a line of a diff begins; an empty one lost its space
_OFFSET = re.compile(rf"{SUGGESTION}:[-+0-9]*")


class Suggestion(Frozen):
    """What a reviewer would have instead of the lines that the thread is about."""

    lines: tuple[str, ...]
    """Without line ends; empty: the thread's lines go."""
    doubt: str = ""
    """Why it is not clear what it means, so that nobody but a reader can apply it."""


class Lines(NamedTuple):
    """First and last line that a thread is about, in the head's version of the file."""

    start: int
    end: int


def read_suggestions(body: str) -> tuple[Suggestion, ...]:
    """Return the suggestions of a comment. Those in quotes and lists are talked about, not made."""
    return tuple(_suggestion(body, token) for token in parse_blocks(body) if _suggests(token))


async def read_suggestions_in_child(body: str) -> tuple[Suggestion, ...]:
    """Return the same, read beside the event loop; none of a comment that takes too much."""
    try:
        return await run_in_child(body, read_suggestions, body)
    except Exhausted:
        return ()


async def is_alone(body: str) -> bool:
    """Return whether the comment surely says nothing beside its suggestions."""
    try:
        return await run_in_child(body, has_no_other_text, body)
    except Exhausted:
        return False


def has_no_other_text(body: str) -> bool:
    """Return whether the comment says nothing beside its suggestions."""
    tokens = parse_blocks(body)
    return bool(tokens) and all(_suggests(token) for token in tokens)


def find_place(thread: Thread) -> Lines | None:
    """Return the lines that a suggestion in the thread would replace; None where there are none."""
    if thread.line is None or thread.outdated or thread.side != "RIGHT":
        return None
    start = thread.line if thread.start is None else thread.start
    return Lines(start, thread.line) if 1 <= start <= thread.line else None


def find_trouble(text: str, thread: Thread, suggestion: Suggestion) -> str:
    """Return why the suggestion does not apply cleanly to the file's text; empty where it does."""
    if suggestion.doubt:
        return suggestion.doubt
    at = find_place(thread)
    if at is None:
        return "it is about lines that the newest version of the file does not have"
    if "\0" in text:
        return "the file is binary"
    if (
        not text.isascii()
        and _has_undecoded_bytes(text)
        and not "".join(suggestion.lines).isascii()
    ):
        return "the file is not UTF-8, and the suggestion is not plain ASCII"
    return _difference(text, thread, at, suggestion)


def stand(text: str, lines: Sequence[str]) -> bool:
    """Return whether these lines stand in the file's text, one below the other."""
    there = [line.text for line in lines_of(text)]
    wanted, count = list(lines), len(lines)
    return any(there[at : at + count] == wanted for at in range(len(there) - count + 1))


def _difference(text: str, thread: Thread, at: Lines, suggestion: Suggestion) -> str:
    """Compare what stands there with what the reviewer saw, and with what they want."""
    there = [line.text for line in lines_of(text)][at.start - 1 : at.end]
    seen = _read_commented_lines(thread.hunk, at.end - at.start + 1)
    if seen is None:
        return "the part of the diff that it was written under does not show all of its lines"
    if there != seen:
        return "the lines read differently from what the reviewer saw"
    if tuple(there) == suggestion.lines:
        return "the lines read like that already"
    return ""


def _read_commented_lines(hunk: str, count: int) -> list[str] | None:
    """Return the last lines of a hunk's new side: it ends with the line that was commented on."""
    rows = hunk.removesuffix("\n").split("\n")
    # Its head, and a mark where some of it was left out, are no lines of the file.
    shown = list(takewhile(lambda row: row[:1] in _ROW, reversed(rows)))[::-1]
    if not shown or shown[-1].startswith("-"):
        return None
    new = [row[1:].removesuffix("\r") for row in shown if row[:1] not in ("-", "\\")]
    return [line.removeprefix("\ufeff") for line in new[-count:]] if len(new) >= count else None


def _has_undecoded_bytes(text: str) -> bool:
    return re.search("[\udc80-\udcff]", text) is not None


# --- reading a comment --------------------------------------------------------------------------


def _suggests(token: Token) -> bool:
    if token.type != "fence" or token.level:
        return False
    word = _word(token)
    return word == SUGGESTION or _OFFSET.fullmatch(word) is not None


def _word(token: Token) -> str:
    return (token.info.split() or [""])[0]


def _suggestion(body: str, token: Token) -> Suggestion:
    lines = tuple(token.content.split("\n")[:-1])
    return Suggestion(lines=lines, doubt=_doubt(body, token, lines))


def _doubt(body: str, token: Token, lines: Sequence[str]) -> str:
    if _word(token) not in _PLAIN:
        return "it names other lines than the thread's, which GitHub does not know"
    if not _is_fence_closed(body, token):
        return "its block is not closed, so nobody knows where it ends"
    if list(lines) == [""]:
        return "it can mean one blank line, or none at all"
    if without_hidden(token.content)[1] or "\ufffd" in token.content:
        return "it holds characters that people cannot see"
    return ""


def _is_fence_closed(body: str, token: Token) -> bool:
    first, last = token.map or (0, 0)
    lines = re.split("\r\n|\r|\n", body)[first + 1 : last]
    mark = re.escape(token.markup[0])
    closing = re.compile(rf" {{0,3}}{mark}{{{len(token.markup)},}}[ \t]*")
    return bool(lines) and closing.fullmatch(lines[-1]) is not None
