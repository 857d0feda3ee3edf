"""Find what a repository's own test script runs, where its exit status has to tell all.

Tests that assert and print nothing, or speak no known language, pass by their exit status alone.
That is worth something where maintainers named the script as the test, and where it runs a program
of the repository: `echo` passes, too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from agents.analysis.test_runners.call import split_chain, strip_variables
from agents.analysis.test_runners.registry import find_runner_call
from agents.analysis.test_runners.runner import Words
from agents.analysis.test_runners.steps import (
    OF_MAKE,
    list_step_files,
    name_called_scripts,
    read_all_scripts,
)

MOST_LEVELS = 6  # scripts that call each other

_TESTS = frozenset(("test", "tests", "check"))
_INTERPRETERS = re.compile(
    r"(?:node|deno|tsx|ts-node|sh|bash|dash|zsh|ksh|ruby|perl|php|lua|Rscript|python(?:3(?:\.\d+)?)?)"
)
_READS_ONLY = frozenset(("-c", "-n", "-l", "-h", "-v", "--check", "--help", "--version"))
"""Options with which interpreters look at a file, and run none of it."""
_PROGRAMS = frozenset(("uvu", "zora", "pta", "qunit", "lab", "jasmine", "baretest"))
"""Programs that run tests, and that nothing here reads."""
_DECIDES = re.compile(r"(?:.*/)?(?:[Mm]akefile|GNUmakefile|[^/]*\.mk|\.npmrc|\.yarnrc(?:\.yml)?)")
_HIDES_FAILURES = re.compile(
    r"^[ \t]*(?:\.IGNORE\b|\.ONESHELL\b"
    r"|(?:export[ \t]+)?MAKEFLAGS\b.*[\s=](?:-\w*i|--ignore-errors))",
    re.MULTILINE,
)
"""With it, Make passes though a recipe's program fails, or all of them but the last."""
_BEFORE = frozenset(("npx", "env", "cross-env", "time"))


@dataclass(frozen=True)
class OwnScript:
    """What a test script runs, one plain command after the other."""

    commands: tuple[Words, ...]
    folder: str = ""

    def is_touched(self, changed: Collection[str]) -> bool:
        """Return whether one of these files decides what it runs, or is what it runs."""
        named = {
            posixpath.normpath(posixpath.join(self.folder, word))
            for words in self.commands
            for word in words
        }
        return any(_DECIDES.fullmatch(path) or _is_named(path, named) for path in changed)

    def runs_own_program(self, paths: Collection[str]) -> bool:
        """Return whether it runs a program of the repository, which has these files."""
        return any(_runs_own(words, self.folder, paths) for words in self.commands)


def find_own_script(command: str, texts: Mapping[str, str]) -> OwnScript | None:
    """Return what the test script runs that the command calls; None where nobody can tell.

    That is also where a known runner of tests is among it: it would have said how many ran.
    `texts`: those of the files that `list_step_files` names, which others wrote.
    """
    [*before, entry] = split_chain(command) or [()]
    names = name_called_scripts(entry) if entry else []
    plain = [each.removeprefix(OF_MAKE) for each in names]
    if len(plain) != 1 or plain[0] not in _TESTS or any(each[:1] != ("cd",) for each in before):
        return None
    if any(
        _HIDES_FAILURES.search(text) for path, text in texts.items() if _DECIDES.fullmatch(path)
    ):
        return None
    try:
        commands = tuple(_follow(names[0], read_all_scripts(texts), MOST_LEVELS))
    except ValueError:
        return None
    if not commands or any(find_runner_call(" ".join(words)) for words in commands):
        return None
    return OwnScript(commands, posixpath.dirname(list_step_files(command)[0]))


def _follow(name: str, scripts: Mapping[str, str], levels: int) -> Iterator[Words]:
    """Yield what a script runs. Raises ValueError where it is no chain of plain commands."""
    if not levels:
        raise ValueError(name)
    for each in (f"pre{name}", name, f"post{name}"):
        chain = split_chain(scripts.get(each, ""))
        if each == name and not any(chain):
            raise ValueError(name)
        for words in filter(None, chain):
            called = [other for other in name_called_scripts(words) if other in scripts]
            for other in called:
                yield from _follow(other, scripts, levels - 1)
            if not called:
                yield words


def _runs_own(words: Words, folder: str, paths: Collection[str]) -> bool:
    while words and words[0] in _BEFORE:
        words = strip_variables(words[1:])
    program = words[0] if words else ""
    if program.startswith("./") or program in _PROGRAMS:
        return True
    if not _INTERPRETERS.fullmatch(program) or _READS_ONLY & {*words[1:]}:
        return False
    called = words[2:] if words[:2] == ("deno", "run") else words[1:]
    plain = [each for each in called if not each.startswith("-")]
    script = posixpath.normpath(posixpath.join(folder, plain[0])) if plain else ""
    return bool(script) and any(_is_named(path, (script,)) for path in paths)


def _is_named(path: str, names: Collection[str]) -> bool:
    """Return whether these name the file: also without its ending, or by its folder."""
    return path in names or any(path.startswith((f"{each}.", f"{each}/")) for each in names)
