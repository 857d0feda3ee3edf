"""Whether a run may begin, and go on after a wait: who can tell, and the words for people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Protocol

import structlog

from agents.errors import ConfigError, RunError, TransientError
from agents.policy import PinnedPolicy
from agents.ports import Model, Reporter, Steer, Steps
from agents.requests import Frozen
from agents.run import Outcome, RunPorts
from handlers.access.issues import Refusal

if TYPE_CHECKING:
    from app.runs.retry_from_stage import RetryFromStage

LONGEST_PAUSE = 60.0
MOST_TRIES = 500  # each of several attempts: most of a day
MODEL_SECONDS = 30.0

log = structlog.get_logger()

CALLED_BACK = frozenset({"label-on", "issue-open", "pull-open", "review-stands", "alerts-open"})
"""Rules by whose word somebody has called the request back: that is no failure."""

AdmissionEnding = Literal["covered", "refused"]


class Admission(Frozen):
    """What came of looking who asks, and for what."""

    refusal: Refusal | None = None
    """Why it must not run."""
    tainted: bool = True
    """Somebody who may not write to the repository worded the request."""
    policy: PinnedPolicy | None = None
    """The policy that the run begins under; None in older records: it is that of its commit."""
    cancelled: str = ""
    """By whom the run was cancelled before anybody looked, in words for people."""

    @property
    def ending(self) -> Outcome | None:
        """Return how a run ends that is not to begin; None when it is."""
        if self.cancelled:
            return Outcome(kind="cancelled", text=self.cancelled)
        if self.refusal is None:
            return None
        kind: AdmissionEnding = "covered" if self.refusal.silent else "refused"
        return Outcome(kind=kind, text=self.refusal.text, rule=self.refusal.rule)


class Equipment(Protocol):
    """What one run is given: its ports, the way in and the way out."""

    @property
    def ports(self) -> RunPorts:
        """Return what its stages work with."""
        ...

    @property
    def retry(self) -> Callable[[Steps, Reporter], RetryFromStage] | None:
        """Return what makes the steps of an earlier run count, where one is to be gone on with."""
        ...

    async def admit(self) -> Admission:
        """Say that the request was seen, and return whether it may run."""
        ...

    async def recover(self) -> None:
        """Bring here what earlier processes have made of the run. Raises TransientError."""
        ...

    async def rest(self) -> None:
        """Let go of what can be made again: the run waits for people, perhaps for days."""
        ...

    async def finish(self, outcome: Outcome) -> None:
        """Show people how the run ended, and put away what it worked with."""
        ...

    async def close(self) -> None:
        """Let go of what this process holds for the run."""
        ...


class Withdrawn(Exception):
    """The request no longer stood when the run was to go on. The outcome says so to people."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome


def describe_cancel(cancel: Steer) -> str:
    """Return by whom a run was cancelled before its work began, for people."""
    return _CANCELLED[cancel.via].format(by=f"`{cancel.by}`", how=cancel.words)


async def require_models(model: Model, names: Iterable[str]) -> None:
    """Raise ConfigError where no conversation with one of these models could begin.

    A server that is out of reach now may be there when the run needs it.
    """
    for name in dict.fromkeys(names):
        try:
            async with asyncio.timeout(MODEL_SECONDS):
                await model.capabilities(name)
        except (TransientError, TimeoutError) as error:
            log.warning("model not looked at", model=name, reason=str(error))


def refuse_unchecked(error: RunError) -> Admission:
    """Return the refusal of a run about which GitHub could not be asked."""
    again = "" if type(error) is RunError else _ONCE_MENDED  # those in our words say it
    return _refuse(f"{error}{again}")


def refuse_misconfigured(error: ConfigError) -> Admission:
    """Return the refusal of a run that the operator's settings stand in the way of."""
    return _refuse(f"{_OPERATOR} {error}")


def _refuse(text: str) -> Admission:
    return Admission(refusal=Refusal(rule="could-not-check", text=text))


def end_withdrawn(refusal: Refusal) -> Outcome:
    """Return how a run ends that had waited and may not go on."""
    text = _STOPPED.format(why=_WITHDRAWN.get(refusal.rule, refusal.text))
    return Outcome(kind="cancelled" if refusal.rule in CALLED_BACK else "failed", text=text)


_CANCELLED = {
    "comment": "{by} cancelled it before the work began.",
    "label": "{by} took the label off before the work began.",
    "relabel": "{by} put the label on again before the work began; another run does it.",
    "issue": "{by} closed the issue before the work began.",
    "pull_request": "{by} closed the pull request before the work began.",
    "terminal": "{by} cancelled it on the machine that it was to run on, before the work began.",
    "page": "{by} cancelled it on Fettle's page, before the work began.",
    "alert": "Its alerts were closed before the work began: {how}",
    "installation": "Fettle may not work there any more: {how}.",
}
_STOPPED = (
    "The run had waited, and was not to go on after that: {why} What waited was not done. What was"
    " committed until then was not pushed: it stays on the machine that runs Fettle."
)
_WITHDRAWN = {
    "installation-active": "the app's installation is suspended.",
    "asker-may-write": "whoever asked for it may no longer write to the repository.",
    "issue-open": "the issue was closed.",
    "label-on": "the label was taken off.",
    "pull-open": "the pull request was closed.",
    "review-stands": "the review was dismissed.",
    "head-stands": "the pull request has new commits.",
    "head-is-ours": "the pull request has new commits.",
    "alerts-open": "its alerts were closed.",
    "policy-wants": "the repository's policy does not want these alerts mended any more.",
    "repository-writable": "the repository was archived.",
    "stays-private": "the repository was made public.",
    "not-covered": "another run has dealt with this meanwhile.",
    "policy-valid": "the repository's policy is not valid any more.",
    "trigger-on": "the repository's policy has switched off what started it.",
    "asker-among": "the repository's policy does not let whoever asked for it start work any more.",
    "models-allowed": "the repository's policy asks for a model that the operator does not allow.",
    "text-unchanged": "somebody other than the asker edited the title or the text of the issue.",
}
_ONCE_MENDED = " Nothing was begun or paid: ask for it again once that has changed."
_OPERATOR = "Fettle is not set up right, so the run did not begin. Its operator has to act:"
