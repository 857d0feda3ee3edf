"""Stage check_out: check out the head of the run's pull request."""

from __future__ import annotations

from agents.errors import RunError
from agents.ports import PullSnapshot, Reviews
from agents.run import StageContext, stage

_CLOSED = "#{number} was {state} before the work began, so nothing was done."
_GONE = (
    "The commits of #{number} cannot be fetched: its branch was deleted, or its repository is gone."
    " Nothing was done."
)


@stage
async def check_out(run: StageContext) -> PullSnapshot:
    """Fetch the pull request.

    What the run changes is compared with the pull request as people reviewed it; policy and
    instructions are those of the default branch, as always.
    """
    source = run.ports.source
    trunk = await source.fetch()
    await run.stand_on(trunk)
    await run.policy()  # an unreadable one ends the run before it costs anything
    await run.learn_tools()
    pull = await reviewing_port(run).pull()
    if pull.state != "open":
        raise RunError(_CLOSED.format(number=pull.number, state=pull.state))
    head = await (source.pull(pull.number) if pull.why_not else source.branch(pull.branch))
    if head is None:
        raise RunError(_GONE.format(number=pull.number))
    foreign = pull.foreign
    branch = "" if pull.why_not else pull.branch
    run.update_state(base=head, start=head, head=head, branch=branch, foreign=foreign)
    if not pull.author_may_write:  # its code is a stranger's
        run.update_state(tainted=True)
    run.summarize(f"#{pull.number} at {head[:10]}")
    return pull.model_copy(update={"head": head})


def reviewing_port(run: StageContext) -> Reviews:
    """Return the port of the run's pull request."""
    port = run.ports.reviewing
    assert port is not None, "a run on a pull request is given the port of its reviews"
    return port
