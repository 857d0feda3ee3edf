"""Find programs in a command whose failure its exit status does not tell of."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from agents.analysis.test_runners.lost_status import LONGEST_COMMAND, find_lost_status
from agents.analysis.test_runners.steps import (
    MAKEFILES,
    PROGRAM,
    list_calls,
    list_scripts,
    list_step_files,
    read_folder,
)

_SHELL = (".sh", ".bash")
_STOPS = re.compile(r"\b\w{0,2}sh\s+-(?:\w*e|o errexit)")
_STOPS_ITSELF = re.compile(r"\#!.*\s-\w*e")
_IS_SHELL = re.compile(r"\#!.*\b(?:ba|da|z|k)?sh\b")
_MAKE_STOPS = re.compile(r"(?m)^\.SHELLFLAGS\s*[:?]?=.*-\w*e")
_MAKE_PIPES = re.compile(r"(?m)^(?:\.SHELLFLAGS|SHELL)\s*[:?]?=.*\bpipefail\b")
_MAKE_IGNORES = re.compile(
    r"(?m)^\.IGNORE\s*:|^(?:export\s+)?MAKEFLAGS\s*[:+?]?=.*(?:\s|=)(?:-\w*i|--ignore-errors)"
)
_IGNORES = re.compile(r"\bmake\s(?:\S+\s)*?(?:-[a-hj-z]*i|--ignore-errors)\b")


def list_script_files(command: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return what may be shell scripts that the command runs, by itself or by what files say.

    `texts`: those of the files that `list_step_files` names, and of scripts that are known so far.
    Scripts apart that are told to stop.
    """
    found = [
        path
        for path, call in _list_files(command, texts)
        if (path.endswith(_SHELL) or "." not in posixpath.basename(path))
        and not _STOPS.search(call)
    ]
    return tuple(sorted({*found}))


def list_program_files(command: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return all files that the command runs as programs; `texts`: as for scripts."""
    return tuple(sorted({path for path, _ in _list_files(command, texts)}))


def _list_files(command: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files that a command runs, each with the words of its call."""
    folder = read_folder(command)
    steps = list_step_files(command)
    scripts = [text for path, text in texts.items() if path not in steps]
    for text in (command, *list_scripts(command, texts), *scripts):
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
    makefiles = [text for path, text in of_manifests.items() if path.endswith(MAKEFILES)]
    if _IGNORES.search(command[:LONGEST_COMMAND]) or any(map(_MAKE_IGNORES.search, makefiles)):
        return command
    scripts = list_scripts(command, of_manifests)
    names = list_calls(command, of_manifests)
    stops = any(map(_MAKE_STOPS.search, makefiles))
    pipes = "set -o pipefail\n" if any(map(_MAKE_PIPES.search, makefiles)) else ""
    for text in (command, *scripts):
        lost = find_lost_status(pipes + text, stops=stops, scripts=names)
        if lost != "":
            return lost or command
    for path, text in texts.items():
        if path in of_manifests or not (path.endswith(_SHELL) or _IS_SHELL.match(text)):
            continue
        lost = find_lost_status(text, stops=bool(_STOPS_ITSELF.match(text)))
        if lost != "":
            return lost or path
    return ""
