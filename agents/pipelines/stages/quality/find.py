"""The checks of a repository that can run in its sandbox: from its policy, else from its files."""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Iterable, Sequence

from agents.analysis.ci_checks import (
    HOOKS,
    HOOKS_SUBJECT,
    count_left_out,
    list_ci_checks,
    list_ci_paths,
    list_hooks,
)
from agents.analysis.languages import (
    SuggestedCheck,
    find_folder,
    list_read_paths,
    list_suggestions,
)
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.service_start import explain_unavailable, wrap_with_services
from agents.analysis.services import Service, find_services, list_service_paths
from agents.pipelines.stages.quality.results import BY_POLICY, RepositoryCheck
from agents.ports import WorkTree
from agents.run import StageContext

SERVICE_TIMEOUT = 120.0  # seconds for one server to start
_NOT_STARTED = "{kind}, which {source} names, did not start in the sandbox"
_LINTS = re.compile(r"\b(?:lint|types|format|vet)\b")
_DETECTED = "found in the repository's files"
_LEFT_OUT = "; {count} more commands of its workflows are left out: `quality` can name them"
_NOT_HERE = "; {commands} is left out: only its settings are there, not its program"
_NO_HOOKS = "; pre-commit's hooks are left out: what they need is not in the sandbox"


async def find_checks(run: StageContext) -> tuple[list[RepositoryCheck], tuple[str, ...], str]:
    """Return the checks that can run, the commands of those that cannot, and who named them."""
    policy = await run.policy()
    if policy.quality is not None:
        return [RepositoryCheck(**dict(each)) for each in policy.quality], (), BY_POLICY
    tree = await run.tree(run.base)
    chosen: dict[str, SuggestedCheck] = {}
    missing: dict[str, SuggestedCheck] = {}
    probed: dict[str, bool] = {}
    files = await _files(run)
    for candidate in await asyncio.to_thread(_list_candidates, files):
        if candidate.subject in chosen:
            continue
        if candidate.available not in probed:
            probed[candidate.available] = await _available(tree, candidate)
        if probed[candidate.available]:
            chosen[candidate.subject] = candidate
        else:
            missing.setdefault(candidate.subject, candidate)
    missing.pop(HOOKS_SUBJECT, None)
    # What another command of the same subject stands in for is not missing.
    gone = [each for subject, each in missing.items() if subject not in chosen]
    absent = tuple(each.check.run for each in gone if not _is_guessed_linter(each))
    source = _describe_source(chosen.values())
    if unused := [f"`{each.check.run}`" for each in gone if _is_guessed_linter(each)]:
        source += _NOT_HERE.format(commands=", ".join(unused))
    if left := await asyncio.to_thread(count_left_out, files):
        source += _LEFT_OUT.format(count=left)
    if HOOKS in files.paths and HOOKS_SUBJECT not in chosen:
        source += _NO_HOOKS
    checks = [
        RepositoryCheck(**dict(each.check), named=bool(each.source)) for each in chosen.values()
    ]
    return checks, absent, source


async def find_running_services(run: StageContext) -> tuple[tuple[Service, ...], tuple[str, ...]]:
    """Return the servers that start here of those that the repository names, and why others do not.

    What the repository's default branch says counts, also for what others changed since.
    """
    source = run.ports.source
    read = await asyncio.to_thread(list_service_paths, await source.files(run.base))
    texts = await run.read_texts(run.base, read)
    found = await asyncio.to_thread(find_services, texts)
    starting: list[Service] = []
    reasons = list(found.unknown)
    for service in found.services:
        tree = await run.tree()
        result = await tree.run(wrap_with_services(["true"], [service]), timeout=SERVICE_TIMEOUT)
        why = explain_unavailable(result, [service])
        if why or result.exit_code:
            reasons.append(why or _NOT_STARTED.format(kind=service.kind, source=service.source))
        else:
            starting.append(service)
    return tuple(starting), tuple(reasons)


def order_by_touched(commands: Sequence[str], changed: Iterable[str]) -> list[int]:
    """Return the places of these commands, those of the folders that a change touches first."""
    folders = [find_folder(command) for command in commands]
    nearest = {_find_nearest(path, folders) for path in changed}
    return sorted(range(len(commands)), key=lambda at: folders[at] not in nearest)


def _find_nearest(path: str, folders: Sequence[str]) -> str:
    """Return the deepest of these folders that the path lies in; empty for the root."""
    parent = posixpath.dirname(path)
    while parent and parent not in folders:
        parent = posixpath.dirname(parent)
    return parent


def _list_candidates(files: RepositoryFiles) -> list[SuggestedCheck]:
    """Return what maintainers run themselves before what the files merely suggest."""
    return [*list_ci_checks(files), *list_suggestions(files), *list_hooks(files)]


def _is_guessed_linter(check: SuggestedCheck) -> bool:
    """Return whether settings alone suggest it, which say that somebody lints, not that CI does.

    Editors and hooks do, with a program of their own: that it is not here says nothing of a change.
    """
    return not check.source and bool(_LINTS.search(check.subject))


def _describe_source(checks: Iterable[SuggestedCheck]) -> str:
    named = dict.fromkeys(f"`{each.source}`" for each in checks if each.source)
    return f"{_DETECTED}, of them {', '.join(named)}" if named else _DETECTED


async def _files(run: StageContext) -> RepositoryFiles:
    source = run.ports.source
    paths = frozenset(await source.files(run.base))
    read = {*await asyncio.to_thread(list_read_paths, paths), *list_ci_paths(paths)}
    return RepositoryFiles(paths, await run.read_texts(run.base, sorted(read)))


async def _available(tree: WorkTree, candidate: SuggestedCheck) -> bool:
    result = await tree.run(["bash", "-c", candidate.available], timeout=30, writable=False)
    return result.exit_code == 0
