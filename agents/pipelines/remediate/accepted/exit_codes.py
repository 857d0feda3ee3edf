"""Find the programs of a shell command that must have succeeded for it to end with exit code 0.

`npm ci || npm install` ends so where `npm ci` failed, and `npm ci; true` whatever came before.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from agents.tools.shell.tree import parse, text_of, too_long

_UNKNOWN = "\0"
"""Stands for what only the run can tell."""
_PLAIN = ("word", "number", "raw_string", "string", "concatenation")
_EXPANSIONS = ("simple_expansion", "expansion", "command_substitution", "process_substitution")
_SEPARATORS = frozenset({";", "\n", "comment"})


@dataclass(frozen=True)
class Program:
    """One program with its arguments, where and with what it runs."""

    words: tuple[str, ...]
    folder: str | None
    """From the repository's root, empty for the root; None where only the run can tell."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment that the command sets."""


Test = Callable[[Program], bool]


@dataclass
class _Shell:
    """Where a shell is, and what it has exported."""

    folder: str | None = ""
    settings: dict[str, str] = field(default_factory=dict)

    def fork(self) -> _Shell:
        """Return one that begins here, and changes nothing here."""
        return _Shell(self.folder, dict(self.settings))

    def go(self, words: Sequence[str]) -> None:
        """Change the folder as `cd` with these words does."""
        self.folder = _resolve(self.folder, words)

    def export(self, part: Node) -> None:
        """Take in what a declaration sets; of another command nothing."""
        for child in part.named_children if part.type == "declaration_command" else ():
            if child.type == "variable_assignment":
                self.settings.update(_read_assignment(child))


def must_succeed(command: str, test: Test) -> bool:
    """Return whether a program that passes the test had to end with 0 for the command to do so.

    What cannot be read for sure is taken for one that says nothing.
    """
    if too_long(command):
        return False
    root = parse(command)
    if root.has_error or any(_walk(root, "function_definition")):
        return False
    return _implies(root, _Shell(), test)


def _implies(part: Node, shell: _Shell, test: Test) -> bool:
    match part.type:
        case "program" | "compound_statement":
            return _implies_in_turn(part, shell, test)
        case "subshell":
            return _implies_in_turn(part, shell.fork(), test)
        case "list":
            return _implies_list(part, shell, test)
        case "redirected_statement":
            body = part.child_by_field_name("body")
            return body is not None and _implies(body, shell, test)
        case "command":
            return _run(part, shell, test)
    shell.export(part)
    return False


def _implies_list(part: Node, shell: _Shell, test: Test) -> bool:
    """Return it of two parts of which the second one runs after, or instead of, the first one."""
    sign = part.children[1].type
    one, other = (_implies(each, shell, test) for each in (part.children[0], part.children[-1]))
    return (one or other) if sign == "&&" else (sign == "||" and one and other)


def _implies_in_turn(part: Node, shell: _Shell, test: Test) -> bool:
    """Return it of commands that follow each other, of which the last one decides."""
    if any(child.type == "&" for child in part.children):  # nobody waits for what it does
        return False
    last = False
    for child in part.named_children:
        if child.type not in _SEPARATORS:
            last = _implies(child, shell, test)
    return last


def _run(part: Node, shell: _Shell, test: Test) -> bool:
    settings, words = dict(shell.settings), []
    for child in part.children:
        if child.type == "variable_assignment":
            settings |= _read_assignment(child)
        elif child.type == "command_name" or child.type in _PLAIN:
            words.append(_read_word(child))
        else:
            words.append(_UNKNOWN)
    if words[:1] == ["cd"]:
        shell.go(words[1:])
        return False
    return bool(words) and test(Program(tuple(words), shell.folder, settings))


def _read_assignment(part: Node) -> dict[str, str]:
    name, value = part.child_by_field_name("name"), part.child_by_field_name("value")
    if name is None:
        return {}
    return {text_of(name): _read_word(value) if value is not None else ""}


def _read_word(part: Node) -> str:
    if any(_walk(part, *_EXPANSIONS)):
        return _UNKNOWN
    try:
        return "".join(shlex.split(text_of(part)))
    except ValueError:
        return _UNKNOWN


def _resolve(folder: str | None, words: Sequence[str]) -> str | None:
    """Return where `cd` leads; None where that cannot be told, or is outside."""
    given = [word for word in words if word != "--"]
    if folder is None or len(given) != 1 or given[0][:1] in ("/", "-", "~", _UNKNOWN, ""):
        return None
    there = posixpath.normpath(posixpath.join(folder, given[0]))
    if there == ".." or there.startswith("../") or _UNKNOWN in there:
        return None
    return "" if there == "." else there


def _walk(part: Node, *kinds: str) -> list[Node]:
    """Return all parts of these kinds, from the part down."""
    found, waiting = [], [part]
    while waiting:
        each = waiting.pop()
        found += [each] if each.type in kinds else []
        waiting += each.children
    return found
