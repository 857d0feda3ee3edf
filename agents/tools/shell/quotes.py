"""Quote removal, brace expansion and field splitting, as bash does them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from agents.tools.shell.variables import UNKNOWN

BARE, QUOTED, SPLIT, BREAK = "bare", "quoted", "split", "break"

MOST_FIELDS = 64
MOST_BRACES = 16  # in one word
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}


class Piece(NamedTuple):
    """A part of a word: bare text, quoted text, an unquoted value to be split, or a field's end."""

    text: str
    kind: str


def unescape(text: str) -> list[Piece]:
    """Return bare text as pieces: what follows a backslash is quoted by it."""
    pieces = []
    for at, part in enumerate(re.split(r"\\(.|$)", text, flags=re.DOTALL)):
        if part and part != "\n" * (at % 2):
            pieces.append(Piece(part, QUOTED if at % 2 else BARE))
    return pieces


def unquote(text: str) -> str:
    """Return text that stood between double quotes."""
    return re.sub(r"\\([$`\"\\\n])", lambda found: found[1].strip("\n"), text)


def ansi_c(text: str) -> str:
    """Return text that stood between `$'` and `'`."""

    def character(found: re.Match[str]) -> str:
        if digits := found[1] or found[2] or found[3]:
            return _character(int(digits, 16))
        if found[4]:
            return _character(int(found[4], 8) & 0xFF)
        if found[5]:
            return _character(ord(found[5].upper()) & 0x1F)
        return _NAMED.get(found[6], found[6])

    return _ESCAPE.sub(character, text)


def _character(number: int) -> str:
    if number == 0 or number > 0x10FFFF or 0xD800 <= number < 0xE000:
        return ""  # a NUL ends the word in bash; no command holds the others
    return chr(number)


def expand_braces(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the words that brace expansion makes of one."""
    opening = sum(piece.text.count("{") for piece in pieces if piece.kind == BARE)
    if opening == 0:
        return [list(pieces)]
    if opening > MOST_BRACES:
        return [[Piece(UNKNOWN, QUOTED)]]
    cells = [
        Piece(char, piece.kind)
        for piece in pieces
        for char in (piece.text if piece.kind == BARE else [piece.text])
    ]
    return _open(cells, MOST_FIELDS)


def _open(cells: list[Piece], most: int) -> list[list[Piece]]:
    """Open the first pair of braces that holds alternatives, then those in what comes of it."""
    for start, cell in enumerate(cells):
        if cell == ("{", BARE) and (parts := _alternatives(cells, start)):
            inside, end = parts
            opened: list[list[Piece]] = []
            for part in inside:
                if len(opened) >= most:
                    break
                opened += _open([*cells[:start], *part, *cells[end:]], most - len(opened))
            return opened[:most]
    return [cells]


def _alternatives(cells: list[Piece], start: int) -> tuple[list[list[Piece]], int] | None:
    """Return what stands between the commas after `start`, and the index after the brace."""
    depth, parts, part = 0, [], list[Piece]()
    for at in range(start, len(cells)):
        cell = cells[at]
        if cell == ("{", BARE):
            depth += 1
        elif cell == ("}", BARE):
            depth -= 1
        if depth == 0:
            parts.append(part)
            return (parts, at + 1) if len(parts) > 1 else _range(part, at + 1)
        if cell == (",", BARE) and depth == 1:
            parts.append(part)
            part = []
        elif at > start:
            part.append(cell)
    return None


def _range(part: list[Piece], end: int) -> tuple[list[list[Piece]], int] | None:
    found = _RANGE.fullmatch("".join(cell.text for cell in part))
    if found is None:
        return None
    if found[1].isalpha() and found[2].isalpha():
        first, last = ord(found[1]), ord(found[2])
        names = [chr(number) for number in range(min(first, last), max(first, last) + 1)]
    elif found[1].isalpha() or found[2].isalpha() or len(found[0]) > 20:
        return None
    else:
        first, last = int(found[1]), int(found[2])
        names = [str(number) for number in range(min(first, last), max(first, last) + 1)[:16]]
    return [[Piece(name, QUOTED)] for name in names], end


def expand_fields(pieces: Sequence[Piece], separators: str, home: str) -> list[str]:
    """Return the fields of one word: tilde expanded, unquoted values split, quotes gone."""
    out: list[str] = []
    current, begun = "", False
    for at, piece in enumerate(pieces):
        text = piece.text
        if at == 0 and piece.kind == BARE and text.startswith("~"):
            text = _home(text, home)
        parts = re.split(f"[{re.escape(separators)}]+", text) if piece.kind == SPLIT else [text]
        if piece.kind == BREAK:
            out += [current] if begun else []
            current, begun = "", False
            continue
        for number, part in enumerate(parts):
            if number:
                out += [current] if begun else []
                current, begun = "", False
            current += part
            begun = begun or bool(part) or piece.kind == QUOTED
    return [*out, current] if begun else out


def _home(text: str, home: str) -> str:
    name, slash, rest = text[1:].partition("/")
    return (home if not name else "." if name == "+" else f"/home/{name}") + slash + rest
