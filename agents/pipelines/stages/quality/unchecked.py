"""Find what a change touches and none of the checks that ran looks at: folders, tests, files.

Of several projects in one repository, the tests of one say nothing of the others, and those of one
language nothing of another. The files are those of the change, which may bring a project of its
own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.analysis.languages import (
    NamedCommand,
    find_unchecked,
    is_code,
    list_families,
    list_manifests,
    list_read_paths,
    list_touched,
)
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.test_runners import list_step_files
from agents.analysis.which_are_tests import find_language, is_test
from agents.analysis.workflows.suite_scope import is_own_test
from agents.pipelines.stages.quality.documentation import find_reader, is_document
from agents.pipelines.stages.quality.results import Baseline, UnseenFiles
from agents.run import StageContext

MOST_UNRUN = 20
MOST_UNSEEN = 8
_BUILDS = r"CMakeLists\.txt|meson\.build|[Mm]akefile(\.am|\.in)?|configure(\.ac)?"

_OPERATIONS = re.compile(
    r"(?:[\w.-]+\.)?(?:Docker|Container)file(?:[.-][\w.-]+)?|(?:docker-)?compose[\w.-]*\.ya?ml"
    r"|[\w.-]+\.(?:tf|tfvars|hcl|bicep|service|timer|socket)|Chart\.yaml|crontab|Procfile"
    r"|nginx\.conf"
)
"""What is built, deployed and started with: no runner of tests looks at these."""
_STYLES = re.compile(r"\.(?:css|s[ac]ss|less)$")
_LOADED = ("c", "rust")
"""Languages of what tests in others load."""
_TOOLS = re.compile(
    r"\b(?:docker|podman|buildah|hadolint|terraform|tofu|tflint|packer|bicep|helm|ct|kubectl|nginx"
    r"|systemd-analyze|pre-commit|shellcheck|shfmt|checkov|trivy|semgrep)\b"
)
"""What does, or looks at scripts."""


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


async def find_unseen_files(
    run: StageContext, baseline: Baseline, changed: Sequence[str], commit: str
) -> UnseenFiles:
    """Return the changed files that no check looks at by their kind, and no test by their name.

    Those are what machines are set up with, and code in languages that none of the checks is for.
    """
    if baseline.chosen or not baseline.runs:
        return UnseenFiles()
    checks = [NamedCommand(each.name, each.command) for each in baseline.runs]
    families = list_families(checks)
    there = {*await run.ports.source.files(commit)} & {*changed}
    likely = [path for path in sorted(there) if _is_for_nobody(path, families)]
    if not likely:
        return UnseenFiles()
    steps = await run.read_texts(
        commit, sorted({path for each in checks for path in list_step_files(each.command)})
    )
    if any(map(_TOOLS.search, (*(e.command for e in checks), *steps.values()))):
        return UnseenFiles()
    unseen = [
        path
        for path in likely[:MOST_UNSEEN]
        if not any([await find_reader(run, each.command, [path], commit) for each in checks])
    ]
    rest = [path for path in changed if path not in unseen and not is_document(path)]
    alone = not any(is_code(path) or is_test(path) for path in rest)
    return UnseenFiles(files=tuple(unseen), alone=bool(unseen) and alone)


def _is_for_nobody(path: str, families: frozenset[str] | None) -> bool:
    if is_test(path):
        return False
    if _OPERATIONS.fullmatch(path.rpartition("/")[2]):
        return True
    if families is None or not is_code(path):
        return False
    if _STYLES.search(path):  # a build of pages may look at styles
        return "script" not in families
    language = find_language(path)
    return language not in ("", *_LOADED, *families)


async def _read_files(
    run: StageContext, bare: RepositoryFiles, touched: Sequence[str], commit: str
) -> RepositoryFiles:
    """Return the files with the texts of settings, and of the manifests in those folders."""
    listed = await asyncio.to_thread(list_read_paths, bare.paths)
    read = {*listed, *await asyncio.to_thread(list_manifests, touched, bare)}
    return RepositoryFiles(bare.paths, await run.read_texts(commit, sorted(read)))
