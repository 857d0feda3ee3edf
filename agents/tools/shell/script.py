"""Reads a bash script, without running it, as the simple commands that it would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

from tree_sitter import Node

from agents.tools.shell.assignments import assign_part, note_effects
from agents.tools.shell.command import Command, Feed, Folder, Script
from agents.tools.shell.options import word_set
from agents.tools.shell.streams import Redirects, predict_output, redirects_of
from agents.tools.shell.tree import (
    find_backticks,
    find_missed_backticks,
    flatten,
    list_readings,
    multiplies,
    parse,
    text_of,
    too_long,
)
from agents.tools.shell.variables import UNKNOWN, Variables
from agents.tools.shell.words import Words
from agents.tools.shell.wrappers import unfold

__all__ = ["Command", "ScriptAnalysis", "read"]

DEEPEST = 90  # parts within parts
MOST_COMMANDS = 800
MOST_NESTED = 12  # scripts within scripts
MOST_SCRIPTS = 60  # of them in all

_REDIRECTS = ("file_redirect", "herestring_redirect", "heredoc_redirect")
_SUBSTITUTIONS = ("command_substitution", "process_substitution", "subshell")
_RESERVED = word_set("! { } then do else elif if while until fi done esac function")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")


@dataclass(frozen=True)
class ScriptAnalysis:
    """What can be told of a script before it runs."""

    commands: tuple[Command, ...]
    """Every simple command, those that others run included."""
    readable: bool = True
    """False when it is too long or too nested to be told."""
    bomb: bool = False
    """A function starts copies of itself."""


class _TooMuch(Exception):
    """The script is larger than anybody needs."""


@lru_cache(maxsize=64)
def read(text: str) -> ScriptAnalysis:
    """Return what the script would run."""
    variables = Variables()
    try:
        reader = _Reader(variables)
        reader.script(text)
        if not variables.plain:  # once more, now that all values are known
            reader = _Reader(variables, bomb=reader.bomb)
            reader.script(text)
    except (_TooMuch, RecursionError):
        return ScriptAnalysis(commands=(), readable=False)
    return ScriptAnalysis(tuple(reader.commands), bomb=reader.bomb)


class _Reader:
    def __init__(self, variables: Variables, *, bomb: bool = False) -> None:
        self.commands: dict[Command, None] = {}
        self.bomb = bomb
        self._variables = variables
        self._words = Words(variables, self._predict_substitution)
        self._folder = Folder()
        self._feed: Feed | None = None
        self._scripts = self._nested = self._depth = 0

    def script(self, text: str) -> None:
        """Read a script, or text that a command would run as one."""
        self._nested += 1
        self._scripts += 1
        if self._nested > MOST_NESTED or self._scripts > MOST_SCRIPTS or too_long(text):
            raise _TooMuch
        for reading in list_readings(text):
            self._visit(parse(reading))
        self._read_texts(find_missed_backticks(text))
        self._nested -= 1

    # --- parts of the tree ----------------------------------------------------------------------

    def _visit(self, part: Node) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooMuch
        match part.type:
            case "command":
                self._visit_command(part)
            case "redirected_statement":
                self._visit_redirected(part)
            case "pipeline":
                self._visit_pipeline(part)
            case "subshell" | "command_substitution" | "process_substitution":
                self._visit_subshell(part)
            case "function_definition":
                self._visit_function(part)
            case "variable_assignment" | "declaration_command" | "for_statement":
                self._visit_assignment(part)
            case "heredoc_body":
                self._visit_substitutions(part)
            case _:
                for child in flatten(part) if part.type == "list" else part.children:
                    self._visit(child)
        self._depth -= 1

    def _visit_command(self, part: Node, more: Redirects | None = None) -> None:
        named: list[Node] = []
        redirects: list[Node] = []
        for child in part.children:
            if child.type == "variable_assignment":
                assign_part(child, self._variables, self._words)
            elif child.type in _REDIRECTS:
                redirects.append(child)
            elif child.type != "subshell":  # after `time`, which the tree takes for a command
                named.append(child)
        own = redirects_of(redirects, self._words).merge(more)
        for words in self._words.commands(named):
            self._emit(
                Command(words, self._folder.here, own.writes, own.reads, own.feed or self._feed)
            )
        self._visit_substitutions(part)

    def _visit_redirected(self, part: Node) -> None:
        body = part.child_by_field_name("body")
        parts = [child for child in part.children if child.type in _REDIRECTS]
        redirects = redirects_of(parts, self._words)
        last = body is not None and body.type == "list"  # `cd a && b > c` is all one body
        if body is not None and body.type == "command":
            self._visit_command(body, redirects)
        else:
            self._emit_output(redirects if not last else Redirects())
            if body is not None:
                with self._feed_with(redirects.feed or self._feed):
                    self._visit(body)
            self._emit_output(redirects if last else Redirects())
        for each in parts:
            self._visit_substitutions(each)
        for each in redirects.following:  # after `<<EOF` on the same line
            feed = self._feed_of(body, redirects) if each.type == "pipeline" else self._feed
            with self._feed_with(feed):
                self._visit(each)

    def _emit_output(self, redirects: Redirects) -> None:
        self._emit(Command((), self._folder.here, redirects.writes, redirects.reads))

    def _visit_pipeline(self, part: Node) -> None:
        folder, feed = replace(self._folder), self._feed
        for member in part.named_children:
            with self._feed_with(feed):
                self._visit(member)
            feed = self._feed_of(member, None)
            self._folder = replace(folder)

    def _visit_subshell(self, part: Node) -> None:
        """Read what runs in a shell of its own, which changes nothing out here."""
        folder = replace(self._folder)
        text = text_of(part)
        if part.type == "command_substitution" and text.startswith("`") and "\\" in text:
            self.script(re.sub(r"\\([\\`$])", r"\1", text.strip("`")))
        for child in part.children:
            self._visit(child)
        self._folder = folder

    def _visit_function(self, part: Node) -> None:
        name = part.child_by_field_name("name")
        body = part.child_by_field_name("body")
        if name is None or body is None:
            return
        self._variables.functions.add(text_of(name))
        self.bomb = self.bomb or multiplies(body, text_of(name))
        for child in part.children[1:]:
            self._visit(child)

    def _visit_assignment(self, part: Node) -> None:
        words = assign_part(part, self._variables, self._words)
        if words:
            self._emit(Command(words, self._folder.here))
        self._visit_substitutions(part)
        for child in part.named_children:
            if child.type in ("do_group", "compound_statement"):
                self._visit(child)

    def _visit_substitutions(self, part: Node) -> None:
        """Read the substitutions within words."""
        pending = [part]
        while pending:
            current = pending.pop()
            self._read_texts(find_backticks(current))
            for child in current.named_children:
                if child.type in _SUBSTITUTIONS:
                    self._visit(child)
                elif child.type not in ("do_group", "compound_statement"):
                    pending.append(child)

    def _read_texts(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.script(text)

    # --- commands -------------------------------------------------------------------------------

    def _emit(self, command: Command) -> None:
        """Note a command, what it changes for those after it, and what it runs in turn."""
        words = command.words
        while words and (words[0] in _RESERVED or _ASSIGNS.match(words[0])):
            name, equals, value = words[0].partition("=")  # as `env` and `declare` take them
            if equals:
                self._variables.assign(name, (value,))
            words = words[1:]
        command = replace(command, words=words)
        self._folder.follow(command)
        if command in self.commands or not (words or command.writes or command.reads):
            return
        if len(self.commands) >= MOST_COMMANDS:
            raise _TooMuch
        self.commands[command] = None
        note_effects(command, self._variables)
        for inner in unfold(command):
            self._depth += 1
            if self._depth > DEEPEST:
                raise _TooMuch
            if isinstance(inner, Command):
                self._emit(inner)
            else:
                self._read_script(command, inner)
            self._depth -= 1

    def _read_script(self, command: Command, inner: Script) -> None:
        folder = replace(self._folder)
        self._folder.here = command.folder
        for number, argument in enumerate(inner.arguments):
            self._variables.assign(str(number), (argument,))
        if len(inner.arguments) > 1:
            self._variables.assign("@", inner.arguments[1:])
            self._variables.assign("*", inner.arguments[1:])
        with self._feed_with(
            None if command.feed and inner.text in command.feed.texts else command.feed
        ):
            self.script(inner.text)
        if command.name != "eval":
            self._folder = replace(folder)

    # --- input and output -----------------------------------------------------------------------

    @contextmanager
    def _feed_with(self, feed: Feed | None) -> Iterator[None]:
        before, self._feed = self._feed, feed
        yield
        self._feed = before

    def _feed_of(self, part: Node | None, redirects: Redirects | None) -> Feed:
        """Return what the part hands to the next one in a pipeline."""
        if part is not None and part.type == "redirected_statement":
            parts = [child for child in part.children if child.type in _REDIRECTS]
            part, redirects = part.child_by_field_name("body"), redirects_of(parts, self._words)
        if part is None or part.type != "command":
            return Feed(words=(UNKNOWN,))
        commands = self._list_commands(part, redirects)
        texts = [text for command in commands for text in predict_output(command)]
        return Feed(() if UNKNOWN in texts else tuple(texts), commands[0].words if commands else ())

    def _list_commands(self, part: Node, more: Redirects | None = None) -> list[Command]:
        kept = [c for c in part.children if c.type not in (*_REDIRECTS, "variable_assignment")]
        parts = [child for child in part.children if child.type in _REDIRECTS]
        feed = redirects_of(parts, self._words).merge(more).feed
        return [Command(w, self._folder.here, feed=feed) for w in self._words.commands(kept) if w]

    def _predict_substitution(self, part: Node) -> Iterable[str]:
        """Return what a command substitution may print."""
        inner = part.named_children
        if len(inner) != 1 or inner[0].type not in ("command", "redirected_statement"):
            return [UNKNOWN]
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooMuch
        command, redirects = inner[0], None
        if command.type == "redirected_statement":
            parts = [child for child in command.children if child.type in _REDIRECTS]
            redirects = redirects_of(parts, self._words)
            command = command.child_by_field_name("body") or command
        found = [
            text for c in self._list_commands(command, redirects) for text in predict_output(c)
        ]
        self._depth -= 1
        return list(dict.fromkeys(found)) or [UNKNOWN]
