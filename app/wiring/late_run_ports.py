"""The ports of runs, imported when the first run comes: a server at rest is megabytes smaller."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from agents.requests import Request
from app.github.transport import GitHub
from app.runs.steering import SteerSignals
from app.webhooks import OwnIdentity
from app.wiring.resources import SharedResources

if TYPE_CHECKING:
    from agents.run import Outcome
    from app.github.alerts.adapter import GitHubAlerts
    from app.wiring.github_run import GitHubRun
    from app.wiring.run_ports import RunPortsFactory

# ruff: noqa: PLC0415 - that imports wait is what this module is for


class LateRunPorts:
    """Equips runs on GitHub, as RunPortsFactory does."""

    def __init__(self, parts: SharedResources, github: GitHub, identity: OwnIdentity) -> None:
        self._parts = parts
        self._github = github
        self._identity = identity
        self.signals = SteerSignals()

    @cached_property
    def _factory(self) -> RunPortsFactory:
        from app.wiring.run_ports import RunPortsFactory

        return RunPortsFactory(self._parts, self._github, self._identity, self.signals)

    async def alerts_of(self, run_id: str) -> GitHubAlerts | None:
        """Return the way to the alerts that this run is about, if it is known and about any."""
        return await self._factory.alerts_of(run_id)

    async def equip(self, run_id: str, request: Request) -> GitHubRun:
        """Give a run its ports; nothing is asked of GitHub yet."""
        return await self._factory.equip(run_id, request)

    async def tell_place(
        self, run_id: str, request: Request, place: int, seconds: float | None
    ) -> bool:
        """Show people where in the queue the run is; False where it will not begin."""
        return await self._factory.tell_place(run_id, request, place, seconds)

    async def find_end(self, run_id: str, request: Request) -> Outcome | None:
        """Return how the run had ended before its database was restored; None where it had not."""
        from app.runs.restored_outcome import RestoredOutcome

        parts = self._parts
        return await RestoredOutcome(self._github, parts.database, parts.redactor).look(
            run_id, request
        )
