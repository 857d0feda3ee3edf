"""Read the commands of a workflow's steps: what a job runs on every change.

Workflows and actions of the repository that a step or a job uses are read with it. What they run is
what maintainers wrote on the default branch, and the sandbox holds it like any other command.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from agents.analysis.languages.ci_tools import MOST_WORKFLOWS, WORKFLOWS
from agents.analysis.languages.workspaces import read_yaml
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.workflows.scripts import SHELL, list_script_commands

MOST_FILLED_IN = 12  # values of a matrix that make commands of one step
MOST_VARIABLES = 6
LONGEST = 400  # characters of a command

_EVENTS = ("push", "pull_request", "merge_group", "pull_request_target")
_OTHER_WORK = re.compile(
    r"deploy|release|publish|upload|nightly|cron|stale|docker(?!.*test)", re.IGNORECASE
)
_OTHER_SYSTEM = re.compile(r"windows|macos|darwin", re.IGNORECASE)
_PASSED = re.compile(
    r"matrix|runner\.os|success\(\)|always\(\)|!cancelled\(\)|github\.event_name|needs\."
    r"|pull_request\.draft|github\.(?:repository|actor)"
)
_MATRIX = re.compile(r"\$\{\{ *matrix\.([\w-]{1,60}) *\}\}")
_PLACES = re.compile(
    r"version|python|node|ruby|php|java|jdk|rust|toolchain|dotnet|elixir|otp|go\b|^os$|platform"
    r"|runner|arch|image",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,60}")
_PLAIN_VALUE = re.compile(r"[\w./:=,+@-]{0,120}")
_PLAIN_WORDS = re.compile(r"[\w./:=,+@ -]{0,120}")
_OF_SHELL = re.compile(r"(?:bash|sh)\b")
_RETRIES = re.compile(r"nick-fields/retry@|nick-invision/retry@")
ACTIONS = r"(?:[\w.-]{1,60}/){1,4}action\.ya?ml"
MOST_ACTIONS = 20
_NO_FILES = RepositoryFiles(frozenset(), {})


@dataclass(frozen=True)
class CiCommand:
    """One command of a workflow, and where it runs."""

    command: str
    folder: str
    source: str
    plain: bool = True
    """Whether it can be run by itself, and is what the workflow runs."""


def list_commands(files: RepositoryFiles) -> Iterator[CiCommand]:
    """Yield the commands of the steps that are for every change."""
    paths = files.match_paths(WORKFLOWS)[:MOST_WORKFLOWS]
    workflows = {path: read_yaml(files.texts.get(path, "")) for path in paths}
    begun = [path for path in paths if _is_for_changes(workflows[path].get("on"))]
    used = {path for each in begun for path in _list_used(workflows[each])}
    used |= {path for each in used for path in _list_used(workflows.get(each, {}))}
    for path in paths:
        if _OTHER_WORK.search(posixpath.basename(path)) or path not in {*begun, *used}:
            continue
        for name, job in read_mapping(workflows[path].get("jobs")).items():
            if isinstance(job, dict) and _is_checking(name, job):
                for step in job["steps"]:
                    around = (workflows[path], job)
                    for each in _fill_in_matrix(step, job):
                        yield from _list_step(path, each, around, files)


def _list_used(workflow: Mapping[str, Any]) -> Iterator[str]:
    """Yield the workflows of the repository that jobs of this one are.

    https://docs.github.com/actions/how-tos/reuse-automations/reuse-workflows
    """
    for name, job in read_mapping(workflow.get("jobs")).items():
        uses = str(read_mapping(job).get("uses", ""))
        if uses.startswith("./") and not _OTHER_WORK.search(name) and _is_run(job.get("if")):
            yield posixpath.normpath(uses)


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
    return values if all(map(_PLAIN_WORDS.fullmatch, values)) else []


def _list_step(
    path: str, step: object, around: tuple[Mapping[str, Any], ...], files: RepositoryFiles
) -> Iterator[CiCommand]:
    """Yield the commands of one step, or of the steps of an action of the repository."""
    if not isinstance(step, dict) or not _is_run(step.get("if")):
        return
    uses, script = str(step.get("uses", "")), step.get("run")
    if uses.startswith("./"):
        for each in _list_action_steps(uses, files):
            yield from _list_step(path, each, around, _NO_FILES)  # one within another is not read
    if _RETRIES.match(uses):
        script = read_mapping(step.get("with")).get("command")
    given = [read_mapping(read_mapping(each.get("defaults")).get("run")) for each in around]
    shells = [str(each.get("shell", "sh")) for each in (*given, step)]
    places = [each.get("working-directory") for each in (*given, step)]
    start = next((each for each in reversed(places) if each is not None), "")
    if not isinstance(script, str) or not isinstance(start, str):
        return
    if not all(map(_OF_SHELL.match, shells)):
        return
    variables = _list_variables([*(each.get("env") for each in around), step.get("env")])
    for each in list_script_commands(script):
        folder = to_folder(posixpath.join(start, each.folder))
        if folder is not None and len(each.text) <= LONGEST:
            yield CiCommand(f"{variables}{each.text}", folder, path, each.plain)


def _list_action_steps(uses: str, files: RepositoryFiles) -> Sequence[object]:
    """Return the steps of an action of the repository.

    https://docs.github.com/actions/reference/workflows-and-actions/metadata-syntax
    """
    folder = posixpath.normpath(uses)
    named = (files.texts.get(f"{folder}/action.{ending}", "") for ending in ("yml", "yaml"))
    steps = read_mapping(read_yaml(next(filter(None, named), "")).get("runs")).get("steps")
    return steps if isinstance(steps, tuple) else ()


def _list_variables(mappings: Iterable[object]) -> str:
    """Return the variables as they stand before a command; those with secrets are not there."""
    found = {name: value for each in mappings for name, value in read_mapping(each).items()}
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
    if normal.startswith(("..", "/")) or SHELL.search(path) or not path.isprintable():
        return None
    return "" if normal == "." else normal


def read_mapping(value: object) -> dict[str, Any]:
    """Return it if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}
