"""Step 8: what a command substitution prints, where that can be told without running it."""

from __future__ import annotations

import re

from agents.tools.paths import ROOT
from agents.tools.shell.command import Command
from agents.tools.shell.quotes import ansi_c
from agents.tools.shell.variables import UNKNOWN

_SPECIFIER = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z%])")


def printed(command: Command) -> list[str]:
    """Return what the command may print: UNKNOWN unless it only repeats what it was given."""
    words, name = command.words, command.name
    if name == "cat" and len(words) == 1 and command.feed and command.feed.texts:
        return [text.rstrip("\n") for text in command.feed.texts]
    if name in ("echo", "printf"):
        return [(_echo if name == "echo" else _printf)(words[1:])]
    return [_repeated(command)]


def _repeated(command: Command) -> str:
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
