"""Write text as literal Markdown, so that nothing in it is markup.

For what people decide on: they must see all that is there, and nothing that is not.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_LETTERS = 5

_INDENT = "    "
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_LINE_END_SPACE = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LOOKS_LATIN = re.compile(
    r"(?:CYRILLIC|GREEK|ARMENIAN|CHEROKEE|LISU|COPTIC|FULLWIDTH|MATHEMATICAL|LATIN LETTER SMALL)\b"
)


@dataclass(frozen=True)
class Literal:
    """Named values as people read them."""

    text: str
    """All of it, to be shown as it is, each value in lines of its own below its name.

    A text stands there as it is; whatever else, and the empty text, is JSON, and said to be.
    """
    raw: str
    """Every text in it, as it is, one after another."""
    escaped: int
    """How many characters are written as escapes."""
    letters: tuple[str, ...]
    """What is easily taken for a Latin letter, and what it is in truth."""


def literal(values: Any) -> Literal:
    """Return JSON values, mostly the arguments of a call, so that nothing in them hides."""
    named = values.items() if isinstance(values, dict) else [("arguments", values)]
    text = "\n".join(f"{_name(name)}{_value(value)}" for name, value in named)
    raw = "\n".join(_strings(values))
    return Literal(
        text or "(no arguments)", raw, sum(map(_is_invisible, raw)), tuple(_letters(raw))
    )


def to_literal(text: str) -> str:
    """Return a text as one line in which nothing hides."""
    return _escape_hidden(text).replace("\n", "\\n")


def _name(name: str) -> str:
    """Return a name as it is, or as JSON where it could look like more than a name."""
    return (
        name
        if _PLAIN_NAME.fullmatch(name)
        else _escape_hidden(json.dumps(name, ensure_ascii=False))
    )


def _value(value: Any) -> str:
    """Return a value in indented lines: no value can pose as another one's name."""
    plain = isinstance(value, str) and value
    written = _escape_hidden(value if plain else json.dumps(value, indent=2, ensure_ascii=False))
    lines = (f"{_INDENT}{line}" if line else "" for line in written.split("\n"))
    return "\n".join([":" if plain else " (JSON):", *lines])


def _escape_hidden(text: str) -> str:
    seen = "".join(_escape(char) if _is_invisible(char) else char for char in text)
    seen = _LINE_END_SPACE.sub(lambda found: "".join(map(_escape, found[0])), seen)
    return f"{seen[:-1]}\\n" if seen.endswith("\n") else seen


def _is_invisible(char: str) -> bool:
    """Tell whether nobody can see the character, or see what it is."""
    if char in " \n\t":
        return False
    blank = char in _BLANK_LETTERS or _SELECTORS.match(char) is not None
    # controls, formats, halves, unassigned ones; spaces of all widths
    return blank or unicodedata.category(char)[0] in "CZ"


def _escape(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return {"\t": "\\t", "\r": "\\r"}.get(char, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _letters(text: str) -> Iterator[str]:
    """Name the first few letters that look like Latin ones and are not."""
    found = (char for char in dict.fromkeys(text) if char.isalpha() and not char.isascii())
    strange = [char for char in found if _LOOKS_LATIN.match(unicodedata.name(char, ""))]
    for char in strange[:MOST_LETTERS]:
        yield f"`{char}` is U+{ord(char):04X} {unicodedata.name(char)}"


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
