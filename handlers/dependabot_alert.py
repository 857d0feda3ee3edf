"""Step 2: the `dependabot_alert` event: a vulnerable dependency was found, or is none any more.

When a repository is looked at for the first time GitHub tells of all its alerts at once, each in a
delivery of its own; those of one package and folder become one run.
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
"""In the place of who asks: no account can have such a name."""
UNKNOWN = Person(id=0, login="")
"""In the place of who wrote it: GitHub does."""


def handle_opened(payload: Mapping[str, Any]) -> RemediateAlert | Ignored:
    """Ask for the package to be mended. Raises pydantic.ValidationError."""
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
    """Tell that nobody needs a fix any more. Raises pydantic.ValidationError."""
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
    """Return the request for what this alert is about.

    The title names nothing but the package: not everybody who reads it may read the alert.
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
