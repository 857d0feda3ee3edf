"""Publish an advisory, or have GitHub find a dependency, without the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.changes.alerts import DependencyScope, Relationship, Scanner
from app.simulator.github.gitdir import GitDir, GitFailed
from app.simulator.github.state.alerts import Advisory, AdvisoryKind, Affected, Alert, Severity
from app.simulator.github.state.world import Repository


class AlertsAdmin:
    """Acts as GitHub, and as people. What is awaited returns when its webhooks are answered."""

    parts: Parts

    @property
    def still_vulnerable(self) -> Scanner | None:
        """Return who is asked about every alert after a default branch moved."""
        return self.parts.alerts.scanner

    @still_vulnerable.setter
    def still_vulnerable(self, scanner: Scanner | None) -> None:
        self.parts.alerts.scanner = scanner

    def publish_advisory(
        self,
        ghsa_id: str,
        affected: Sequence[Affected],
        *,
        severity: Severity = "high",
        summary: str = "",
        description: str = "",
        cve_id: str | None = None,
        kind: AdvisoryKind = "reviewed",
        references: Sequence[str] = (),
        cwes: Mapping[str, str] | None = None,
    ) -> Advisory:
        """Put an advisory into the database."""
        world = self.parts.world
        advisory = Advisory(
            **world.birth(),
            ghsa_id=ghsa_id,
            affected=list(affected),
            severity=severity,
            summary=summary or f"Weakness in {affected[0].package}",
            description=description,
            updated_at=world.get_time(),
            cve_id=cve_id,
            kind=kind,
            references=list(references),
            cwes=dict(cwes or {}),
        )
        world.advisories[ghsa_id.upper()] = advisory
        return advisory

    def withdraw_advisory(self, advisory: Advisory) -> None:
        """Say that it was a mistake; alerts because of it stay."""
        advisory.withdrawn_at = advisory.updated_at = self.parts.world.get_time()

    async def raise_alert(
        self,
        repository: Repository,
        advisory: Advisory,
        *,
        manifest_path: str,
        affected: Affected | None = None,
        scope: DependencyScope = "runtime",
        relationship: Relationship = "direct",
    ) -> Alert:
        """Find a dependency vulnerable, because of the first range if of no other."""
        alert = self.parts.alerts.raise_alert(
            repository,
            advisory,
            affected or advisory.affected[0],
            manifest_path=manifest_path,
            scope=scope,
            relationship=relationship,
        )
        await self.parts.webhooks.wait_until_settled()
        return alert

    async def dismiss_alert(
        self,
        alert: Alert,
        by: Account,
        *,
        reason: str = "tolerable_risk",
        comment: str | None = None,
    ) -> None:
        """Decide not to mend it."""
        self.parts.alerts.dismiss(alert, Actor(by), reason, comment)
        await self.parts.webhooks.wait_until_settled()

    async def reopen_alert(self, alert: Alert, by: Account) -> None:
        """Take a dismissal back."""
        self.parts.alerts.reopen_alert(alert, Actor(by))
        await self.parts.webhooks.wait_until_settled()

    async def fix_alert(self, alert: Alert) -> None:
        """Notice that no vulnerable copy is left."""
        self.parts.alerts.fix(alert)
        await self.parts.webhooks.wait_until_settled()

    async def reintroduce_alert(self, alert: Alert) -> None:
        """Notice that a vulnerable copy is back."""
        self.parts.alerts.reintroduce(alert)
        await self.parts.webhooks.wait_until_settled()

    async def auto_dismiss_alert(self, alert: Alert) -> None:
        """Dismiss by a rule of the owner's."""
        self.parts.alerts.auto_dismiss(alert)
        await self.parts.webhooks.wait_until_settled()

    async def auto_reopen_alert(self, alert: Alert) -> None:
        """Reopen by a rule of the owner's."""
        self.parts.alerts.auto_reopen(alert)
        await self.parts.webhooks.wait_until_settled()

    async def rescan(
        self, repository: Repository, still_vulnerable: Scanner | None = None
    ) -> list[Alert]:
        """Look at the default branch now; return the alerts that changed."""
        changed = await self.parts.alerts.rescan(repository, still_vulnerable)
        await self.parts.webhooks.wait_until_settled()
        return changed

    async def file(
        self, repository: Repository, path: str, revision: str | None = None
    ) -> bytes | None:
        """Return a file of the default branch, or of another revision; None for no file."""
        git = GitDir(repository.gitdir)
        try:
            entries = await git.entries(revision or repository.default_branch, path)
        except GitFailed:
            return None
        blobs = [each for each in entries if each.kind == "blob" and each.path == path]
        return await git.blob(blobs[0].sha) if blobs else None
