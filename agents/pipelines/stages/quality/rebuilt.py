"""Run tests once more behind a build that writes files of the repository: they may be about these.

What is built and committed (`dist/`, generated code) is as old as the last build of it. Tests that
load it say nothing of sources that a change touches, unless it is built of these before they run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from agents.analysis.check_failures import compare
from agents.analysis.languages import find_folder
from agents.pipelines.stages.quality.results import CheckResult, RepositoryCheck
from agents.ports import WorkTree

_BUILDS = re.compile(
    r"(?<![\w-])(?:build|bundle|compile|codegen|code-gen|generate|gen|dist|package)(?![\w-])"
)
_BEHIND = "{name} behind {build}"
MOST = 200  # files that a build wrote anew, of which the repository may have one

Behind = tuple[tuple[CheckResult, ...], tuple[CheckResult, ...]]
"""How checks ended before the change, and with it."""
Measure = Callable[[Sequence[RepositoryCheck]], Awaitable[Behind]]


async def note_rewrites(tree: WorkTree, commit: str, ended: CheckResult) -> CheckResult:
    """Return it with whether it is a build that wrote files of that commit otherwise."""
    if ended.failed or ended.failures.of_tests or not _BUILDS.search(ended.command):
        return ended
    wrote = await tree.list_changed_paths(commit, await tree.snapshot())
    for path in wrote[:MOST]:
        if await tree.show(commit, path) is not None:
            return ended.model_copy(update={"rewrites": True})
    return ended


async def run_behind_builds(ended: Sequence[CheckResult], measure: Measure) -> Behind:
    """Return how the tests end behind such builds of their folder; nothing where there is none.

    A build after which tests tell nothing of what was there before the change tells nothing of it.
    """
    checks = [
        RepositoryCheck(
            name=_BEHIND.format(name=test.name, build=build.name),
            run=f"{build.command} && {test.command.removeprefix(_find_start(test))}",
            timeout=build.timeout + test.timeout,
            named=test.named,
        )
        for build in ended
        if build.rewrites
        for test in ended
        if test.failures.of_tests
        and find_folder(test.command) == find_folder(build.command)
        and build.command not in test.command
    ]
    if not checks:
        return (), ()
    before, after = await measure(checks)
    told = [pair for pair in zip(before, after, strict=True) if not compare([pair[0]], pair[0]).why]
    return tuple(each for each, _ in told), tuple(each for _, each in told)


def _find_start(check: CheckResult) -> str:
    """Return how the command goes to its folder, where the build went already."""
    return f"{check.command.partition(' && ')[0]} && " if find_folder(check.command) else ""
