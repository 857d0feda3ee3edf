"""Stage consider: decide without a model whether a failed check is Fettle's to mend.

Whose push it was is read from GitHub's record of pushes, or from what an earlier run remembers to
have pushed. What a commit says of itself, in its trailers or as its author, anybody can write.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.errors import PolicyInvalid
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import Batch, CiChecks, PullSnapshot
from agents.requests import FixChecks, Frozen
from agents.run import StageContext, stage

MOST = 2
"""Times in a row that Fettle mends checks before a person has to look."""
MOST_STACKED = 3
"""Pull requests on top of one update: a bot makes its branch anew as often as it likes."""

_UNREADABLE = "The policy cannot be read, so it allows nothing."
_OFF = "The policy does not have Fettle mend checks (`checks.fix`)."
_NOT_ADAPTED = "The policy does not have code adapted to other bots' updates (`remediation.adapt`)."
_BLIND = "There is no GitHub whose checks could be read."
_STATE = "The pull request was {state}."
_MOVED = "Something else was pushed since: those checks are about an older commit."
_CLOSED_TO_US = "Fettle cannot push to the branch."
_SAID = "The code was adapted to this update often enough, and an earlier run has said so."
_DONE = "An earlier run has dealt with the checks of this commit."
_THEIRS = "Somebody else pushed this commit."


class ChecksDue(Frozen):
    """Whether there is something to be done."""

    covered: str = ""
    """Why not, where nobody needs to hear of it."""
    stops: bool = False
    """Fettle has tried often enough: a person has to look."""
    stacked: tuple[int, ...] = ()
    """The pull requests in which it did, where that was on top of a bot's update."""

    @property
    def nothing_to_do(self) -> bool:
        """Return whether there is nothing to be done."""
        return bool(self.covered) or self.stops


@stage
async def consider(run: StageContext, request: FixChecks) -> ChecksDue:
    """See whether these checks are Fettle's to mend."""
    trunk = await run.ports.source.fetch()
    await run.stand_on(trunk)
    port = reviewing_port(run)
    pull = await port.pull()
    why_not = await _why_not(run, request, pull)
    if why_not:
        run.summarize(why_not)
        return ChecksDue(covered=why_not)
    batches = await port.batches()
    unasked = pull.updater and request.via == "checks"
    stacked = await port.list_stacked() if unasked else ()
    if len(stacked) >= MOST_STACKED and not _has_last_pushed(batches):
        run.summarize(_SAID)
        return ChecksDue(covered=_SAID)
    too_many = stacked if len(stacked) >= MOST_STACKED else ()
    stops = bool(too_many) or count_attempts(batches, request.head) >= MOST
    run.summarize("it was tried often enough" if stops else f"at {request.head[:10]}")
    return ChecksDue(stops=stops, stacked=too_many)


async def _why_not(run: StageContext, request: FixChecks, pull: PullSnapshot) -> str:
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
    update = pull.updater or pull.update_base
    if update and not policy.remediation.adapt:
        return _NOT_ADAPTED
    if not update and not policy.checks.fix:
        return _OFF
    return "" if run.ports.checking is not None else _BLIND


def _has_last_pushed(batches: Sequence[Batch]) -> bool:
    """Return whether the newest look at checks led to a push."""
    return next((bool(each.pushed) for each in reversed(batches) if each.kind == "checks"), False)


async def remember(
    run: StageContext, head: str, pushed: str = "", *, kept_back: bool = False
) -> None:
    """Note that the checks of this commit are dealt with: once for each commit."""
    batch = Batch(kind="checks", head=head, pushed=pushed, kept_back=kept_back)
    await reviewing_port(run).dealt_with(batch)


def checks_port(run: StageContext) -> CiChecks:
    """Return the port of the checks."""
    port = run.ports.checking
    assert port is not None, "a run without it has ended before"
    return port


def count_attempts(batches: Sequence[Batch], head: str) -> int:
    """Return how many of the newest pushes up to this head were made to mend checks."""
    by_push = {batch.pushed: batch for batch in batches if batch.kind == "checks" and batch.pushed}
    count = 0
    while (batch := by_push.pop(head, None)) is not None:
        count, head = count + 1, batch.head
    return count
