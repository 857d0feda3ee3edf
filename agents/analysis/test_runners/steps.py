"""Tell what a command of manifests and Makefiles runs, and which files decide that."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from agents.analysis.test_runners.call import (
    find_manifest,
    name_script,
    read_scripts,
    strip_variables,
)
from agents.analysis.test_runners.runner import CommandWords
from agents.analysis.which_are_tests import is_test

MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
"""In the order of their precedence, the lowest first."""

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_STOPS = re.compile(r"^\s*set\s+-\w*e")
_QUIET = frozenset(("cd", "export", "set", "source", ".", "mkdir", "echo", "printf", "true", ":"))
"""They check nothing, so nobody misses what they would have said."""
_SERIAL = frozenset(("run-s", "run-p", "npm-run-all"))
_MAKE = frozenset(("make", "gmake", "$(MAKE)", "${MAKE}"))
_OF_MAKE = "make "  # begins the name of a target, which a script of a manifest cannot have
_AND = " && "
_IGNORED = ("||", ":")
"""Ends what make runs by a line that begins with a dash."""
_BETWEEN = re.compile(r"&&|\|\||[;|&\n(){}]")
_DECIDES = re.compile(
    r"(?:GNUm|[Mm])akefile(?:\.(?:am|in))?|.*\.mk|\.npmrc|\.yarnrc(?:\.yml)?|[Jj]ustfile|Taskfile\.ya?ml"
    r"|Rakefile|build\.xml|configure(?:\.ac)?"
)
PROGRAM = re.compile(
    r"(?:\b(?:node|deno|bun|tsx|ts-node|(?:ba|da|z|k)?sh|ruby|perl|php|lua|Rscript|python[\d.]*)"
    r"(?:\s+-\S+){0,9}\s+|(?<![\w/])\./)[\"']?([^\s\"';&|]{1,300})"
)
"""A file that a command runs, rather than one that it builds or reads."""
_AUTOMATIC = re.compile(r"(?<!\$)\$(?:[@^<*?+%|]|\([@^<*?+%|][DF]?\))")
"""What make puts a target or what it is made of in the place of: no shell sees these."""
_PREFIX = re.compile(r"[\s@+-]*")
_ONE_SHELL = re.compile(r"(?m)^\.ONESHELL\s*:")
_RULE = re.compile(r"([\w./-]+(?:[ \t]+[\w./-]+)*)[ \t]*:(?![:=])([^#;]*)")


def list_step_files(command: str) -> tuple[str, ...]:
    """Return the files that may say what the command runs."""
    by_make = _MAKE & {*_plain(command)}
    folder = read_folder(command)
    makefiles = [posixpath.join(folder, name) for name in MAKEFILES] if by_make else []
    found = (find_manifest(command), *makefiles)
    return tuple(each for each in found if each and not each.startswith(("/", "..")))


def read_folder(command: str) -> str:
    """Return the folder that the command changes to; empty where it stays."""
    words, folder = _plain(command), ""
    for at, word in enumerate(words[:-1]):
        if word == "cd" or (word == "-C" and _MAKE & {*words[:at]}):
            folder = posixpath.normpath(posixpath.join(folder, words[at + 1]))
    return folder


def runs_several(command: str, texts: Mapping[str, str]) -> bool:
    """Return whether several programs check something in it, one only where the others passed.

    `texts`: those of the files that `list_step_files` names, which others wrote.
    """
    return _count_steps(command, _read_all(texts), set()) > 1


def list_scripts(command: str, texts: Mapping[str, str]) -> list[str]:
    """Return what the manifests say that the command runs, each shell's script by itself."""
    called = _list_called(command, texts)
    return list(dict.fromkeys(script for _, scripts in called for script in scripts))


def list_calls(command: str, texts: Mapping[str, str]) -> set[str]:
    """Return the commands by which the command, and what it runs, call scripts with programs."""
    run = {script for script in list_scripts(command, texts) if PROGRAM.search(script)}
    return {call for call, scripts in _list_called(command, texts) if not run.isdisjoint(scripts)}


def _list_called(command: str, texts: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Return each call of a script of the manifests, with what the script runs."""
    known, found, left = _read_all(texts), dict[str, list[str]](), [command]
    followed = set[str]()
    while left:
        text = _QUOTED.sub("_", left.pop().replace("\\\n", " "))
        parts = (strip_variables(tuple(part.split())) for part in _BETWEEN.split(text))
        for words in filter(None, parts):
            names = [name for name in _name_scripts(words) if name in known]
            scripts = [each for name in names for each in known[name]]
            if scripts:
                found[" ".join(words)] = scripts
            left.extend(each for name in names if name not in followed for each in known[name])
            followed.update(names)
    return list(found.items())


def _read_all(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the scripts of shells that each name stands for."""
    scripts = dict[str, list[str]]()
    for path, text in texts.items():
        of_make = text and posixpath.basename(path) in MAKEFILES
        told = {name: [script] for name, script in read_scripts(text).items()}
        scripts |= _read_targets(text) if of_make else told
    return scripts


def list_touched_steps(
    command: str,
    before: Mapping[str, str],
    after: Mapping[str, str],
    changed: Collection[str],
) -> list[str]:
    """Return the changed files that decide what the command runs, or are a program that it names.

    Programs that are tests apart: that they can no longer fail is looked for by other means.
    `before`, `after`: the texts of the files that `list_step_files` names.
    """
    said = "\n".join((command, *before.values(), *after.values()))
    run = {posixpath.basename(each[1]) for each in PROGRAM.finditer(said)}
    return [path for path in changed if _decides(path, before, after, run)]


def _decides(
    path: str, before: Mapping[str, str], after: Mapping[str, str], run: Collection[str]
) -> bool:
    name = posixpath.basename(path)
    if path in before and name not in MAKEFILES:
        return read_scripts(before[path]) != read_scripts(after.get(path, ""))
    return bool(_DECIDES.fullmatch(name)) or (name in run and not is_test(path))


def _count_steps(command: str, scripts: Mapping[str, Sequence[str]], seen: set[str]) -> int:
    """Return how many programs a command runs, up to two; `seen`: scripts that were followed."""
    count = 0
    for words in _list_steps(command):
        names = [each for each in _name_scripts(words) if each in scripts]
        if posixpath.basename(words[0]) in _SERIAL:
            count += 2
        for name in names:
            fresh = name not in seen
            seen.add(name)
            script = _AND.join(scripts[name])
            count += _count_steps(script, scripts, seen) if fresh else 1
        count += not names
        if count > 1:
            break
    return count


def _name_scripts(words: CommandWords) -> list[str]:
    if words[0] in _MAKE:
        plain = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
        return [f"{_OF_MAKE}{each}" for each in plain] or [_OF_MAKE]
    return [name_script(words)[1]]


def _list_steps(command: str) -> Iterator[CommandWords]:
    """Yield the words of what runs only where all before it passed."""
    text = _QUOTED.sub("_", command.replace("\\\n", " "))
    between = r"&&|[;\n]" if _STOPS.match(text) else r"&&"
    for part in re.split(between, text):
        words = strip_variables(tuple(part.split()))
        if words and words[0] not in _QUIET and words[-2:] != _IGNORED:
            yield words


def _plain(command: str) -> Sequence[str]:
    return command.replace("'", "").replace('"', "").replace("&&", " ").split()


def _read_targets(makefile: str) -> dict[str, list[str]]:
    """Return the shells' scripts of each target; the first one goes without a name, too."""
    steps, names = dict[str, list[str]](), list[str]()
    for line in makefile.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            recipe = _read_recipe(line)
            for name in names if recipe else ():
                steps[name].append(recipe)
        elif found := _RULE.match(line):
            names = [f"{_OF_MAKE}{each}" for each in found[1].split() if each[0] != "."]
            for name in names:
                needs = [f"make {each}" for each in found[2].split()]
                steps.setdefault(name, []).extend(needs)
    if _ONE_SHELL.search(makefile):
        steps = {name: ["\n".join(each)] for name, each in steps.items()}
    return {_OF_MAKE: next(iter(steps.values()), []), **steps}


def _read_recipe(line: str) -> str:
    """Return what a line has the shell run; empty where that is nothing."""
    found = _PREFIX.match(line)
    text = line[found.end() :].strip() if found else ""
    recipe = _AUTOMATIC.sub("_", text).replace("$$", "$")
    if not recipe or recipe.startswith("#"):
        return ""
    return f"{recipe} {' '.join(_IGNORED)}" if found and "-" in found[0] else recipe
