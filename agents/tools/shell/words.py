"""Expands the words of a command into every list of fields that bash may make of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, product

from tree_sitter import Node

from agents.tools.shell.quotes import (
    BREAK,
    QUOTED,
    SPLIT,
    Piece,
    ansi_c,
    expand_braces,
    expand_fields,
    unescape,
    unquote,
)
from agents.tools.shell.tree import text_of, unmark
from agents.tools.shell.variables import HOME, MOST_VALUES, UNKNOWN, Value, Variables

MOST_READINGS = 16
"""Ways to read one word, or one command; beyond it, its values count as unknown."""

Pieces = tuple[Piece, ...]
_LITERAL: Mapping[str, Callable[[str], str]] = {
    "raw_string": lambda text: text[1:-1],
    "ansi_c_string": lambda text: ansi_c(text[2:-1]),
    "process_substitution": lambda _: "/dev/fd/63",
    "arithmetic_expansion": lambda _: UNKNOWN,
}
_ALL = re.compile(r"\[[@*]\]$")
_DEFAULTS = frozenset((":-", "-", ":=", "=", ":+", "+"))


class Words:
    """Expands words with the variables of a script.

    `substituted` returns what a command substitution may print.
    """

    def __init__(self, variables: Variables, substituted: Callable[[Node], Iterable[str]]) -> None:
        self._variables = variables
        self._substituted = substituted
        self._kinds: Mapping[str, Callable[[Node], list[Pieces]]] = {
            "string": self._string,
            "heredoc_body": self._string,
            "translated_string": self._name,
            "command_name": self._name,
            "concatenation": self._concatenation,
            "simple_expansion": self._simple,
            "expansion": self._parameter,
            "command_substitution": self._command,
        }

    def commands(self, parts: Sequence[Node]) -> list[tuple[str, ...]]:
        """Return every list of fields that these words may make."""
        choices = [self.word(part) for part in parts]
        total = 1
        for number, choice in enumerate(choices):
            if total * len(choice) > MOST_READINGS:
                choices[number] = [(UNKNOWN,), *([] if number else choice[: MOST_READINGS - 1])]
            total *= len(choices[number])
        return list(
            dict.fromkeys(
                tuple(field for fields_ in chosen for field in fields_)
                for chosen in islice(product(*choices), MOST_READINGS)
            )
        )

    def word(self, part: Node) -> list[Value]:
        """Return what one word may become."""
        separators = self._variables.separators
        found: dict[Value, None] = {}
        for pieces in self._pieces(part):
            opened = [expand_fields(word, separators, HOME) for word in expand_braces(pieces)]
            found[tuple(unmark(field) for word in opened for field in word)] = None
        return list(found)

    def text(self, part: Node) -> list[str]:
        """Return what a word may become where bash does not split it, as in an assignment."""
        return [unmark("".join(piece.text for piece in each)) for each in self._pieces(part)]

    # --- by kind of part ------------------------------------------------------------------------

    def _pieces(self, part: Node) -> list[Pieces]:
        if expand := self._kinds.get(part.type):
            return expand(part)
        if part.type in _LITERAL:
            return [(Piece(_LITERAL[part.type](text_of(part)), QUOTED),)]
        return [tuple(unescape(text_of(part)))]

    def _name(self, part: Node) -> list[Pieces]:
        return self._join(part.named_children[-1:])

    def _concatenation(self, part: Node) -> list[Pieces]:
        return self._join(part.children)

    def _simple(self, part: Node) -> list[Pieces]:
        return [self._split(value) for value in self._variables.look_up(text_of(part)[1:])]

    def _parameter(self, part: Node) -> list[Pieces]:
        return [self._split(value) for value in self._expansion(part)]

    def _command(self, part: Node) -> list[Pieces]:
        return [(Piece(value, SPLIT),) for value in self._substituted(part)]

    def _join(self, parts: Iterable[Node]) -> list[Pieces]:
        """Return the pieces of parts that stand side by side, in every combination."""
        readings: list[Pieces] = [()]
        for part in parts:
            choices = self._pieces(part)
            if len(readings) * len(choices) > MOST_READINGS:
                choices = [(Piece(UNKNOWN, QUOTED),)]
            readings = [(*before, *after) for before in readings for after in choices]
        return readings

    def _string(self, part: Node) -> list[Pieces]:
        """Return a double-quoted string; the tree leaves out white space between its parts."""
        body = part.text or b""
        end = part.start_byte
        readings: list[Pieces] = [(Piece("", QUOTED),)]
        for child in [*part.named_children, None]:
            start = child.start_byte if child else part.end_byte
            gap = body[end - part.start_byte : start - part.start_byte].decode("utf-8", "replace")
            gap = gap.strip('"') if part.type == "string" else gap
            readings = [(*before, Piece(gap, QUOTED)) for before in readings]
            if child is not None:
                choices = [_quote(pieces) for pieces in self._read_in_string(child)]
                if len(readings) * len(choices) > MOST_READINGS:
                    choices = [(Piece(UNKNOWN, QUOTED),)]
                readings = [(*before, *after) for before in readings for after in choices]
                end = child.end_byte
        return readings

    def _read_in_string(self, part: Node) -> list[Pieces]:
        if part.type in ("string_content", "heredoc_content"):
            return [(Piece(unquote(text_of(part)), QUOTED),)]
        return self._pieces(part)

    # --- parameters -----------------------------------------------------------------------------

    @staticmethod
    def _split(value: Value) -> Pieces:
        pieces: list[Piece] = []
        for number, field in enumerate(value):
            pieces += [Piece("", BREAK)] if number else []
            pieces.append(Piece(field, SPLIT))
        return tuple(pieces)

    def _expansion(self, part: Node) -> list[Value]:
        """Return the values of `${...}`; what cuts or changes text makes it unknown."""
        signs = [child.type for child in part.children if not child.is_named][1:-1]
        names = [
            c
            for c in part.named_children
            if c.type in ("variable_name", "subscript", "special_variable_name")
        ]
        if not names:
            return [(UNKNOWN,)]
        name = text_of(names[0]).split("[")[0]
        values = self._variables.look_up(name)
        if names[0].type == "subscript" and not _ALL.search(text_of(names[0])):
            values = _limit([(field,) for value in values for field in value])
        if signs == ["!"]:
            return _limit(
                [v for value in values for n in value for v in self._variables.look_up(n)]
            )
        if not signs or signs[0] in (":?", "?"):
            return values
        if signs[0] not in _DEFAULTS:
            return [(UNKNOWN,)]
        rest = [child for child in part.named_children if child.id != names[0].id]
        default: list[Value] = [(text,) for child in rest[:1] for text in self.text(child)]
        default = default or [()]
        if any("`" in text for value in default for text in value):
            default = [(UNKNOWN,)]  # the grammar takes a substitution in backticks for text
        if signs[0] in (":=", "="):
            for value in default:
                self._variables.assign(name, value)
        known = name in self._variables.values or "+" in signs[0]
        return [*values, *default] if known else default


def _limit(values: list[Value]) -> list[Value]:
    """Return these values, or that anything may be meant when they are too many or none."""
    return values if 0 < len(values) <= MOST_VALUES else [(UNKNOWN,)]


def _quote(pieces: Pieces) -> Pieces:
    """Return a value as it stands between double quotes: never split."""
    return tuple(Piece(p.text, QUOTED if p.kind != BREAK else BREAK) for p in pieces)
