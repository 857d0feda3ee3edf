"""Stage sort_checks: wait for the checks to end, then attribute each failure."""

from __future__ import annotations

from agents.errors import NotYet
from agents.pipelines.checks.consider import checks_port
from agents.pipelines.checks.failures import Failures, sort
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.requests import FixChecks
from agents.run import StageContext, stage

LOOKS, PAUSE = 30, 20.0
"""How often, and after how many seconds each, it is looked whether the checks have ended."""

_GREEN = "Nothing fails any more."
_NOT_NEW = "Nothing fails because of the update."
_ABANDONED = "The checks were cancelled, so they say nothing."
_MOVED = "Something else was pushed, or the pull request was closed, while the checks were running."


@stage
async def sort_checks(run: StageContext, request: FixChecks) -> Failures:
    """Sort the failing checks, once all have ended or the patience is over."""
    port = checks_port(run)
    checks = await port.list_checks(request.head)
    if run.waits < LOOKS and not all(check.ended for check in checks):
        raise NotYet("other checks to end", PAUSE)
    pull = await reviewing_port(run).pull()
    base = pull.update_base or pull.base  # what it is to mend fails on the update that it is on
    trunk = await run.ports.source.branch(base) or ""
    found = Failures(
        head=request.head,
        base=base,
        trunk=trunk,
        updater=pull.updater,
        on_update=bool(pull.update_base),
        every=tuple(sort(checks, await port.list_checks(trunk) if trunk else ())),
        running=tuple(check.name for check in checks if not check.ended),
    )
    moved = pull.state != "open" or pull.head != request.head
    covered = _MOVED if moved else _find_reason_for_silence(found)
    run.summarize(covered or f"{len(found.every)} failing, {len(found.ours)} to look into")
    return found.model_copy(update={"covered": covered})


def _find_reason_for_silence(found: Failures) -> str:
    """Return why nobody needs to hear of these checks; empty where somebody does."""
    if not found.every:
        return _GREEN
    if found.updater and not found.ours:  # the bot's pull request is no place to say it
        return _NOT_NEW
    return _ABANDONED if found.abandoned else ""
