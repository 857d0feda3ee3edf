"""Read the checks that maintainers run themselves: steps of workflow files, and pre-commit's hooks.

A step's command is taken where it is one plain command of a known program. It is what maintainers
wrote on the default branch, and the sandbox holds it like any other command of a repository.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from agents.analysis.ci_parts import is_part
from agents.analysis.ci_programs import JudgedCommand, judge_command
from agents.analysis.languages import SuggestedCheck, go_to, list_venvs
from agents.analysis.languages.ci_tools import MOST_WORKFLOWS, WORKFLOWS
from agents.analysis.languages.recipe import suggest
from agents.analysis.languages.workspaces import read_yaml
from agents.analysis.repository_files import RepositoryFiles
from agents.policy import Check

HOOKS, HOOKS_SUBJECT = ".pre-commit-config.yaml", "hooks"
MOST_CHECKS = 12
MOST_OF_A_KIND = 3
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
_PLAIN_LANGUAGES = ("system", "script", "pygrep", "fail", "unsupported", "unsupported_script")


@dataclass(frozen=True)
class CiCommand:
    """One command of a workflow, and where it runs."""

    command: str
    folder: str
    source: str


def list_ci_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that say which checks maintainers run themselves."""
    found = sorted(path for path in paths if re.fullmatch(WORKFLOWS, path))[:MOST_WORKFLOWS]
    return [*found, *({HOOKS} & {*paths})]


def list_ci_checks(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the checks of the repository's workflows, each once, with its file as the source."""
    return _choose_checks(files)[0]


def list_left_out(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the commands of known programs that the workflows run and that are too many."""
    return _choose_checks(files)[1]


def _choose_checks(
    files: RepositoryFiles,
) -> tuple[list[SuggestedCheck], list[SuggestedCheck]]:
    """Return the checks that are taken, and those that are too many."""
    folders = {posixpath.dirname(path) for path in files.paths}
    folders |= {parent for folder in folders for parent in _list_parents(folder)}
    venvs = list_venvs(files)
    found: dict[tuple[str, str], SuggestedCheck] = {}
    names: dict[str, int] = {}
    left: dict[tuple[str, str], SuggestedCheck] = {}
    for each in _list_commands(files):
        judged = judge_command(each.command)
        known = (each.folder, each.command) in found
        if judged is None or known or each.folder not in folders:
            continue
        place = f" in {each.folder}" if each.folder else ""
        number = names.get(judged.subject + place, 0) + 1
        made = _make_check(judged, each, number, go_to(each.folder, venvs))
        if number > MOST_OF_A_KIND or len(found) >= MOST_CHECKS:
            left[each.folder, each.command] = made
            continue
        names[judged.subject + place] = number
        part = is_part(judged.command, judged.subject, each.folder, files.paths)
        found[each.folder, each.command] = replace(made, partial=part)
    return list(found.values()), list(left.values())


def _make_check(judged: JudgedCommand, each: CiCommand, number: int, start: str) -> SuggestedCheck:
    """Return the check of a workflow's command; `start`: what leads to its folder."""
    place = f" in {each.folder}" if each.folder else ""
    subject = f"{judged.subject}{f' {number}' if number > 1 else ''}{place}"
    check = Check(name=subject, run=f"{start}{judged.command}")
    available = f"{start}{judged.available}"
    return SuggestedCheck(subject, check, available, each.source, judged.subject + place)


def list_hooks(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return pre-commit's hooks, where all are the repository's own: others would be fetched."""
    repositories = read_yaml(files.texts.get(HOOKS, "")).get("repos")
    listed = repositories if isinstance(repositories, tuple) else ()
    if not listed or not all(map(_has_own_hooks, listed)):
        return []
    return [suggest(HOOKS_SUBJECT, "pre-commit run --all-files", "command -v pre-commit")]


def _has_own_hooks(repository: object) -> bool:
    """Return whether hooks run without anything that would be fetched for them."""
    about = _mapping(repository)
    hooks = about.get("hooks")
    listed = hooks if isinstance(hooks, tuple) else ()
    languages = [_mapping(each).get("language") for each in listed]
    own = about.get("repo") == "local" and all(each in _PLAIN_LANGUAGES for each in languages)
    return own or about.get("repo") == "meta"


def _list_commands(files: RepositoryFiles) -> Iterator[CiCommand]:
    for path in files.match_paths(WORKFLOWS)[:MOST_WORKFLOWS]:
        workflow = read_yaml(files.texts.get(path, ""))
        if _OTHER_WORK.search(posixpath.basename(path)) or not _is_for_changes(workflow.get("on")):
            continue
        for name, job in _mapping(workflow.get("jobs")).items():
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
    parts = {key: _mapping(step).get(key) for key in ("run", "working-directory")}
    names = sorted({name for text in parts.values() for name in _MATRIX.findall(str(text))})
    matrix = _mapping(_mapping(job.get("strategy")).get("matrix"))
    choices = [_list_values(matrix, name) for name in names]
    if not names or not all(choices) or math.prod(map(len, choices)) > MOST_CHECKS:
        yield step
        return
    for values in product(*choices):
        chosen = dict(zip(names, values, strict=True))
        filled = {key: _fill_in(text, chosen) for key, text in parts.items()}
        yield {**_mapping(step), **filled}


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
    found += [_mapping(each).get(name) for each in (more if isinstance(more, tuple) else ())]
    values = list(dict.fromkeys(str(each) for each in found if each is not None))
    return values if all(map(_PLAIN_VALUE.fullmatch, values)) else []


def _list_step(
    path: str, step: object, around: tuple[Mapping[str, Any], ...]
) -> Iterator[CiCommand]:
    """Yield the plain commands of one step."""
    script = _mapping(step).get("run")
    if not isinstance(step, dict) or not isinstance(script, str) or not _is_run(step.get("if")):
        return
    given = [_mapping(_mapping(each.get("defaults")).get("run")) for each in around]
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
    found = {name: value for each in mappings for name, value in _mapping(each).items()}
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


def _list_parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
