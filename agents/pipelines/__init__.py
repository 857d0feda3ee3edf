"""Pipelines: one async function each, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.errors import BudgetExceeded, Cancelled, DayOver, RunError
from agents.loop import AnyConversation
from agents.pipelines.address import pipeline as addressing
from agents.pipelines.checks import pipeline as checking
from agents.pipelines.remediate import pipeline as remediating
from agents.pipelines.resolve import pipeline as resolving
from agents.pipelines.stages.save_unfinished import DAY_OVER, EarlyEnd, keep_work
from agents.pipelines.update import pipeline as updating
from agents.requests import (
    AddressReview,
    FixChecks,
    RemediateAlert,
    Request,
    ResolveIssue,
    UpdateBranch,
)
from agents.run import Outcome, Run


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's function and every conversation its stages may hold."""

    function: Callable[[Run, Any], Awaitable[Outcome]]
    """Takes the kind of request that it is registered for."""
    conversations: Sequence[AnyConversation]

    async def work(self, run: Run, request: Request) -> Outcome:
        """Do the run; one that ends early keeps what it made."""
        try:
            return await self.function(run, request)
        except Cancelled as cancelled:
            stopped = EarlyEnd(kind="cancelled", text=str(cancelled))
        except RunError as error:
            draft = isinstance(error, BudgetExceeded)
            rule = DAY_OVER if isinstance(error, DayOver) else None
            stopped = EarlyEnd(kind="failed", text=str(error), draft=draft, rule=rule)
        return await self.keep(run, stopped)

    async def keep(self, run: Run, stopped: EarlyEnd) -> Outcome:
        """End the run early, and keep what it made."""
        run.stop()
        outcome = await run.stage(keep_work, stopped)
        return outcome.model_copy(update={"rule": stopped.rule}) if stopped.rule else outcome


PIPELINES: dict[type[Request], Pipeline] = {
    ResolveIssue: Pipeline(resolving.resolve, resolving.CONVERSATIONS),
    AddressReview: Pipeline(addressing.address, addressing.CONVERSATIONS),
    UpdateBranch: Pipeline(updating.update, updating.CONVERSATIONS),
    FixChecks: Pipeline(checking.fix_checks, checking.CONVERSATIONS),
    RemediateAlert: Pipeline(remediating.remediate, remediating.CONVERSATIONS),
}
"""The registration: one line for each kind of request."""
