"""Steps 4 and 9: what a run about alerts is given besides: its way in, and what is noted of it."""

from __future__ import annotations

from dataclasses import dataclass

from app.alerts.admission import AlertAccess, RecentPolicies
from app.alerts.outcomes import AlertRecord
from app.github.transport.client import GitHub
from app.store.alert_runs import AlertRuns
from app.store.database import Database
from app.store.history import History
from app.store.overrides import Overrides
from app.store.remediations import Remediations


@dataclass(frozen=True)
class AboutAlerts:
    """Shared by all runs of one process."""

    access: AlertAccess
    record: AlertRecord

    @classmethod
    def of(cls, database: Database, github: GitHub) -> AboutAlerts:
        """Return them over this database."""
        remediations = Remediations(database)
        return cls(
            AlertAccess(github, AlertRuns(database), remediations, RecentPolicies()),
            AlertRecord(remediations, Overrides(database), History(database)),
        )
