"""Read a step's script, without running it, as the commands that it is made of.

A plain command that runs whatever else happens is one that can be run by itself. One within a loop,
a condition or a pipe, or with words that only a shell can fill in, is told as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.analysis.bash import parse_bash, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 12  # parts within parts

_EXPRESSION = re.compile(r"\$\{\{[^{}\n]{0,400}\}\}")  # GitHub fills them in before bash reads it
_UNKNOWN = "$EXPRESSION"
SHELL = re.compile(r"[|<>;`$&(){}*?!#\\]")
"""Signs that mean something to a shell: what has none of them is plain words."""
_QUIET = frozenset(("tee", "cat"))  # what a pipe may end in without being part of the check
_ALWAYS = frozenset(("program", "list", "compound_statement", "redirected_statement"))
_SOMETIMES = frozenset(
    (
        *("if_statement", "elif_clause", "else_clause", "while_statement", "do_group"),
        *("for_statement", "c_style_for_statement", "case_statement", "case_item"),
        *("function_definition", "negated_command", "pipeline"),
    )
)
_BEFORE = re.compile(
    r"^(?:time |nice (?:-n ?\d+ )?|timeout (?:-\S+ )*[\d.]+[smh]? |env (?=[A-Z_]\w*=)"
    r"|docker(?:-| )compose (?:run|exec) (?:-\S+ )*[\w-]+ )+"
)
_FILLED_IN = re.compile(r"\s--?[A-Za-z][\w-]*[= ](?=\S*\$)\S+")
_CHOOSES = re.compile(r"\s(?:-tags|-run|-k|-m|-E|--features|--tag|--shard\S*)[= ]")


@dataclass(frozen=True)
class ScriptCommand:
    """One command of a script."""

    text: str
    folder: str
    """As `cd` has it, from where the script begins; empty there."""
    plain: bool
    """Whether it can be run by itself, and stands for what the script does."""


def list_script_commands(script: str) -> list[ScriptCommand]:
    """Return the commands of a script; none of one that is too long to be read."""
    tree = parse_bash(_EXPRESSION.sub(_UNKNOWN, script.replace("\\\n", " ")))
    if tree is None:
        return []
    reader = _ScriptWalk()
    reader.visit(tree, plain=True)
    return reader.found


class _ScriptWalk:
    """Collects the commands of a script in their order."""

    def __init__(self) -> None:
        self.found: list[ScriptCommand] = []
        self._folder = ""

    def visit(self, part: Node, *, plain: bool, depth: int = 0) -> None:
        """Read what a part runs; `plain`: whether it runs whatever else happens."""
        if depth > DEEPEST:
            return
        if part.type == "command":
            self._add(text_of(part), plain=plain)
            return
        outside = self._folder
        for child, always in _list_children(part):
            self.visit(child, plain=plain and always, depth=depth + 1)
        if part.type in ("subshell", "function_definition"):
            self._folder = outside

    def _add(self, text: str, *, plain: bool) -> None:
        command = _strip_others(" ".join(text.split()))
        if command.startswith("cd "):
            self._folder = f"{self._folder}/{command[3:].strip()}".lstrip("/")
            return
        self.found.append(ScriptCommand(command, self._folder, plain and not SHELL.search(command)))


def _list_children(part: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the parts of one that is no command, each with whether it always runs."""
    children = part.named_children
    if part.type == "list" and any(each.type == "||" for each in part.children):
        yield from ((each, False) for each in children)
    elif part.type == "pipeline":
        quiet = all(map(_is_quiet, children[1:]))
        yield from ((each, at == 0 and quiet) for at, each in enumerate(children))
    elif part.type == "redirected_statement":
        heredoc = any(each.type.startswith("heredoc") for each in children)
        yield from ((each, not heredoc) for each in children[:1])
    elif part.type in _ALWAYS or part.type == "subshell":
        yield from ((each, True) for each in children)
    elif part.type in _SOMETIMES:
        yield from ((each, False) for each in children)


def _is_quiet(part: Node) -> bool:
    return not _QUIET.isdisjoint(text_of(part).split()[:1])


def _strip_others(command: str) -> str:
    """Return a command without what only measures or limits it, and options nobody can fill in.

    An option that may choose tests stays, and so keeps the command from being plain.
    """
    plain = _BEFORE.sub("", command)
    return _FILLED_IN.sub(lambda found: found[0] if _CHOOSES.match(found[0]) else "", plain)
