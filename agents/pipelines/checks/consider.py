"""Stage consider: decide without a model whether a failed check is Fettle's to mend.

Whose push it was is read from GitHub's record of pushes, or from what an earlier run remembers to
have pushed. What a commit says of itself, in its trailers or as its author, anybody can write.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import PolicyInvalid
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import Batch, PullSnapshot
from agents.requests import FixChecks, Frozen
from agents.run import StageContext, stage

MOST = 2
"""Times in a row that Fettle mends checks before a person has to look."""

_UNREADABLE = "The policy cannot be read, so it allows nothing."
_OFF = "The policy does not have Fettle mend checks (`checks.fix`)."
_NOT_ADAPTED = "The policy does not have code adapted to other bots' updates (`remediation.adapt`)."
_BLIND = "There is no GitHub whose checks could be read."
_STATE = "The pull request was {state}."
_MOVED = "Something else was pushed since: those checks are about an older commit."
_CLOSED_TO_US = "Fettle cannot push to the branch."
_DONE = "An earlier run has dealt with the checks of this commit."
_THEIRS = "Somebody else pushed this commit."


class ChecksDue(Frozen):
    """Whether there is something to be done."""

    covered: str = ""
    """Why not, where nobody needs to hear of it."""
    stops: bool = False
    """Fettle has tried often enough: a person has to look."""

    @property
    def over(self) -> bool:
        """Return whether there is nothing to be done."""
        return bool(self.covered) or self.stops


@stage
async def consider(run: StageContext, request: FixChecks) -> ChecksDue:
    """See whether these checks are Fettle's to mend."""
    why_not = await _why_not(run, request)
    if why_not:
        run.summarize(why_not)
        return ChecksDue(covered=why_not)
    stops = count_attempts(await reviewing_port(run).batches(), request.head) >= MOST
    run.summarize("it was tried often enough" if stops else f"at {request.head[:10]}")
    return ChecksDue(stops=stops)


async def _why_not(run: StageContext, request: FixChecks) -> str:
    trunk = await run.ports.source.fetch()
    await run.stand_on(trunk)
    pull = await reviewing_port(run).pull()
    if fault := await _find_policy_objection(run, pull):
        return fault
    if pull.state != "open":
        return _STATE.format(state=pull.state)
    if pull.head != request.head:
        return _MOVED
    if pull.why_not:
        return _CLOSED_TO_US
    batches = await reviewing_port(run).batches()
    dealt_with = any(batch.kind == "checks" and batch.head == request.head for batch in batches)
    if dealt_with and request.via == "checks":  # people may well want it tried once more
        return _DONE
    ours = pull.pushed_by_us or any(batch.pushed == request.head for batch in batches)
    return "" if ours or pull.pushed_by_updater else _THEIRS


async def _find_policy_objection(run: StageContext, pull: PullSnapshot) -> str:
    """Return why the policy of the default branch, as it is now, does not want it."""
    try:
        policy = await run.policy()
    except PolicyInvalid:
        return _UNREADABLE
    if pull.updater and not policy.remediation.adapt:
        return _NOT_ADAPTED
    if not pull.updater and not policy.checks.fix:
        return _OFF
    return "" if run.ports.checking is not None else _BLIND


async def remember(
    run: StageContext, head: str, pushed: str = "", *, kept_back: bool = False
) -> None:
    """Note that the checks of this commit are dealt with: once for each commit."""
    batch = Batch(kind="checks", head=head, pushed=pushed, kept_back=kept_back)
    await reviewing_port(run).dealt_with(batch)


def count_attempts(batches: Sequence[Batch], head: str) -> int:
    """Return how many of the newest pushes up to this head were made to mend checks."""
    by_push = {batch.pushed: batch for batch in batches if batch.kind == "checks" and batch.pushed}
    count = 0
    while (batch := by_push.pop(head, None)) is not None:
        count, head = count + 1, batch.head
    return count
