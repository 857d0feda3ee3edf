"""The words of a run's end that none of its stages wrote."""

from __future__ import annotations

from agents.ports import Steering
from agents.run import Outcome
from app.runs.durable_steps import StepBroken, StepGivenUp


async def cancel_if_uninstalled(outcome: Outcome, steering: Steering | None) -> Outcome:
    """Return how a run has ended whose installation went away under it: that is no failure."""
    if outcome.kind != "failed" or steering is None:
        return outcome
    lost = [each for each in await steering.list_after() if each.via == "installation"]
    return Outcome(kind="cancelled", text=_GROUND.format(why=lost[0].words)) if lost else outcome


def given_up(error: StepGivenUp | StepBroken, run_id: str) -> str:
    """Return why a run had to stop, for people."""
    if isinstance(error, StepGivenUp):
        return _OUTSIDE.format(reason=error)
    return BROKEN.format(run=run_id)


_GROUND = "Fettle may not work there any more: {why}."
_OUTSIDE = (
    "Something that Fettle depends on kept failing: {reason}. Ask for it again once it works; if it"
    " happens again, the operator's log says more."
)
BROKEN = (
    "Fettle made a mistake of its own and stopped. Nothing of yours is wrong. The operator finds"
    " the details in the log under run `{run}`; asking for it again starts afresh."
)
AGAIN = (
    "Fettle was stopped again and again while it worked on this, so it leaves it alone. The"
    " operator finds the run `{run}` in the log; asking for it again starts afresh."
)
LOST = {
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": AGAIN,
    "CANCELLED": "The run was cancelled by the operator. Asking for it again starts afresh.",
}
