"""Find the folders that a change touches and none of the checks that ran looks at.

Of several projects in one repository, the tests of one say nothing of the others. The files are
those of the change, which may bring a project of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.analysis.ci_parts import is_own_test
from agents.analysis.languages import (
    NamedCommand,
    find_unchecked,
    list_manifests,
    list_read_paths,
    list_touched,
)
from agents.analysis.repository_files import RepositoryFiles
from agents.pipelines.stages.quality.results import Baseline
from agents.run import StageContext

MOST_UNRUN = 20


async def find_unchecked_folders(
    run: StageContext, baseline: Baseline, changed: Sequence[str], commit: str
) -> tuple[str, ...]:
    """Return them; none where people named the checks, which then say all that is asked for."""
    if baseline.chosen or not baseline.runs:
        return ()
    paths = frozenset(await run.ports.source.files(commit))
    bare = RepositoryFiles(paths, {})
    touched = await asyncio.to_thread(list_touched, changed, bare)
    if not touched:
        return ()
    files = await _read_files(run, bare, touched, commit)
    checks = [NamedCommand(each.name, each.command) for each in baseline.runs]
    return await asyncio.to_thread(find_unchecked, touched, checks, files)


async def find_unrun_tests(run: StageContext, baseline: Baseline, commit: str) -> tuple[str, ...]:
    """Return its own files with tests, where no check runs any; none where people chose."""
    of_tests = any(each.failures.of_tests for each in baseline.runs)
    if baseline.chosen or of_tests or not baseline.runs:
        return ()
    paths = await run.ports.source.files(commit)
    return tuple(sorted(filter(is_own_test, paths))[:MOST_UNRUN])


async def _read_files(
    run: StageContext, bare: RepositoryFiles, touched: Sequence[str], commit: str
) -> RepositoryFiles:
    """Return the files with the texts of settings, and of the manifests in those folders."""
    listed = await asyncio.to_thread(list_read_paths, bare.paths)
    read = {*listed, *await asyncio.to_thread(list_manifests, touched, bare)}
    return RepositoryFiles(bare.paths, await run.read_texts(commit, sorted(read)))
