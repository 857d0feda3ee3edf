"""A repository with vulnerable dependencies on the local GitHub, and runs that are about them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from agents.policy import MissingPolicy, Policy, PolicyOrigin, ValidPolicy
from agents.requests import RemediateAlert
from app.alerts.earlier_runs import StoredEarlierRuns
from app.github.alerts.adapter import GitHubAlerts
from app.github.alerts.tracking_issue import TrackingIssue
from app.github.approvals.adapter import GitHubApprovals
from app.github.reporting.reporter import GitHubReporter
from app.simulator.github.state.alerts import Affected
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from tests.fakes.requests import build_remediate_alert

ADVISORY = "GHSA-h5c8-rqwp-cp95"
JINJA = Affected("pip", "jinja2", "< 3.1.4", "3.1.4")


@dataclass
class AlertScene:
    """The repository, its alerts, and the ports of each run about them."""

    scene: Any
    database: Database
    request: RemediateAlert
    policy: Any = field(default_factory=MissingPolicy)
    asked_at: float = field(default_factory=lambda: time.time() - 60)
    """Unix seconds at which every run here was asked for: the same name is the same run."""

    @property
    def server(self) -> Any:
        return self.scene.server

    @property
    def repository(self) -> Any:
        return self.scene.repository

    @property
    def runs(self) -> Runs:
        return Runs(self.database)

    def tells(self, *, failures: bool) -> None:
        """Have the policy say whether failures are told."""
        policy = Policy.model_validate({"remediation": {"tell_failures": failures}})
        self.policy = ValidPolicy(policy, "", PolicyOrigin())

    def publish(self, ghsa: str = ADVISORY, affected: Affected = JINJA, **more: Any) -> Any:
        return self.server.publish_advisory(ghsa, [affected], **more)

    async def alert(
        self,
        manifest: str = "requirements.txt",
        *,
        ghsa: str = ADVISORY,
        affected: Affected = JINJA,
        **more: Any,
    ) -> Any:
        """Publish the advisory and raise an alert about it."""
        advisory = self.publish(ghsa, affected, **more)
        return await self.server.raise_alert(self.repository, advisory, manifest_path=manifest)

    def run_id(self, name: str = "5e3f") -> str:
        return f"{int(self.asked_at * 1e6):016x}-{name}"

    async def create_run(self, name: str = "5e3f", **changes: Any) -> tuple[str, RemediateAlert]:
        """Store a run about the alerts; return its id and request."""
        request, run_id = self.request.model_copy(update=changes), self.run_id(name)
        await self.runs.create(run_id, request)
        return run_id, request

    def alerts(self, run_id: str, request: RemediateAlert) -> GitHubAlerts:
        return GitHubAlerts(
            self.scene.github,
            request,
            run_id,
            self.scene.redactor,
            earlier=StoredEarlierRuns(self.database),
            settle=0,
        )

    async def run(self, name: str = "5e3f", **changes: Any) -> GitHubAlerts:
        """Return the port of a run that was asked for a minute ago."""
        return self.alerts(*await self.create_run(name, **changes))

    async def make_speaking(self, name: str = "5e3f", **changes: Any) -> Speaking:
        """Return what a run speaks to people with, as a process has it that begins or goes on."""
        run_id, request = await self.create_run(name, **changes)
        place = TrackingIssue(
            self.scene.github,
            request,
            run_id,
            self.scene.redactor,
            runs=self.runs,
            alerts=self.alerts(run_id, request),
            policy=self._read,
            settle=0,
        )
        await place.recall()
        return Speaking(self, run_id, request, place, await self._reporter(run_id, request, place))

    def issues(self) -> list[Any]:
        """Return the issues that Fettle has opened."""
        every = self.repository.issues.values()
        return [
            each
            for each in every
            if each.author.account.login == "fettle[bot]" and each.pull is None
        ]

    async def _read(self) -> Any:
        return self.policy

    async def _reporter(self, run_id: str, request: Any, place: TrackingIssue) -> GitHubReporter:
        async def remember(number: int) -> None:
            await self.runs.record_comment(run_id, number)

        return GitHubReporter(
            self.scene.github,
            request,
            run_id,
            self.scene.redactor,
            remember=remember,
            comment_id=await self.runs.comment_of(run_id),
            interval=0.01,
            place=place,
        )


@dataclass
class Speaking:
    """One run's ways to people."""

    alerts: AlertScene
    run_id: str
    request: RemediateAlert
    place: TrackingIssue
    reporter: GitHubReporter

    @property
    def store(self) -> StoredApprovals:
        return StoredApprovals(self.alerts.database)

    async def ask(self, asking: Any) -> Any:
        """Ask as a stage does, and have it seen that the run waits."""
        scene = self.alerts.scene
        approvals = GitHubApprovals(
            scene.github, self.request, self.run_id, self.store, scene.redactor, place=self.place
        )
        found = await approvals.ask(asking)
        self.reporter.stage_started("fix/1", "Climb the ladder")
        self.reporter.report_parked("fix/1", [found.id])
        await self.reporter.flush()
        return found

    async def end(self, outcome: Any) -> None:
        """End the run as its equipment does."""
        await self.reporter.finish(outcome)
        await self.place.leave(outcome)
        await self.alerts.runs.record_end(self.run_id, outcome)


def make_alert_scene(scene: Any, database: Database, *, private: bool = False) -> AlertScene:
    """Return it with nothing vulnerable yet."""
    request = build_remediate_alert(
        installation_id=scene.installation.id,
        repository=scene.request.repository.model_copy(update={"private": private}),
        url=f"{scene.server.url}/ada/parse/security/dependabot/1",
    )
    return AlertScene(scene, database, request)
