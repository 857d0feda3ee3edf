"""The `dependabot_alert` event: GitHub opened or closed an alert about a vulnerable dependency.

After its first scan of a repository GitHub sends a delivery for each alert, all at once; those of
one package and folder become one run.
https://docs.github.com/webhooks/webhook-events-and-payloads#dependabot_alert
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import Person, RemediateAlert, Repository
from handlers.ignored import NOT_OURS, Ignored
from handlers.notifications import AlertClosed
from handlers.payloads.alerts import AlertChanged, AlertView

NOBODY = Person(id=0, login="an open alert")
"""Stands for the asker; no account can have this login."""
UNKNOWN = Person(id=0, login="")
"""Stands for the author, since GitHub itself wrote the alert."""


def handle_opened(payload: Mapping[str, Any]) -> RemediateAlert | Ignored:
    """Ask for a fix of the package. Raises pydantic.ValidationError."""
    event = AlertChanged.model_validate(payload)
    alert, installation = event.alert, event.installation
    if installation is None:
        return Ignored(NOT_OURS)
    if alert.state != "open":
        return Ignored("the alert is not open")
    if event.repository.archived:
        return Ignored("the repository is archived, so nothing can be pushed to it")
    if alert.fault:
        return Ignored(alert.fault)
    return make_request(alert, event.repository.repository, installation.id)


def handle_closed(payload: Mapping[str, Any]) -> AlertClosed | Ignored:
    """Return the notice that the alert is closed. Raises pydantic.ValidationError."""
    event = AlertChanged.model_validate(payload)
    alert, installation = event.alert, event.installation
    if installation is None:
        return Ignored(NOT_OURS)
    if alert.state == "open":
        return Ignored("the alert is open")
    if alert.fault:
        return Ignored(alert.fault)
    return AlertClosed(
        installation_id=installation.id,
        repository=event.repository.repository,
        alert=alert.number,
        state=alert.state,
        ecosystem=alert.ecosystem,
        package=alert.package,
        directory=alert.directory,
    )


def make_request(alert: AlertView, repository: Repository, installation_id: int) -> RemediateAlert:
    """Return the request for a fix of the package that the alert is about.

    The title names the package alone: people who may not read the alert can read the title.
    """
    return RemediateAlert(
        installation_id=installation_id,
        repository=repository,
        number=0,
        title=alert.package,
        author=UNKNOWN,
        asked_by=NOBODY,
        url=alert.html_url,
        ecosystem=alert.ecosystem,
        package=alert.package,
        directory=alert.directory,
        told=(alert.severity_told,),
        via="alert",
    )
