"""The composition of the sweeps: what the engine does by the clock so that nothing is lost."""

from __future__ import annotations

import asyncio
from functools import partial

from app.alerts.confirm_fixed import NAME as MERGED
from app.alerts.confirm_fixed import FixConfirmation
from app.alerts.poll import NAME as ALERTS
from app.alerts.poll import AlertPoll
from app.alerts.recheck_overrides import NAME as OVERRIDES
from app.alerts.recheck_overrides import OverrideRecheck
from app.board.upkeep import NAME as BOARDS
from app.board.upkeep import BoardUpkeep
from app.config.settings import Settings
from app.git import Mirrors
from app.github.alerts.list_open import OpenAlerts
from app.github.issues.find_labelled import LabelledIssues
from app.github.policy.file import read_policy
from app.github.transport import GitHub
from app.guidance.sweep import NAME as GUIDANCE
from app.guidance.sweep import GuidanceSweep
from app.maintenance import retention
from app.maintenance.retention import NAME as RETENTION
from app.maintenance.retention import Retention
from app.reconcile.missed_labels import NAME as LABELS
from app.reconcile.missed_labels import MissedLabels
from app.reconcile.redelivery import NAME as DELIVERIES
from app.reconcile.redelivery import FailedDeliveries
from app.runs.conductor import Equip
from app.runs.engine import Engine
from app.store.alerts import AlertLooks, AlertRuns, Overrides, Remediations
from app.store.database import Database
from app.store.proposals import Proposals
from app.store.runs import Runs
from app.store.schedule_leases import Sweeps
from app.webhooks import Inbox


class Schedules:
    """For a server: they need a door that GitHub can deliver to."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        github: GitHub,
        inbox: Inbox,
        *,
        mirrors: Mirrors,
    ) -> None:
        self.open = asyncio.Event()
        """Set once the door is open: what is delivered before would fail again."""
        self._every = settings.sweep_seconds
        sweeps, clock = Sweeps(database, settings.worker), github.app.jwt.get_time
        self._github, self._database, self._sweeps = github, database, sweeps
        self._alerts = AlertPoll(
            OpenAlerts(github),
            partial(read_policy, github),
            sweeps=sweeps,
            looks=AlertLooks(database),
            runs=AlertRuns(database),
            remediations=Remediations(database),
            inbox=inbox,
            every=self._every,
        )
        self._overrides = OverrideRecheck(
            partial(read_policy, github),
            overrides=Overrides(database),
            alert_runs=AlertRuns(database),
            runs=Runs(database),
            inbox=inbox,
            sweeps=sweeps,
            web=github.urls.web,
            clock=clock,
        )
        self._boards = BoardUpkeep(github, database, partial(read_policy, github), sweeps)
        self._guidance = GuidanceSweep(Proposals(database), inbox, sweeps, web=github.urls.web)
        spacing = settings.github_write_spacing
        self._deliveries = FailedDeliveries.for_server(
            github, database, sweeps, every=self._every, spacing=spacing
        )
        self._labels = MissedLabels(LabelledIssues(github), sweeps, inbox, clock=clock)
        self._retention = Retention(
            database,
            mirrors,
            settings.data_dir,
            sweeps,
            days=settings.retention_days,
            removed_days=settings.removed_days,
        )

    async def begin(self, engine: Engine, equip: Equip) -> None:
        """Have the engine do them from now on, the first time at once."""
        merged = FixConfirmation(
            self._github,
            equip,
            runs=Runs(self._database),
            remediations=Remediations(self._database),
            sweeps=self._sweeps,
        )
        await engine.schedule(ALERTS, self._every, self._sweep_alerts)
        await engine.schedule(OVERRIDES, self._every, self._sweep_overrides)
        await engine.schedule(MERGED, self._every, merged.run)
        await engine.schedule(DELIVERIES, self._every, self._sweep_deliveries)
        await engine.schedule(LABELS, self._every, self._sweep_labels)
        await engine.schedule(BOARDS, self._every, self._sweep_boards)
        await engine.schedule(GUIDANCE, self._every, self._sweep_guidance)
        await engine.schedule(RETENTION, retention.EVERY, self._retention.run)

    async def _sweep_deliveries(self) -> None:
        await self.open.wait()
        await self._deliveries.run()

    async def _sweep_labels(self) -> None:
        await self.open.wait()
        await self._labels.run()

    async def _sweep_boards(self) -> None:
        await self.open.wait()
        await self._boards.run()

    async def _sweep_guidance(self) -> None:
        await self.open.wait()
        await self._guidance.run()

    async def _sweep_overrides(self) -> None:
        await self.open.wait()
        await self._overrides.run()

    async def _sweep_alerts(self) -> None:
        await self.open.wait()
        await self._alerts.run()
