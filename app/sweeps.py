"""The composition of the sweeps: what the engine does by the clock so that nothing is lost."""

from __future__ import annotations

import asyncio

from app.engine import Engine
from app.github.app_deliveries import AppDeliveries
from app.github.client import GitHub
from app.github.labelled import LabelledIssues
from app.inbox import Inbox
from app.settings import Settings
from app.store.database import Database
from app.store.sweeps import Sweeps
from app.sweep import NAME as DELIVERIES
from app.sweep import DeliverySweep
from app.sweep_labels import NAME as LABELS
from app.sweep_labels import LabelSweep


class Schedules:
    """For a server: they need a door that GitHub can deliver to."""

    def __init__(
        self, settings: Settings, database: Database, github: GitHub, inbox: Inbox
    ) -> None:
        self.open = asyncio.Event()
        """Set once the door is open: what is delivered before would fail again."""
        self._every = settings.sweep_seconds
        sweeps, clock = Sweeps(database, settings.worker), github.app.jwt.now
        self._deliveries = DeliverySweep(
            AppDeliveries(github.app),
            sweeps,
            every=self._every,
            spacing=settings.github_write_spacing,
            clock=clock,
        )
        self._labels = LabelSweep(LabelledIssues(github), sweeps, inbox, clock=clock)

    async def begin(self, engine: Engine) -> None:
        """Have the engine do them from now on, the first time at once."""
        await engine.schedule(DELIVERIES, self._every, self._sweep_deliveries)
        await engine.schedule(LABELS, self._every, self._sweep_labels)

    async def _sweep_deliveries(self) -> None:
        await self.open.wait()
        await self._deliveries.run()

    async def _sweep_labels(self) -> None:
        await self.open.wait()
        await self._labels.run()
