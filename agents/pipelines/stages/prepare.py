"""Stage prepare: fetch the repository, and pin the commits that the run uses."""

from __future__ import annotations

from agents.ports import EarlierPull
from agents.requests import Frozen
from agents.run import StageContext, stage


class Beginning(Frozen):
    """Where the run begins."""

    earlier: EarlierPull | None = None
    """The open pull request that an earlier run made for the same issue: this run goes on with it
    instead of opening a second one."""


@stage
async def prepare(run: StageContext) -> Beginning:
    """Fetch the default branch."""
    trunk = await run.ports.source.fetch()
    await run.stand_on(trunk)
    await run.policy()  # an unreadable one ends the run before it costs anything
    await run.learn_tools()
    earlier = await _go_on(run)
    run.summarize(f"at {run.head[:10]}")
    if earlier is not None:
        run.summarize(run.summary + f", going on with #{earlier.number}")
    return Beginning(earlier=earlier)


async def find_taken_up(run: StageContext) -> EarlierPull | None:
    """Return the pull request of the run that this one takes up, if Fettle alone pushed there.

    A run that is done anew from a stage stands where it stood then, which may be before there was
    a pull request. What the later stages put there is done again, and gives way.
    """
    if run.ports.tracker is None or run.request.again is None or run.branch:
        return None
    earlier = await run.ports.tracker.earlier_pull_request()
    if earlier is None or earlier.pushed_by:
        return None
    return earlier if earlier.run_id in (run.request.again.run_id, run.id) else None


async def _go_on(run: StageContext) -> EarlierPull | None:
    """Stand on the newest commit of the earlier pull request, if there is one; return it."""
    if run.ports.tracker is None:
        return None
    earlier = await run.ports.tracker.earlier_pull_request()
    head = await run.ports.source.branch(earlier.branch) if earlier else None
    if earlier is None or head is None:
        return None
    base = await run.ports.source.fork_point(run.trunk, head)
    run.update_state(base=base, start=head, head=head, branch=earlier.branch)
    return earlier.model_copy(update={"head": head})
