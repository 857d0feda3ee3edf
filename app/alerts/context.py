"""Steps 4 and 9: what a run about alerts is given besides: its way in, and what is noted of it."""

from __future__ import annotations

from dataclasses import dataclass

from app.alerts.admission import AlertAdmission, RecentPolicies
from app.alerts.outcomes import AlertOutcomes
from app.github.transport.client import GitHub
from app.store.alert_runs import AlertRuns
from app.store.database import Database
from app.store.history import History
from app.store.overrides import Overrides
from app.store.remediations import Remediations


@dataclass(frozen=True)
class AlertContext:
    """Shared by all runs of one process."""

    access: AlertAdmission
    record: AlertOutcomes

    @classmethod
    def of(cls, database: Database, github: GitHub) -> AlertContext:
        """Return them over this database."""
        remediations = Remediations(database)
        return cls(
            AlertAdmission(github, AlertRuns(database), remediations, RecentPolicies()),
            AlertOutcomes(remediations, Overrides(database), History(database)),
        )
