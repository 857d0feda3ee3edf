"""Step 4: may the run begin, and after a wait, go on: asked of GitHub, recorded as a step."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Literal, Protocol

import structlog

from agents.errors import ConfigError, RunError
from agents.policy import PinnedPolicy
from agents.ports import Json, Steer, Steering
from agents.requests import Frozen
from agents.run import Outcome, Ports
from app.runs.durable_steps import StepGivenUp
from handlers.access.issues import Refusal

LONGEST_PAUSE = 60.0
MOST_TRIES = 500  # each of several attempts: most of a day

CALLED_BACK = frozenset({"label-on", "issue-open", "pull-open", "review-stands", "alerts-open"})
"""Rules by whose word somebody has called the request back: that is no failure."""

Ending = Literal["covered", "refused"]

log = structlog.get_logger()


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
        kind: Ending = "covered" if self.refusal.silent else "refused"
        return Outcome(kind=kind, text=self.refusal.text, rule=self.refusal.rule)


class Admitting(Protocol):
    """What can look."""

    ports: Ports

    async def admit(self) -> Admission:
        """Say that the request was seen, and return whether it may run."""
        ...


class Withdrawn(Exception):
    """The request no longer stood when the run was to go on. The outcome says so to people."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.text)
        self.outcome = outcome


class Door:
    """Looks for one run, at its begin and after each time that it has waited.

    Whether it was cancelled is a part of what is recorded: when the process dies, the next one
    takes the same way through the same steps, whatever was said meanwhile.
    """

    def __init__(self, equipment: Admitting) -> None:
        self._equipment = equipment
        self._looks = count(1)

    async def look(self) -> Admission:
        """Return whether the run may begin, or go on. Raises StepGivenUp."""

        async def admit() -> Json:
            ports = self._equipment.ports
            if (cancel := await _cancel(ports.steering)) is not None:
                words = _CANCELLED[cancel.via].format(by=f"`{cancel.by}`", how=cancel.words)
                return Admission(cancelled=words).model_dump(mode="json")
            try:
                admission = await self._equipment.admit()
            except RunError as error:
                admission = _unchecked(str(error))
            except ConfigError as error:
                admission = _unchecked(f"{_OPERATOR} {error}")
            return admission.model_dump(mode="json")

        name = f"access/{next(self._looks)}"
        found = await self._equipment.ports.steps.step(name, admit)
        return Admission.model_validate(found or {})  # older records hold nothing of who may

    async def still(self) -> None:
        """Look again, after days perhaps; for as long as GitHub is away, nothing goes on.

        Raises Withdrawn. A run that was cancelled goes on: it puts away itself what it has made.
        """
        for tries in range(1, MOST_TRIES + 1):
            try:
                refusal = (await self.look()).refusal
                break
            except StepGivenUp as error:
                if tries == MOST_TRIES:
                    raise
                log.warning("run waits", reason=str(error), seconds=LONGEST_PAUSE)
            await asyncio.sleep(LONGEST_PAUSE)
        if refusal is not None:
            log.info("request no longer stands", rule=refusal.rule)
            text = _STOPPED.format(why=_WITHDRAWN.get(refusal.rule, refusal.text))
            called_back = refusal.rule in CALLED_BACK
            raise Withdrawn(Outcome(kind="cancelled" if called_back else "failed", text=text))


async def _cancel(steering: Steering | None) -> Steer | None:
    said = await steering.since() if steering is not None else ()
    return next((steer for steer in said if steer.kind == "cancel"), None)


def _unchecked(text: str) -> Admission:
    return Admission(refusal=Refusal(rule="could-not-check", text=text))


_CANCELLED = {
    "comment": "{by} cancelled it before the work began.",
    "label": "{by} took the label off before the work began.",
    "issue": "{by} closed the issue before the work began.",
    "pull_request": "{by} closed the pull request before the work began.",
    "terminal": "{by} cancelled it on the machine that it was to run on, before the work began.",
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
_OPERATOR = "Fettle is not set up right, so it could not check this. Its operator has to act:"
