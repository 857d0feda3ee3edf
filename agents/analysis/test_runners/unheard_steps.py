"""Find programs in a command whose failure its exit status does not tell of."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from agents.analysis.test_runners.steps import PROGRAM, list_scripts, list_step_files, read_folder

LONGEST = 100_000  # characters of a script that are read

_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#(?!!).*$")
_TEXTS = re.compile(r"'[^']*+'")
_HEEDS = re.compile(
    r"\|\||\$\?|PIPESTATUS|\b(?:exit|return|errexit)\b|\btrap\b.*\bERR\b|\bset\s+-\w*e|^\#!.*\s-\w*e"
    r"|\bif\s+(?!\[|test\b|command\b|which\b)"
)
"""The script itself sees to what fails: how well is not asked."""
_HEEDS_LAST = re.compile(
    r"\b(?:exit|return)\s+\"?\$\?|\|\|\s*(?:true|:)(?!\w)"
    r"|\b(?:cd|pushd)\b[^;\n|&]*+\|\|\s*(?:exit|return)(?:\s+\d+)?"
)
"""And what looks so, and asks of the last program alone, or of none."""
_STOPS = re.compile(r"\b\w{0,2}sh\s+-(?:\w*e|o errexit)")
_LOOPS = re.compile(r"(?:^|[;\n])\s*(?:for|while|until)\b")
_LEADS = re.compile(
    r"^(?:(?:do|then|time|exec|env|command|valgrind(?:\s+-\S+){0,9}|timeout\s+\S+|[({@!+])\s*)+"
)
_MAKE_STOPS = re.compile(r"(?m)^\.SHELLFLAGS\s*[:?]?=.*-\w*e")
_RUNS = re.compile(r"(?:\"?\$|(?:\"?\$\w*/)?\w[\w.-]*/)[^\s=]*(?:\s|$)")
"""A program by its path, or one that a variable names."""


def list_script_files(command: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the shell scripts that the command runs, by itself or by what its manifests say.

    `texts`: those of the files that `list_step_files` names. Scripts apart that are told to stop.
    """
    shell = (".sh", ".bash")
    found = [
        path
        for path, call in _list_files(command, texts)
        if path.endswith(shell) and not _STOPS.search(call)
    ]
    return tuple(sorted({*found}))


def list_program_files(command: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return all files that the command runs as programs; `texts`: as for scripts."""
    return tuple(sorted({path for path, _ in _list_files(command, texts)}))


def _list_files(command: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files that a command runs, each with the words of its call."""
    folder = read_folder(command)
    for text in (command, *list_scripts(command, texts)):
        for found in PROGRAM.finditer(text):
            path = posixpath.normpath(posixpath.join(folder, found[1]))
            if not path.startswith(("/", "..")):
                yield path, found[0]


def find_unheard(command: str, texts: Mapping[str, str]) -> str:
    """Return a program of the command whose failure is lost; empty where none is known.

    Others run after it, and nothing there asks how it ended. `texts`: those of the files that
    `list_step_files` and `list_script_files` name, which others wrote.
    """
    of_manifests = {path: texts.get(path, "") for path in list_step_files(command)}
    if any(map(_MAKE_STOPS.search, of_manifests.values())):
        return ""
    files = [text for path, text in texts.items() if path not in of_manifests]
    for text in (command, *list_scripts(command, of_manifests), *files):
        script = _TEXTS.sub("_", _COMMENT.sub("", text[:LONGEST].replace("\\\n", " ")))
        script = _HEEDS_LAST.sub("", script)
        programs = [] if _HEEDS.search(script) else [*_list_programs(script)]
        if len(programs) > 1 or (programs and _LOOPS.search(script)):
            return programs[0]
    return ""


def _list_programs(script: str) -> Iterator[str]:
    """Yield the commands of a script that run a file: what builds it says itself what fails."""
    waits = re.search(r"\bwait\b", script)
    for part in re.findall(r"[^;\n&]+(?:&&[^;\n&]+)*+&?", script):
        text = _LEADS.sub("", part.strip())
        in_background = text.endswith("&")
        if (PROGRAM.match(text) or _RUNS.match(text)) and (waits or not in_background):
            yield text
