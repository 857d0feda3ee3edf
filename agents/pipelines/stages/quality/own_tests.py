"""Tell whether the exit status of a repository's own test script counts, of a base and a change.

It does where maintainers called the script their test and it runs a program of theirs, though no
test of it was counted. It says nothing of a change that touches the script, or what that runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from agents.analysis.test_runners import OwnScript, find_own_script, list_step_files
from agents.pipelines.stages.quality.results import CheckResult, RepositoryCheck
from agents.run import StageContext


async def runs_own_tests(run: StageContext, command: str) -> bool:
    """Return whether the command runs such a script as the base has it."""
    script = await _read_script(run, run.base, command)
    return script is not None and script.runs_own_program(await run.ports.source.files(run.base))


async def take_over(
    run: StageContext, before: CheckResult, commit: str, changed: Collection[str]
) -> RepositoryCheck:
    """Return the check that ran before as it counts on a commit that changes these files."""
    check = RepositoryCheck(
        name=before.name, run=before.command, timeout=before.timeout, named=before.named
    )
    if not before.by_script:
        return check
    scripts = [await _read_script(run, at, before.command) for at in (run.base, commit)]
    holds = (
        scripts[0] is not None and scripts[0] == scripts[1] and not scripts[0].is_touched(changed)
    )
    return check.model_copy(update={"named": holds})


async def _read_script(run: StageContext, commit: str, command: str) -> OwnScript | None:
    texts = await run.read_texts(commit, list_step_files(command))
    return await asyncio.to_thread(find_own_script, command, texts)
