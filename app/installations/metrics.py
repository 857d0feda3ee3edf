"""Metrics of installations: how many there are, and how many grant what Fettle needs."""

from __future__ import annotations

from prometheus_client import Gauge
from sqlalchemy import Connection

from app.github.transport import every_permission
from app.observability.metrics import Metrics
from app.records.installations import KnownInstallation
from app.store.installations import every_installation
from handlers.access.permissions import list_lacking

STATES = ("active", "behind", "suspended")
"""`behind`: its owners have not granted all that the App asks for."""


def measure(metrics: Metrics) -> None:
    """Have the metrics report the number of installations at each scrape."""
    gauge = Gauge(
        "fettle_installations", "Installations by state.", ["state"], registry=metrics.registry
    )

    def look(connection: Connection) -> None:
        found = [_state(each) for each in every_installation(connection)]
        for state in STATES:
            gauge.labels(state).set(found.count(state))

    metrics.at_scrape(look)


def _state(installation: KnownInstallation) -> str:
    if installation.suspended_at is not None:
        return "suspended"
    return "behind" if list_lacking(installation.permissions, every_permission()) else "active"
