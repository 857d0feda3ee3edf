"""Stay with a run on a clone until it ends, and ask the person at the terminal when it has to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agents.run import Outcome
from app.clone.ask_person import Ask, CloneApprovals, CloneWaits
from app.config.system_user import find_operator
from app.runs.engine import Engine


@dataclass
class CloneRunFollower:
    """Waits for one run."""

    engine: Engine
    approvals: CloneApprovals
    decide: Ask | None
    """None: nobody sits at the terminal."""
    parked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the run begins to wait."""

    async def outcome(self) -> Outcome:
        """Return how the run ended. Raises CloneWaits when it waits and the person is not there."""
        ended = asyncio.create_task(self.engine.result(self.approvals.run_id))
        try:
            while True:
                parking = asyncio.create_task(self.parked.wait())
                await asyncio.wait({ended, parking}, return_when=asyncio.FIRST_COMPLETED)
                parking.cancel()
                if ended.done():
                    return Outcome.model_validate(ended.result())
                self.parked.clear()
                await self._decide()
                self.engine.wake(self.approvals.run_id)
        finally:
            ended.cancel()

    async def _decide(self) -> None:
        for waiting in await self.approvals.list_waiting():
            answer = await self.decide(waiting) if self.decide is not None else None
            if answer is None:
                waits = await self.approvals.list_waiting()
                raise CloneWaits(waits, self.approvals.run_id)
            verdict, reason = answer
            await self.approvals.stored.decide(
                waiting.id,
                verdict=verdict,
                by=find_operator(),
                by_id=None,
                via="terminal",
                reason=reason,
            )
