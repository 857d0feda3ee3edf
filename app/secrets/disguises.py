"""Decode a text (entities, percent signs, line wraps, invisible characters) to find secrets in it.

A view knows of each of its characters where it stands in the text that it was made of.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from agents.text.characters import HIDDEN, JOINER

_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_PERCENT = r"(?:%[0-9a-fA-F]{2})+"
_BACKSLASH = r"\\(?=[!-/:-@\[-`{-~])"  # Markdown shows what follows and nothing of it
_INVISIBLE = re.compile(
    "|".join((re.escape(JOINER), HIDDEN["zero-width characters"].pattern))
    + "|[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f]"
)
_WRITTEN = re.compile(f"{_ENTITY}|{_PERCENT}|{_BACKSLASH}|{_INVISIBLE.pattern}")
_WRAP = re.compile(
    r"""(?<=[A-Za-z0-9+/=_.-])["'`]?[ \t]*(?:\\n|\\?\r?\n)[ \t>|#*+"'`]*(?=[A-Za-z0-9+/=_.-])"""
)
DEEPEST = 3
"""So often something may be encoded within something encoded."""


@dataclass(frozen=True)
class View:
    """A text made of another one, and where each of its characters comes from."""

    text: str
    starts: tuple[int, ...] | range
    ends: tuple[int, ...] | range

    def find_source(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters from `start` to before `end` stand in the first text."""
        return self.starts[start], self.ends[end - 1]


def list_views(text: str) -> Iterator[View]:
    """Yield the views that differ from the text: decoded, and decoded without ends of lines."""
    view = View(text, range(len(text)), range(1, len(text) + 1))
    for _ in range(DEEPEST if _may_be_written(text) else 0):
        decoded = _replace(view, _WRITTEN, _decode)
        if decoded is None:
            break
        yield decoded
        view = decoded
    if (unwrapped := _replace(view, _WRAP, lambda _: "")) is not None:
        yield unwrapped


def _may_be_written(text: str) -> bool:
    """Tell at little cost whether anything may be encoded, as in most lines of a log it is not."""
    return not text.isascii() or any(sign in text for sign in "&%\\")


def _decode(written: str) -> str:
    if written.startswith("&"):
        return html.unescape(written)
    return unquote(written, errors="replace") if written.startswith("%") else ""


def _replace(view: View, pattern: re.Pattern[str], put: Callable[[str], str]) -> View | None:
    """Return the view with something else for each match; None where nothing matches."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for found in pattern.finditer(view.text):
        first, last = found.span()
        new = put(found[0])
        parts += [view.text[at:first], new]
        starts += [*view.starts[at:first], *([view.starts[first]] * len(new))]
        ends += [*view.ends[at:first], *([view.ends[last - 1]] * len(new))]
        at = last
    if not at:
        return None
    parts.append(view.text[at:])
    return View("".join(parts), (*starts, *view.starts[at:]), (*ends, *view.ends[at:]))
