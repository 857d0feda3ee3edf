"""Find what a change touches and none of the checks that ran looks at: folders, and tests.

Of several projects in one repository, the tests of one say nothing of the others, and those of one
language nothing of another. The files are those of the change, which may bring a project of its
own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agents.analysis.languages import (
    NamedCommand,
    find_unchecked,
    list_families,
    list_manifests,
    list_read_paths,
    list_touched,
)
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.which_are_tests import find_language
from agents.analysis.workflows.parts import is_own_test
from agents.pipelines.stages.quality.results import Baseline
from agents.run import StageContext

MOST_UNRUN = 20
_BUILDS = r"CMakeLists\.txt|meson\.build|[Mm]akefile(\.am|\.in)?|configure(\.ac)?"


@dataclass(frozen=True)
class Unchecked:
    """What of the repository no check looks at, though the change may matter to it."""

    folders: tuple[str, ...] = ()
    """Folders of projects that the change touches."""
    tests: tuple[str, ...] = ()
    """Files with tests that none of the checks runs."""


async def find_unchecked_parts(
    run: StageContext, baseline: Baseline, changed: Sequence[str], commit: str
) -> Unchecked:
    """Return them; nothing where people named the checks, which then say all that is asked for."""
    if baseline.chosen or not baseline.runs:
        return Unchecked()
    paths = frozenset(await run.ports.source.files(commit))
    bare = RepositoryFiles(paths, {})
    touched = await asyncio.to_thread(list_touched, changed, bare)
    files = await _read_files(run, bare, touched, commit)
    return await asyncio.to_thread(_find_unchecked, baseline, changed, touched, files)


def _find_unchecked(
    baseline: Baseline, changed: Sequence[str], touched: Sequence[str], files: RepositoryFiles
) -> Unchecked:
    checks = [NamedCommand(each.name, each.command) for each in baseline.runs]
    of_tests = [
        NamedCommand(each.name, each.command) for each in baseline.runs if each.failures.of_tests
    ]
    folders = find_unchecked(touched, checks, files)
    own = sorted(filter(is_own_test, files.paths))
    if of_tests:
        untested = find_unchecked(touched, of_tests, files)
        run = list_families(of_tests)
        languages = {find_language(path) for path in changed} - {"", *(run or ())}
        if not files.any_named(_BUILDS):
            languages -= {"c"}  # what tests in another language load
        own = [
            path
            for path in own
            if (run is not None and find_language(path) in languages)
            or any(path.startswith(f"{folder}/") for folder in untested)
        ]
    return Unchecked(folders, tuple(own[:MOST_UNRUN]))


async def _read_files(
    run: StageContext, bare: RepositoryFiles, touched: Sequence[str], commit: str
) -> RepositoryFiles:
    """Return the files with the texts of settings, and of the manifests in those folders."""
    listed = await asyncio.to_thread(list_read_paths, bare.paths)
    read = {*listed, *await asyncio.to_thread(list_manifests, touched, bare)}
    return RepositoryFiles(bare.paths, await run.read_texts(commit, sorted(read)))
