"""The stages of the watch: whether what fails began with a change that was merged.

No model is asked: the repository's own checks run before the merge, after it, and on the branch as
it is now, with the change and without. Who would have them run again later finds the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from agents.errors import PolicyInvalid
from agents.pipelines.revert.publish import Cure
from agents.pipelines.revert.take_back import find_before, find_head, is_in
from agents.pipelines.stages.quality import (
    Baseline,
    CheckComparison,
    CheckResult,
    some_names,
    to_code,
)
from agents.requests import Frozen, SuspectMerge
from agents.run import Outcome, StageContext, stage

_UNREADABLE = "The policy cannot be read, so it allows nothing."
_OFF = "The policy does not have Fettle watch merged changes for so long (`watch.hours`)."
_GONE = "What the merge made is not in the branch any more."
INNOCENT = "The checks of the repository fail no more after the merge than before it."
MENDED = "What began to fail with the merge does not fail any more, or not because of it."


class Suspect(Frozen):
    """A merged change that may have broken something."""

    covered: str = ""
    """Why it is not looked at, where nobody needs to hear of it."""
    before: str = ""
    """The commit of the branch before the merge."""


@stage
async def suspect(run: StageContext, request: SuspectMerge) -> Suspect:
    """Stand where the merge left the branch, to be compared with what was there before."""
    trunk, head = await find_head(run, request)
    await run.stand_on(trunk)
    try:
        policy = await run.policy()
    except PolicyInvalid:
        return _leave(run, _UNREADABLE)
    if time.time() > request.merged_at + policy.watch.hours * 3600:
        return _leave(run, _OFF)
    if head is None or not await is_in(run, request.merged, head):
        return _leave(run, _GONE)
    before = await find_before(run, request)
    if not before:
        return _leave(run, _GONE)
    run.update_state(base=before, start=request.merged, head=request.merged)
    run.summarize(f"{request.merged[:10]} is compared with {before[:10]}")
    return Suspect(before=before)


def _leave(run: StageContext, why: str) -> Suspect:
    run.summarize(why)
    return Suspect(covered=why)


@stage
async def leave_alone(run: StageContext, why: str) -> Outcome:
    """Say nothing to anybody: the change has broken nothing, or nothing that is left."""
    run.summarize("nobody needs to hear of it")
    return Outcome(kind="covered", text=why)


class Left(Frozen):
    """What began to fail with the merge, and is not mended."""

    failing: tuple[str, ...] = ()
    """The checks, each with the names of what fails: safe to publish."""


@stage
async def find_left(run: StageContext, merge: CheckComparison, now: Baseline) -> Left:
    """See what of that still fails on the newest commit."""
    failing = _match(merge, [(each, None) for each in now.runs])
    run.summarize(f"{len(failing)} checks still fail" if failing else "nothing of it is left")
    return Left(failing=failing)


@stage
async def find_cure(run: StageContext, merge: CheckComparison, without: CheckComparison) -> Cure:
    """See what of that ends when the change is taken back."""
    mended = _match(merge, without.compared)
    run.summarize(f"{len(mended)} checks mended" if mended else "it would mend nothing")
    return Cure(mended=mended)


def _match(
    merge: CheckComparison, ran: Sequence[tuple[CheckResult, CheckResult | None]]
) -> tuple[str, ...]:
    """Return what began to fail with the merge and does so now, and no longer `then`, if it ran."""
    began = {each.command: each for each in merge.failing}
    told = []
    for now, then in ran:
        first = began.get(now.command)
        if first is None:
            continue
        ended = then.failures.names if then is not None else frozenset()
        names = sorted(set(first.new) & now.failures.names - ended)
        if names:
            told.append(f"{to_code(first.name)}: {some_names(names)}")
        elif not first.new and now.exit_code and (then is None or not then.exit_code):
            told.append(to_code(first.name))
    return tuple(told)
