"""Change the state of alerts: raise, dismiss, fix by a push, reopen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.answers import ApiError
from app.simulator.github.changes.issues import Announce
from app.simulator.github.schemas.alerts import alert_json
from app.simulator.github.state.alerts import Advisory, Affected, Alert, AlertState
from app.simulator.github.state.world import Repository, World

Scanner = Callable[[Repository, Alert], Awaitable[bool]]
"""Says whether the default branch still holds a vulnerable copy of the alert's package."""
DependencyScope = Literal["runtime", "development"] | None
Relationship = Literal["direct", "transitive", "unknown", "inconclusive"] | None
GITHUB_ID = 9919  # the organization `github`, which sends what nobody in particular did


class AlertChanges:
    """Changes of alerts."""

    def __init__(self, world: World, announce: Announce) -> None:
        self._world = world
        self._announce = announce
        self.scanner: Scanner | None = None
        """Asked whenever a default branch moved; None: nobody looks."""

    def raise_alert(
        self,
        repository: Repository,
        advisory: Advisory,
        affected: Affected,
        *,
        manifest_path: str,
        scope: DependencyScope,
        relationship: Relationship,
    ) -> Alert:
        """Find a vulnerable dependency."""
        alert = Alert(
            **self._world.birth(),
            repository=repository,
            number=max(repository.alerts, default=0) + 1,
            advisory=advisory,
            affected=affected,
            manifest_path=manifest_path,
            scope=scope,
            relationship=relationship,
            updated_at=self._world.get_time(),
        )
        repository.alerts[alert.number] = alert
        self._tell(alert, "created")
        return alert

    def dismiss(self, alert: Alert, by: Actor, reason: str, comment: str | None) -> None:
        """Decide not to mend it; Refused 409 for what is not open."""
        if alert.state not in ("open", "auto_dismissed"):
            raise ApiError(409, f"Alert is {alert.state}")
        self._become(alert, "dismissed")
        alert.dismissed_at, alert.dismissed_by = alert.updated_at, by.account
        alert.dismissed_reason, alert.dismissed_comment = reason, comment
        self._tell(alert, "dismissed", by)

    def reopen_alert(self, alert: Alert, by: Actor) -> None:
        """Take a dismissal back; Refused 409 for what is fixed."""
        if alert.state not in ("dismissed", "auto_dismissed"):
            raise ApiError(409, f"Alert is {alert.state}")
        self._become(alert, "open")
        self._tell(alert, "reopened", by)

    def fix(self, alert: Alert) -> None:
        """Notice that no vulnerable copy is left."""
        self._become(alert, "fixed")
        alert.fixed_at = alert.updated_at
        self._tell(alert, "fixed")

    def reintroduce(self, alert: Alert) -> None:
        """Notice that a vulnerable copy is back."""
        self._become(alert, "open")
        self._tell(alert, "reintroduced")

    def auto_dismiss(self, alert: Alert) -> None:
        """Dismiss by a rule of the owner's."""
        self._become(alert, "auto_dismissed")
        alert.auto_dismissed_at = alert.updated_at
        self._tell(alert, "auto_dismissed")

    def auto_reopen(self, alert: Alert) -> None:
        """Reopen by a rule of the owner's."""
        self._become(alert, "open")
        self._tell(alert, "auto_reopened")

    async def rescan(self, repository: Repository, scanner: Scanner | None = None) -> list[Alert]:
        """Look at what the default branch holds by now; return the alerts that changed."""
        look, changed = scanner or self.scanner, []
        if look is None or not repository.alerts_enabled:
            return []
        for alert in list(repository.alerts.values()):
            vulnerable = await look(repository, alert)
            if vulnerable and alert.state == "fixed":
                self.reintroduce(alert)
            elif not vulnerable and alert.state in ("open", "auto_dismissed"):
                self.fix(alert)
            else:
                continue
            changed.append(alert)
        return changed

    def _become(self, alert: Alert, state: AlertState) -> None:
        alert.state, alert.updated_at = state, self._world.get_time()
        alert.dismissed_at = alert.dismissed_by = alert.fixed_at = alert.auto_dismissed_at = None
        alert.dismissed_reason = alert.dismissed_comment = None

    def _tell(self, alert: Alert, action: str, by: Actor | None = None) -> None:
        payload = {"action": action, "alert": alert_json(self._world, alert)}
        actor = by or Actor(self._github())
        self._announce(alert.repository, "dependabot_alert", actor, payload)

    def _github(self) -> Account:
        found = self._world.account("github")
        if found is None:
            birth = self._world.birth() | {"id": GITHUB_ID}
            found = Account(**birth, login="github", kind="Organization")
            self._world.accounts["github"] = found
        return found
