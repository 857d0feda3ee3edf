"""Step 8: scripts that a script writes to a file and then runs: read like those that it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from agents.tools.shell.command import Command, Feed, Script
from agents.tools.shell.make import MAKES, made_from
from agents.tools.shell.options import first_operand, has, operands, valued
from agents.tools.shell.printed import printed
from agents.tools.shell.variables import UNKNOWN
from agents.tools.shell.wrappers import SHELLS, given_script, script_operand

MOST_TEXTS = 20  # that are remembered of one script

_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*w?|node|nodejs|perl|ruby|php")
_GIVEN_CODE = {"python": "cm", "pypy": "cm", "node": "ep", "perl": "eE", "ruby": "e", "php": "r"}
_VALUED = valued("-W -X -Q -I -r -M --require --import")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S+)")


class Written:
    """The files that commands have written by now, as far as their text can be told."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, ...]] = {}

    def run_by(self, command: Command) -> Iterator[Command | Script]:
        """Note what the command writes; yield what it runs of that which was written before."""
        self._note(command)
        for file, runner in _files(command):
            for text in self._texts.get(command.place(file), ()):
                if runner in ("source", "."):
                    yield Script(text)
                    continue
                words = _words(runner, text)
                yield replace(command, words=words, writes=(), reads=(), feed=Feed((text,)))

    def _note(self, command: Command) -> None:
        texts = tuple(text for text in _texts(command) if text != UNKNOWN)
        for path in _targets(command) if texts else ():
            before = self._texts.get(command.place(path), ())
            if len(self._texts) < MOST_TEXTS and len(before) < MOST_TEXTS:
                self._texts[command.place(path)] = (*before, *texts)


def _texts(command: Command) -> Iterable[str]:
    if command.name == "tee":
        return command.feed.texts if command.feed else ()
    return printed(command) if command.writes and command.words else ()


def _targets(command: Command) -> Iterable[str]:
    return operands(command.words[1:]) if command.name == "tee" else command.writes


def _files(command: Command) -> Iterator[tuple[str, str]]:
    """Yield the files that the command would run, and with what; nothing for: by itself."""
    name, words = command.name, command.words[1:]
    if name in SHELLS:
        file = script_operand(command)
        if file is not None and given_script(command) is None:
            yield file, name
    elif name in ("source", "."):
        yield from ((word, name) for word in words[:1])
    elif _INTERPRETER.fullmatch(name):
        at = first_operand(words, _VALUED)
        if not has(words[:at], _GIVEN_CODE.get(name.rstrip("0123456789.w"), "")):
            yield from ((word, name) for word in words[at : at + 1])
    elif name in MAKES:
        yield from ((file, "make") for file in made_from(command) or _MAKEFILES)
    elif command.words and "/" in command.words[0]:
        yield command.words[0], ""


def _words(runner: str, text: str) -> tuple[str, ...]:
    """Return the command that takes such a text at its input and does what the file does."""
    if runner == "make":
        return ("make", "-f", "-")
    if not runner:
        found = _SHEBANG.match(text)
        runner = found[1].rsplit("/", 1)[-1] if found else "sh"
    return (runner,)
