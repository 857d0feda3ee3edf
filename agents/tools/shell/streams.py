"""The standard streams of commands: redirections, here-documents, and what commands print."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from agents.tools.paths import ROOT
from agents.tools.shell.command import Command, Feed
from agents.tools.shell.quotes import ansi_c
from agents.tools.shell.tree import text_of, unmark
from agents.tools.shell.variables import UNKNOWN
from agents.tools.shell.words import Words

_SPECIFIER = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")
_INTO = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_HEREDOC_PARTS = frozenset(("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"))


@dataclass(frozen=True)
class Redirects:
    """The redirections of one command."""

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    feed: Feed | None = None
    following: tuple[Node, ...] = ()
    """What stands after `<<EOF` on its line: the tree puts it into the redirection."""

    def merge(self, other: Redirects | None) -> Redirects:
        """Return both together."""
        if other is None:
            return self
        return Redirects(
            self.writes + other.writes,
            self.reads + other.reads,
            other.feed or self.feed,
            self.following + other.following,
        )


def redirects_of(parts: Iterable[Node], words: Words) -> Redirects:
    """Return what these redirections do."""
    all_ = Redirects()
    for part in parts:
        if part.type == "file_redirect":
            all_ = all_.merge(_file(part, words))
        elif part.type == "herestring_redirect":
            texts = words.text(part.named_children[-1]) if part.named_children else []
            all_ = all_.merge(Redirects(feed=Feed(tuple(texts))))
        else:
            all_ = all_.merge(_heredoc(part, words))
    return all_


def _file(part: Node, words: Words) -> Redirects:
    signs = [child.type for child in part.children if not child.is_named]
    targets = [c for c in part.named_children if c.type not in ("file_descriptor", "ERROR")]
    if not signs or not targets:
        return Redirects()
    if signs[0] in (">&", "<&") and text_of(targets[0]).rstrip("-").isdigit():
        return Redirects()
    files = tuple(field for value in words.word(targets[0]) for field in value)
    return Redirects(writes=files) if signs[0] in _INTO else Redirects(reads=files)


def _heredoc(part: Node, words: Words) -> Redirects:
    kinds = {child.type: child for child in part.named_children}
    start, body = kinds.get("heredoc_start"), kinds.get("heredoc_body")
    quoted = start is not None and any(char in text_of(start) for char in "'\"\\")
    texts = words.text(body) if body is not None and not quoted else []
    rest = [child for child in part.named_children if child.type not in _HEREDOC_PARTS]
    own = [child for child in rest if child.type.endswith("_redirect")]
    after = tuple(child for child in rest if not child.type.endswith("_redirect"))
    if quoted or after:  # the grammar at times takes the body's first line for something else
        texts.append(_lines(part))
    return redirects_of(own, words).merge(Redirects(feed=Feed(tuple(texts)), following=after))


def _lines(part: Node) -> str:
    """Return a here-document as it is written, its end left out."""
    text = unmark(text_of(part)).partition("\n")[2]
    ending = next((c for c in part.named_children if c.type == "heredoc_end"), None)
    return text.rstrip("\n").removesuffix(text_of(ending)) if ending is not None else text


# --- what commands print ------------------------------------------------------------------------


def predict_output(command: Command) -> list[str]:
    """Return what the command may print: UNKNOWN unless it only repeats what it was given."""
    words, name = command.words, command.name
    if name == "cat" and len(words) == 1 and command.feed and command.feed.texts:
        return [text.rstrip("\n") for text in command.feed.texts]
    if name in ("echo", "printf"):
        return [(_echo if name == "echo" else _printf)(words[1:])]
    return [_look_up(command)]


def _look_up(command: Command) -> str:
    """Return the name or the path that a command looks up."""
    match command.name, *command.words[1:]:
        case "which" | "realpath", name:
            return name
        case "command" | "type", "-v" | "-p" | "-P", name:
            return name
        case "mktemp", *_:
            return f"/tmp/{UNKNOWN}"  # noqa: S108 the sandbox's own
        case ("pwd",):
            return command.folder
        case "git", "rev-parse", "--show-toplevel":
            return ROOT
    return UNKNOWN


def _echo(words: tuple[str, ...]) -> str:
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        escapes = escapes or "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    return ansi_c(text) if escapes else text


def _printf(words: tuple[str, ...]) -> str:
    words = words[1:] if words[:1] == ("--",) else words
    if not words or words[0].startswith("-"):
        return UNKNOWN
    form, given = ansi_c(words[0]), list(words[1:])
    out = ""
    for _ in range(len(given) + 1):  # the format is used again while arguments are left
        out += _SPECIFIER.sub(lambda found: _argument(found[1], given), form)
        if not given:
            break
    return out.rstrip("\n")


def _argument(letter: str, given: list[str]) -> str:
    if letter == "%":
        return "%"
    value = given.pop(0) if given else ""
    if letter == "s":
        return value
    return ansi_c(value) if letter == "b" else UNKNOWN
