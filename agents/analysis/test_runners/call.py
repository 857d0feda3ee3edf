"""Find the runner of tests that a command calls, and where in the command its arguments go."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agents.analysis.repository_files import table
from agents.analysis.test_runners.runner import CommandWords, TestRunner

ARGUMENTS = '"$@"'
"""Stands in a command for its arguments, which no shell reads."""
MOST_LEVELS = 4  # scripts that call each other
LONGEST = 2_000  # characters of a command or script

_TOKEN = re.compile(
    r"'[^']*'|\"(?:[^\"\\`$]|\\.|\$(?!\())*\"|\\[^\n]|&&|[^\s'\"\\|;<>()`#&$]+|\$(?![('\"])|[ \t]+"
)
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = frozenset(("npx", "bunx", "pnpx", "env", "cross-env", "c8", "nyc", "time", "bundle"))
"""Programs that run another one, with options, and with variables for it."""
_ENVIRONMENTS = frozenset(("uv", "poetry", "pdm", "pipenv", "hatch", "rye"))
"""Programs whose `run` runs another one in the project's environment."""
_WITH_VALUE = re.compile(r"--(?:group|only-group|extra|with|python|package|env-file|project)|-[pP]")
_SCRIPT_RUNNERS = frozenset(("npm", "yarn", "pnpm", "bun", "composer"))
_PROGRAM_RUNNERS = frozenset(("yarn", "pnpm", "bun"))
"""Those of them that run a package's program, too."""
_ELSEWHERE = re.compile(r"-(?:[wCFr]|-workspaces?|-prefix|-dir|-filter|-recursive|-cwd)\b")
"""Options with which the script of another folder is run, or more than one."""
_SUFFIX = re.compile(r"\.(?:[cm]?js|phar|bat|cmd|exe)$")


@dataclass(frozen=True)
class RunnerCall:
    """A call of a runner, found in a command."""

    runner: TestRunner
    line: str
    """The command, with ARGUMENTS where the runner's go; the same where it takes none."""
    before: CommandWords = ()
    """What stands in front of the arguments, so that they come through."""
    words: CommandWords = ()
    """The words of the call itself."""
    takes_arguments: bool = True

    def pass_on(self, arguments: Sequence[str]) -> CommandWords:
        """Return the arguments as the command takes them."""
        if "--" in self.words:  # those of the tests' own program have begun already
            arguments = [each for each in arguments if each != "--"]
        return (*self.before, *arguments) if arguments else ()


@dataclass(frozen=True)
class _CallSearch:
    runners: Sequence[TestRunner]
    scripts: Mapping[str, str]
    levels: int = MOST_LEVELS
    """How many scripts may still call each other."""

    @property
    def in_script(self) -> bool:
        """Return whether arguments are put behind the command by whoever runs the script."""
        return self.levels < MOST_LEVELS


def find_manifest(command: str) -> str:
    """Return the file that says what a script is which the command runs; empty: it runs none."""
    folder = ""
    for part in _split(command):
        words = strip_variables(_words(part))
        if len(words) == 2 and words[0] == "cd":
            folder = posixpath.join(folder, words[1])
        elif words and words[0] in _SCRIPT_RUNNERS:
            name = "composer.json" if words[0] == "composer" else "package.json"
            path = posixpath.normpath(posixpath.join(folder, name))
            return "" if path.startswith(("/", "..")) else path
    return ""


def find_call(command: str, runners: Sequence[TestRunner], manifest: str = "") -> RunnerCall | None:
    """Return the only call of a runner in the command; None where there is none, or are several.

    `manifest`: the text of the file that `find_manifest` names, which others wrote. Only plain
    commands one after the other are read: no pipes, redirections or substitutions.
    """
    # Composer adds arguments to each line, so scripts of several take none.
    scripts = {name: lines[0] for name, lines in _list_scripts(manifest) if len(lines) == 1}
    return _find(command, _CallSearch(runners, scripts))


def _find(command: str, search: _CallSearch) -> RunnerCall | None:
    parts = _split(command)
    found = [(at, call) for at, part in enumerate(parts) if (call := _find_in_part(part, search))]
    if len(found) != 1:
        return None
    [(at, call)] = found
    if search.in_script and at != len(parts) - 1:
        return None
    return replace(call, line="&&".join((*parts[:at], call.line, *parts[at + 1 :])))


def _find_in_part(part: str, search: _CallSearch) -> RunnerCall | None:
    written = strip_variables(_words(part))
    words = _strip_prefixes(written)
    for runner in search.runners:
        if any(_begins_with(words, call) for call in runner.calls):
            plain = not runner.options_first or all(each[:1] == "-" for each in words[1:])
            if plain:
                return RunnerCall(runner, _add_at_end(part), words=words)
            if search.in_script or part.count(words[0]) != 1:
                return RunnerCall(runner, part, words=words, takes_arguments=False)
            return RunnerCall(
                runner, part.replace(words[0], f"{words[0]} {ARGUMENTS}"), words=words
            )
    return _find_in_script(part, written, search)


def _find_in_script(part: str, words: CommandWords, search: _CallSearch) -> RunnerCall | None:
    program, name = name_script(words)
    script = search.scripts.get(name, "")
    if not script or not search.levels:
        return None
    call = _find(script, replace(search, levels=search.levels - 1))
    if call is None:
        return None
    dashes = ("--",) if program in ("npm", "composer") and "--" not in words else ()
    return replace(call, line=_add_at_end(part), before=(*dashes, *call.before))


def name_script(words: CommandWords) -> tuple[str, str]:
    """Return who runs a script of the folder's manifest, and its name; empty: nobody does."""
    if not words or words[0] not in _SCRIPT_RUNNERS or any(map(_ELSEWHERE.match, words)):
        return "", ""
    program, *rest = words
    plain = [each for each in rest if not each.startswith("-")]
    if plain[:1] in (["run"], ["run-script"]):
        plain = plain[1:]
    elif program == "bun":
        return "", ""  # `bun test` is Bun's own runner
    name = plain[0] if plain else ""
    return program, "test" if program == "npm" and name == "t" else name


def _add_at_end(part: str) -> str:
    plain = part.rstrip()
    return f"{plain} {ARGUMENTS}{part[len(plain) :]}"


def _begins_with(words: CommandWords, call: CommandWords) -> bool:
    """Return whether the words call that program; options may stand behind the first."""
    if not words or _SUFFIX.sub("", posixpath.basename(words[0])) != call[0]:
        return False
    rest = [each for each in words[1:] if not each.startswith(("-", "+"))]
    options = [each for each in call[1:] if each.startswith("-")]
    plain = [each for each in call[1:] if not each.startswith("-")]
    return rest[: len(plain)] == plain and all(each in words for each in options)


def _strip_prefixes(words: CommandWords) -> CommandWords:
    """Return the words without programs that run another one, by a path or from a package."""
    while words and words[0] in _PREFIXES:
        words = words[1:]
        while words and (words[0].startswith("-") or _VARIABLE.match(words[0])):
            words = words[1:]
        words = words[1:] if words[:1] == ("exec",) else words
    if words[1:2] == ("run",) and words[0] in _ENVIRONMENTS:
        words = _strip_options(words[2:])
    if words[:1] in (("node",), ("php",)):
        scripts = [at for at, each in enumerate(words) if at and not each.startswith("-")]
        by_path = scripts and "/" in words[scripts[0]] and "--test" not in words
        return words[scripts[0] :] if by_path else words
    if words and words[0] in _PROGRAM_RUNNERS and words[1:]:
        rest = words[2:] if words[1] in ("run", "exec") else words[1:]
        return rest if rest and not rest[0].startswith("-") and rest[0] != "test" else words
    return words


def _strip_options(words: CommandWords) -> CommandWords:
    """Return the words without the options in front, and their values."""
    while words and words[0].startswith("-"):
        words = words[2:] if _WITH_VALUE.fullmatch(words[0]) else words[1:]
    return words


def strip_variables(words: CommandWords) -> CommandWords:
    """Return the words without the variables that are set in front of them."""
    while words and _VARIABLE.match(words[0]):
        words = words[1:]
    return words


def _words(part: str) -> CommandWords:
    try:
        return tuple(shlex.split(part))
    except ValueError:
        return ()


def _split(command: str) -> list[str]:
    """Return the commands that follow each other; nothing where it is more than such a chain."""
    text, at, parts = command.strip(), 0, [""]
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(text) > LONGEST:
            return []
        if found[0] == "&&":
            parts.append("")
        else:
            parts[-1] += found[0]
        at = found.end()
    return parts


def read_scripts(manifest: str) -> Mapping[str, str]:
    """Return the scripts of a manifest, by name; those of several lines as one command."""
    return {name: " && ".join(lines) for name, lines in _list_scripts(manifest)}


def _list_scripts(manifest: str) -> Iterator[tuple[str, list[str]]]:
    try:
        found = json.loads(manifest)
    except (ValueError, RecursionError):
        return
    for name, script in table(found, "scripts").items():
        lines = script if isinstance(script, list) else [script]
        if lines and all(isinstance(line, str) for line in lines):
            yield name, [str(line) for line in lines]
