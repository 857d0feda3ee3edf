"""A pipeline: what does one kind of request, and how a run of it that ends early keeps its work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.errors import BaitTaken, BudgetExceeded, Cancelled, DayOver, RunError, Unneeded
from agents.loop import AnyConversation
from agents.pipelines.stages.save_unfinished import DAY_OVER, EarlyEnd, keep_work
from agents.requests import Request
from agents.run import Outcome, Run


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's function and every conversation its stages may hold."""

    function: Callable[[Run, Any], Awaitable[Outcome]]
    """Takes the kind of request that it is registered for."""
    conversations: Sequence[AnyConversation]

    async def work(self, run: Run, request: Request) -> Outcome:
        """Do the run; one that ends early keeps what it made, unless it looked for secrets."""
        try:
            return await self.function(run, request)
        except Cancelled as cancelled:
            unneeded = isinstance(cancelled, Unneeded)
            stopped = EarlyEnd(kind="cancelled", text=str(cancelled), unneeded=unneeded)
        except BaitTaken as error:  # nothing of such a run is published; its commits are evidence
            run.stop()
            return Outcome(kind="failed", text=str(error))
        except RunError as error:
            over_budget = isinstance(error, BudgetExceeded)
            rule = DAY_OVER if isinstance(error, DayOver) else None
            stopped = EarlyEnd(kind="failed", text=str(error), over_budget=over_budget, rule=rule)
        return await self.keep(run, stopped)

    async def keep(self, run: Run, stopped: EarlyEnd) -> Outcome:
        """End the run early, and keep what it made."""
        run.stop()
        outcome = await run.stage(keep_work, stopped)
        return outcome.model_copy(update={"rule": stopped.rule}) if stopped.rule else outcome
