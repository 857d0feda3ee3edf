"""Read the commands of a workflow's steps: what a job runs on every change, line by line.

A command is taken where it is one plain command. It is what maintainers wrote on the default
branch, and the sandbox holds it like any other command of a repository.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from agents.analysis.languages.ci_tools import MOST_WORKFLOWS, WORKFLOWS
from agents.analysis.languages.workspaces import read_yaml
from agents.analysis.repository_files import RepositoryFiles

MOST_FILLED_IN = 12  # values of a matrix that make commands of one step
MOST_VARIABLES = 6
LONGEST = 400  # characters of a command

_EVENTS = ("push", "pull_request", "merge_group", "pull_request_target")
_OTHER_WORK = re.compile(r"deploy|release|publish|upload|nightly|cron|stale|docker", re.IGNORECASE)
_OTHER_SYSTEM = re.compile(r"windows|macos|darwin", re.IGNORECASE)
_PASSED = re.compile(r"matrix|runner\.os|success\(\)|!cancelled\(\)|github\.event_name")
_SHELL = re.compile(r"[|<>;`$&(){}*?!#\\]|\$\{\{")
_MATRIX = re.compile(r"\$\{\{ *matrix\.([\w-]{1,60}) *\}\}")
_PLACES = re.compile(
    r"version|python|node|ruby|php|java|jdk|rust|toolchain|dotnet|elixir|otp|go\b|^os$|platform"
    r"|runner|arch|image",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}")
_PLAIN_VALUE = re.compile(r"[\w./:=,+@-]{0,120}")
_BLOCKS = re.compile(r"(?:if|for|while|case|until|function)\b|<<|.*\(\)\s*\{")
_GO = re.compile(r"cd\s+([\w./-]+)")


@dataclass(frozen=True)
class CiCommand:
    """One command of a workflow, and where it runs."""

    command: str
    folder: str
    source: str


def list_commands(files: RepositoryFiles) -> Iterator[CiCommand]:
    """Yield the plain commands of the steps that are for every change."""
    for path in files.match_paths(WORKFLOWS)[:MOST_WORKFLOWS]:
        workflow = read_yaml(files.texts.get(path, ""))
        if _OTHER_WORK.search(posixpath.basename(path)) or not _is_for_changes(workflow.get("on")):
            continue
        for name, job in read_mapping(workflow.get("jobs")).items():
            if isinstance(job, dict) and _is_checking(name, job):
                for step in job["steps"]:
                    for each in _fill_in_matrix(step, job):
                        yield from _list_step(path, each, (workflow, job))


def _is_for_changes(events: object) -> bool:
    named = (events,) if isinstance(events, str) else events
    return isinstance(named, tuple | dict) and any(each in _EVENTS for each in named)


def _is_checking(name: str, job: Mapping[str, Any]) -> bool:
    """Return whether a job runs here, and does nothing to the world."""
    runs_on = job.get("runs-on")
    return (
        isinstance(job.get("steps"), tuple)
        and not _OTHER_WORK.search(f"{name} {job.get('name', '')}")
        and not _OTHER_SYSTEM.search(runs_on if isinstance(runs_on, str) else "")
        and _is_run(job.get("if"))
    )


def _is_run(condition: object) -> bool:
    """Return whether a part of a workflow with this condition is for every change."""
    if condition is None:
        return True
    text = str(condition)
    return bool(_PASSED.search(text)) and not _OTHER_SYSTEM.search(text)


def _fill_in_matrix(step: object, job: Mapping[str, Any]) -> Iterator[object]:
    """Yield the step once for each value of the job's matrix in it; as it is where nobody can tell.

    Matrices of versions and systems say where a step runs, not what: one run stands for all.
    https://docs.github.com/actions/how-tos/write-workflows/choose-what-workflows-do/run-job-variations
    """
    parts = {key: read_mapping(step).get(key) for key in ("run", "working-directory")}
    names = sorted({name for text in parts.values() for name in _MATRIX.findall(str(text))})
    matrix = read_mapping(read_mapping(job.get("strategy")).get("matrix"))
    choices = [_list_values(matrix, name) for name in names]
    if not names or not all(choices) or math.prod(map(len, choices)) > MOST_FILLED_IN:
        yield step
        return
    for values in product(*choices):
        chosen = dict(zip(names, values, strict=True))
        filled = {key: _fill_in(text, chosen) for key, text in parts.items()}
        yield {**read_mapping(step), **filled}


def _fill_in(text: object, values: Mapping[str, str]) -> object:
    if not isinstance(text, str):
        return text
    return _MATRIX.sub(lambda found: values[found[1]], text)


def _list_values(matrix: Mapping[str, Any], name: str) -> list[str]:
    """Return the plain values of one variable of a matrix; none for a version or a system."""
    if _PLACES.search(name):
        return []
    listed = matrix.get(name, ())
    more = matrix.get("include", ())
    found = [*listed] if isinstance(listed, tuple) else []
    found += [read_mapping(each).get(name) for each in (more if isinstance(more, tuple) else ())]
    values = list(dict.fromkeys(str(each) for each in found if each is not None))
    return values if all(map(_PLAIN_VALUE.fullmatch, values)) else []


def _list_step(
    path: str, step: object, around: tuple[Mapping[str, Any], ...]
) -> Iterator[CiCommand]:
    """Yield the plain commands of one step."""
    script = read_mapping(step).get("run")
    if not isinstance(step, dict) or not isinstance(script, str) or not _is_run(step.get("if")):
        return
    given = [read_mapping(read_mapping(each.get("defaults")).get("run")) for each in around]
    shells = [each.get("shell") for each in (*given, step)]
    if any(each not in (None, "bash", "sh") for each in shells):
        return
    places = [each.get("working-directory") for each in (*given, step)]
    start = next((each for each in reversed(places) if each is not None), "")
    variables = _list_variables([*(each.get("env") for each in around), step.get("env")])
    lines = [line.strip() for line in re.split(r"\n|&&", script.replace("\\\n", " "))]
    if variables is None or not isinstance(start, str) or any(map(_BLOCKS.match, lines)):
        return
    folder: str | None = to_folder(start)
    for line in lines:
        if moved := _GO.fullmatch(line):
            folder = None if folder is None else to_folder(posixpath.join(folder, moved[1]))
        command = " ".join(line.split())
        if folder is not None and 0 < len(command) <= LONGEST and not _SHELL.search(command):
            yield CiCommand(f"{variables}{command}", folder, path)


def _list_variables(mappings: Iterable[object]) -> str | None:
    """Return the variables as they stand before a command; None where a secret is among them."""
    found = {name: value for each in mappings for name, value in read_mapping(each).items()}
    if any("secrets." in str(value) for value in found.values()):
        return None
    plain = {
        name: str(value)
        for name, value in found.items()
        if _VARIABLE.fullmatch(name) and _PLAIN_VALUE.fullmatch(str(value))
    }
    words = (f"{name}={shlex.quote(value)} " for name, value in plain.items())
    return "".join(words) if len(plain) <= MOST_VARIABLES else ""


def to_folder(path: str) -> str | None:
    """Return a folder of the repository, empty for the root; None for one outside, or unknown."""
    normal = posixpath.normpath(path or ".")
    if normal.startswith(("..", "/")) or _SHELL.search(path) or not path.isprintable():
        return None
    return "" if normal == "." else normal


def read_mapping(value: object) -> dict[str, Any]:
    """Return it if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}
