"""Interpreters other than shells: whether one is handed code that nobody can read beforehand.

The gate reads shell and no other language. Code that stands in a command is shown to people and
kept in the run's record like the command itself, and what it can reach, the sandbox holds, as for
code in a file. So such code runs; only code that is nowhere written out is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agents.tools.shell.command import Command
from agents.tools.shell.options import find_values, first_operand, word_set
from agents.tools.shell.variables import UNKNOWN

PIPE = re.compile(r"/dev/fd/\d+|/proc/self/fd/\d+|/dev/stdin")
"""Files that are another program's output."""

_VERSION = re.compile(r"[\d.]+w?$")
_CODE: Mapping[str, re.Pattern[str]] = {
    "python": re.compile(r"-[bBdEhiIOPqRsSuvVx]*c(.*)", re.DOTALL),
    "pypy": re.compile(r"-[bBdEhiIOPqRsSuvVx]*c(.*)", re.DOTALL),
    "node": re.compile(r"-p?e()|-p()|--(?:eval|print)(?:=(.*))?", re.DOTALL),
    "nodejs": re.compile(r"-p?e()|-p()|--(?:eval|print)(?:=(.*))?", re.DOTALL),
    "bun": re.compile(r"-e()|--eval(?:=(.*))?", re.DOTALL),
    "perl": re.compile(r"-[alnpsStTuUwWX0-7]*[eE](.*)", re.DOTALL),
    "ruby": re.compile(r"-[alnpsSwW0-7]*e(.*)", re.DOTALL),
    "php": re.compile(r"-r(.*)", re.DOTALL),
    "lua": re.compile(r"-e(.*)", re.DOTALL),
}
"""The option with which an interpreter takes code, and what may stand behind it in one word."""
_MODULE = re.compile(r"-[bBdEhiIOPqRsSuvVx]*m(.*)")
_VALUED = word_set("-W -X -Q -I -r -M --require --import")
_CHECKS = {"node": "--check", "perl": "-c", "php": "-l", "ruby": "-c"}
"""The option that has code read without running it."""
_MAKE = word_set("make gmake")
_AWK = word_set("awk gawk mawk nawk")


def is_opaque(command: Command) -> bool:
    """Return whether an interpreter would run code that comes decoded or from another program."""
    name, words = _VERSION.sub("", command.name), command.words[1:]
    if name in _MAKE or name in _AWK:
        files = find_values(words, "-f", "--file", "--makefile")
        return any(_is_unseen(file, command) for file in files)
    if name not in _CODE or (name in ("python", "pypy") and module_of(command)):
        return False
    if _CHECKS.get(name) in words:
        return False
    if (code := _code_in(words, _CODE[name])) is not None:
        return not code.strip(UNKNOWN)
    at = first_operand(words, _VALUED)
    return _is_unseen(words[at] if at < len(words) else "-", command)


def module_of(command: Command) -> tuple[str, ...]:
    """Return the module or the script that Python runs, with its arguments; empty for neither."""
    words = command.words[1:]
    at = first_operand(words, _VALUED)
    for number, word in enumerate(words[:at]):
        if found := _MODULE.fullmatch(word):
            return (found[1], *words[number + 1 :]) if found[1] else words[number + 1 :]
        if _CODE["python"].fullmatch(word):
            return ()
    return words[at:] if words[at : at + 1] and words[at].endswith(".py") else ()


def _is_unseen(file: str, command: Command) -> bool:
    """Return whether a file of code is what another program writes."""
    if file in ("-", "/dev/stdin"):
        return is_piped(command) or any(map(PIPE.match, command.reads))
    return PIPE.fullmatch(file) is not None


def is_piped(command: Command) -> bool:
    """Return whether its input comes from a program, other than `cat` of a file."""
    feed = command.feed
    if feed is None or feed.texts:
        return False
    name, *words = feed.words or ("",)
    return name != "cat" or all(word[:1] == "-" for word in words)


def _code_in(words: Sequence[str], option: re.Pattern[str]) -> str | None:
    """Return the code among an interpreter's arguments, None where there is none."""
    for at, word in enumerate(words[: first_operand(words, _VALUED)]):
        if found := option.fullmatch(word):
            attached = next((part for part in found.groups() if part), "")
            return attached or next(iter(words[at + 1 :]), None)
    return None
