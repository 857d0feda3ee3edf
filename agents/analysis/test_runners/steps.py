"""Tell whether a command runs programs one after the other, of which one that fails stops it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from agents.analysis.test_runners.call import (
    find_manifest,
    name_script,
    read_scripts,
    strip_variables,
)
from agents.analysis.test_runners.runner import Words

MAKEFILE = "Makefile"

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_STOPS = re.compile(r"^\s*set\s+-\w*e")
_QUIET = frozenset(("cd", "export", "set", "source", ".", "mkdir", "echo", "printf", "true", ":"))
"""They check nothing, so nobody misses what they would have said."""
_SERIAL = frozenset(("run-s", "run-p", "npm-run-all"))
_MAKE = frozenset(("make", "gmake", "$(MAKE)", "${MAKE}"))
_OF_MAKE = "make "  # begins the name of a target, which a script of a manifest cannot have
_RULE = re.compile(r"([\w./-]+(?:[ \t]+[\w./-]+)*)[ \t]*:(?![:=])([^#;]*)")


def list_step_files(command: str) -> tuple[str, ...]:
    """Return the files that may say what the command runs."""
    words, folder = _plain(command), ""
    for at, word in enumerate(words[:-1]):
        if word == "cd" or (word == "-C" and _MAKE & {*words[:at]}):
            folder = posixpath.normpath(posixpath.join(folder, words[at + 1]))
    makefile = posixpath.join(folder, MAKEFILE) if _MAKE & {*words} else ""
    found = (find_manifest(command), makefile)
    return tuple(each for each in found if each and not each.startswith(("/", "..")))


def runs_several(command: str, texts: Mapping[str, str]) -> bool:
    """Return whether several programs check something in it, one only where the others passed.

    `texts`: those of the files that `list_step_files` names, which others wrote.
    """
    scripts = dict[str, str]()
    for path, text in texts.items():
        of_make = posixpath.basename(path) == MAKEFILE
        scripts |= _read_targets(text) if of_make else read_scripts(text)
    return _count_steps(command, scripts, set()) > 1


def _count_steps(command: str, scripts: Mapping[str, str], seen: set[str]) -> int:
    """Return how many programs a command runs, up to two; `seen`: scripts that were followed."""
    count = 0
    for words in _list_steps(command):
        names = [each for each in _name_scripts(words) if each in scripts]
        if posixpath.basename(words[0]) in _SERIAL:
            count += 2
        for name in names:
            fresh = name not in seen
            seen.add(name)
            count += _count_steps(scripts[name], scripts, seen) if fresh else 1
        count += not names
        if count > 1:
            break
    return count


def _name_scripts(words: Words) -> list[str]:
    if words[0] in _MAKE:
        plain = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
        return [f"{_OF_MAKE}{each}" for each in plain] or [_OF_MAKE]
    return [name_script(words)[1]]


def _list_steps(command: str) -> Iterator[Words]:
    """Yield the words of what runs only where all before it passed."""
    text = _QUOTED.sub("_", command.replace("\\\n", " "))
    between = r"&&|[;\n]" if _STOPS.match(text) else r"&&"
    for part in re.split(between, text):
        words = strip_variables(tuple(part.split()))
        if words and words[0] not in _QUIET:
            yield words


def _plain(command: str) -> Sequence[str]:
    return command.replace("'", "").replace('"', "").replace("&&", " ").split()


def _read_targets(makefile: str) -> dict[str, str]:
    """Return what each target runs as a command; the first one goes without a name, too."""
    steps, names = dict[str, list[str]](), list[str]()
    for line in makefile.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            recipe = line.strip().lstrip("@+")
            for name in names if recipe and not recipe.startswith(("-", "#")) else ():
                steps[name].append(recipe)
        elif found := _RULE.match(line):
            names = [f"{_OF_MAKE}{each}" for each in found[1].split() if each[0] != "."]
            for name in names:
                needs = [f"make {each}" for each in found[2].split()]
                steps.setdefault(name, []).extend(needs)
    made = {name: " && ".join(each) for name, each in steps.items()}
    return {_OF_MAKE: next(iter(made.values()), ""), **made}
