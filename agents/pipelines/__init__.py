"""Step 5: one async function per pipeline, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.errors import BudgetExceeded, Cancelled, RunError
from agents.loop.conversation import AnyConversation
from agents.pipelines.resolve.pipeline import CONVERSATIONS, resolve
from agents.pipelines.shared.keep_work import Stopped, keep_work
from agents.requests import Request, ResolveIssue
from agents.run import Outcome, Run


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's function and every conversation its stages may hold."""

    function: Callable[[Run, ResolveIssue], Awaitable[Outcome]]
    conversations: Sequence[AnyConversation]

    async def work(self, run: Run, request: ResolveIssue) -> Outcome:
        """Do the run; one that ends early keeps what it made."""
        try:
            return await self.function(run, request)
        except Cancelled as cancelled:
            stopped = Stopped(kind="cancelled", text=str(cancelled))
        except RunError as error:
            draft = isinstance(error, BudgetExceeded)
            stopped = Stopped(kind="failed", text=str(error), draft=draft)
        return await self.keep(run, stopped)

    async def keep(self, run: Run, stopped: Stopped) -> Outcome:
        """End the run early, and keep what it made."""
        run.stopping = True
        return await run.stage(keep_work, stopped)


PIPELINES: dict[type[Request], Pipeline] = {
    ResolveIssue: Pipeline(resolve, CONVERSATIONS),
}
"""The registration: one line for each kind of request."""
