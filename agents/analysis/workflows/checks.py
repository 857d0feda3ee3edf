"""Choose the checks that maintainers run themselves: in workflow files, and pre-commit's hooks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from agents.analysis.languages import SuggestedCheck, go_to, list_venvs
from agents.analysis.languages.ci_tools import MOST_WORKFLOWS, WORKFLOWS
from agents.analysis.languages.recipe import suggest
from agents.analysis.languages.workspaces import read_yaml
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.workflows.programs import JudgedCommand, judge_command
from agents.analysis.workflows.steps import (
    ACTIONS,
    MOST_ACTIONS,
    CiCommand,
    list_commands,
    read_mapping,
)
from agents.analysis.workflows.suite_scope import may_run_more_tests, runs_subset
from agents.policy import Check

HOOKS, HOOKS_SUBJECT = ".pre-commit-config.yaml", "hooks"
MOST_CHECKS = 12
MOST_OF_A_KIND = 3

_PLAIN_LANGUAGES = ("system", "script", "pygrep", "fail", "unsupported", "unsupported_script")


def list_ci_paths(paths: Iterable[str]) -> list[str]:
    """Return the files that say which checks maintainers run themselves."""
    listed = sorted(paths)
    found = [path for path in listed if re.fullmatch(WORKFLOWS, path)][:MOST_WORKFLOWS]
    actions = [path for path in listed if re.fullmatch(ACTIONS, path)][:MOST_ACTIONS]
    return [*found, *(actions if found else ()), *({HOOKS} & {*listed})]


def list_ci_checks(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the checks of the repository's workflows, each once, with its file as the source."""
    return _choose_checks(files)[0]


def list_left_out(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return the commands of known programs that the workflows run and that are not taken.

    They are too many, or stand in loops, conditions and the like.
    """
    return _choose_checks(files)[1]


def _choose_checks(
    files: RepositoryFiles,
) -> tuple[list[SuggestedCheck], list[SuggestedCheck]]:
    """Return the checks that are taken, and those that are not."""
    folders = {posixpath.dirname(path) for path in files.paths}
    folders |= {parent for folder in folders for parent in _list_parents(folder)}
    venvs = list_venvs(files)
    found: dict[tuple[str, str], SuggestedCheck] = {}
    names: dict[str, int] = {}
    left: dict[tuple[str, str], SuggestedCheck] = {}
    for each in list_commands(files):
        judged = judge_command(each.command)
        if judged is None or each.folder not in folders:
            continue
        key = (each.folder, judged.command)
        place = f" in {each.folder}" if each.folder else ""
        number = names.get(judged.subject + place, 0) + 1
        made = _make_check(judged, each, number, go_to(each.folder, venvs))
        if not each.plain:
            own = may_run_more_tests(judged.command, judged.subject)
            left[key] = replace(made, family=judged.command if own else made.family)
        elif number > MOST_OF_A_KIND or len(found) >= MOST_CHECKS:
            left[key] = made
        elif key not in found:
            names[judged.subject + place] = number
            part = runs_subset(judged.command, judged.subject, each.folder, files.paths)
            found[key] = replace(made, partial=part)
    return list(found.values()), [left[key] for key in left if key not in found]


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
    about = read_mapping(repository)
    hooks = about.get("hooks")
    listed = hooks if isinstance(hooks, tuple) else ()
    languages = [read_mapping(each).get("language") for each in listed]
    own = about.get("repo") == "local" and all(each in _PLAIN_LANGUAGES for each in languages)
    return own or about.get("repo") == "meta"


def _list_parents(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""
