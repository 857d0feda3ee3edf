"""The queue of runs: a request is stored and handed to the durable engine."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass

from agents.requests import Asked, Command, Request
from app.runs.engine import Engine
from app.store.runs import Runs
from handlers.notifications import Notice


@dataclass(frozen=True)
class RunQueue:
    """Takes requests for runs, people's commands and notices of what changed."""

    runs: Runs
    engine: Engine

    async def submit(self, run_id: str, request: Request | Command | Notice) -> None:
        """Take the request durably; the same run id a second time changes nothing."""
        if isinstance(request, Asked):
            await self.runs.create(run_id, request)
        queued = self.engine.enqueue(run_id, request.lane, request.model_dump(mode="json"))
        # A command may ask for a run, which the engine must not take for a part of the command.
        await asyncio.create_task(queued, context=Context())
