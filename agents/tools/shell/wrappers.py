"""Unfolds programs that run other programs, such as `xargs` and `sh -c`, into what they run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from agents.tools.shell.command import Command, Script
from agents.tools.shell.find import list_finds, unfold_find
from agents.tools.shell.interpreters import module_of
from agents.tools.shell.options import find_values, first_operand, word_set
from agents.tools.shell.prefixes import unfold_prefix
from agents.tools.shell.variables import UNKNOWN

Inner = Command | Script

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?")
_COMMAND = ("-c", "--command")
_TAKING_LINES: dict[str, tuple[str, ...]] = {
    "script": ("-c", "-qc", "--command"),
    "su": _COMMAND,
    "runuser": _COMMAND,
    "sg": _COMMAND,
    "npm": ("-c", "--call"),
    "npx": ("-c", "--call"),
    "just": _COMMAND,
    "nix-shell": ("--run", "--command"),
}
"""The options after which a program takes a line that it hands to a shell."""

SHELLS = word_set("sh bash dash zsh ksh ksh93 ash mksh lksh yash rbash fish csh tcsh pwsh")
_SHELL_VALUED = word_set("--rcfile --init-file")
_SHELL_OPTION = re.compile(r"[-+][a-zA-Z]*")
_COMMAND_OPTION = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")


def unfold(command: Command) -> Iterator[Inner]:
    """Yield what the command would have run by others: commands, and scripts for a shell."""
    name = command.name
    if name in SHELLS:
        yield from _shell(command)
    elif special := _SPECIAL.get(name):
        yield from special(command)
    elif _PYTHON.fullmatch(name) and (module := module_of(command)):
        yield replace(command, words=module, writes=(), feed=None)
    for value in find_values(command.words[1:], *_TAKING_LINES.get(name, ())):
        yield Script(value)
    yield from unfold_prefix(command)


def script_operand(command: Command) -> str | None:
    """Return the file that a shell would run; None when it takes its script from its input."""
    words = command.words[1:]
    at = _skip_options(words)
    if any(word.startswith("-") and "s" in word[1:] and word[1:2] != "-" for word in words[:at]):
        return None
    return words[at] if at < len(words) and words[at] not in ("-", "/dev/stdin") else None


def given_script(command: Command) -> tuple[str, tuple[str, ...]] | None:
    """Return the script after `-c`, and its arguments."""
    words = command.words[1:]
    at = _skip_options(words)
    if not any(_COMMAND_OPTION.fullmatch(word) for word in words[:at]) or at >= len(words):
        return None
    return words[at], tuple(words[at + 1 :])


def _skip_options(words: tuple[str, ...]) -> int:
    """Return the index of a shell's first operand: `+x` is an option, too, and `-eo` takes one."""
    at = 0
    while at < len(words) and len(words[at]) > 1 and words[at][0] in "-+":
        word = words[at]
        if word == "--":
            return at + 1
        short = _SHELL_OPTION.fullmatch(word) is not None
        at += 1 + (sum(map(word.count, "oO")) if short else word in _SHELL_VALUED)
    return min(at, len(words))


# --- by their own rules -------------------------------------------------------------------------


def _shell(command: Command) -> Iterator[Inner]:
    if given := given_script(command):
        yield Script(*given)
    elif command.feed and script_operand(command) is None:
        yield from (Script(text) for text in command.feed.texts)


def _eval(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    yield Script(" ".join(words[1:] if words[:1] == ("--",) else words))


def _trap(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    at = first_operand(words)
    if len(words) > at + 1:
        yield Script(words[at])


def _alias(command: Command) -> Iterator[Inner]:
    for word in command.words[1:]:
        if "=" in word:
            yield Script(word.partition("=")[2])


def _source(command: Command) -> Iterator[Inner]:
    if command.feed and command.words[1:2] == ("/dev/stdin",):
        yield from (Script(text) for text in command.feed.texts)


def _xargs(command: Command) -> Iterator[Inner]:
    with_value = word_set("-I -n -P -L -d -E -s -a --max-args --max-procs --delimiter --arg-file")
    words = command.words[1:]
    rest = words[first_operand(words, with_value) :]
    if not rest:
        return
    marks = [*find_values(words[: len(words) - len(rest)], "-I", "--replace"), "{}"]
    for given in _items(command):
        if any(mark in word for mark in marks[:1] for word in rest) and len(marks) > 1:
            inner = tuple(word.replace(marks[0], given) for word in rest)
        else:
            inner = (*rest, *given.split())
        yield replace(command, words=inner, writes=(), feed=None)


def _items(command: Command) -> list[str]:
    """Return what xargs gets to hand on."""
    feed = command.feed
    if feed and feed.texts:
        return list(feed.texts)
    if feed and feed.words and feed.words[0].rsplit("/", 1)[-1] == "find":
        return list_finds(feed.words[1:])
    return [UNKNOWN]


def _parallel(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    body, given = words, list[str]()
    for sign in (":::", ":::+", "::::"):
        if sign in body:
            at = body.index(sign)
            body, given = body[:at], list(words[at + 1 :])
    rest = body[first_operand(body, word_set("-j -P -N -n -I --jobs -S --sshlogin")) :]
    for item in given or _items(command):
        line = " ".join(rest)
        yield Script(line.replace("{}", item) if "{}" in line else f"{line} {item}")


def _flock(command: Command) -> Iterator[Inner]:
    words = command.words[1:]
    yield from (Script(value) for value in find_values(words, "-c", "--command"))
    rest = words[first_operand(words, word_set("-w -E --timeout")) + 1 :]
    if rest:
        yield replace(command, words=rest, writes=())


def _git(command: Command) -> Iterator[Inner]:
    """Yield what a git command is told to run: aliases, and the commands of a rebase."""
    words = command.words[1:]
    for setting in find_values(words, "-c"):
        key, _, value = setting.partition("=")
        if key.startswith("alias.") and not value.startswith("!"):
            yield Script(f"git {value}")
        elif key.startswith("alias.") or key.rpartition(".")[2].lower() in _GIT_COMMANDS:
            yield Script(value.removeprefix("!"))
    if "config" in words and words[-1].startswith("!"):
        yield Script(words[-1][1:])
    if "rebase" in words:
        yield from (Script(value) for value in find_values(words, "-x", "--exec"))


_GIT_COMMANDS = word_set(
    "pager editor sshcommand askpass fsmonitor hookspath external textconv driver helper"
)
_SPECIAL: dict[str, Callable[[Command], Iterator[Inner]]] = {
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "source": _source,
    ".": _source,
    "xargs": _xargs,
    "find": unfold_find,
    "parallel": _parallel,
    "flock": _flock,
    "git": _git,
}
