"""The `installation` event: an owner installs the App, suspends it, or takes it away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.ignored import Ignored
from handlers.notifications import InstallationChange, InstallationChanged
from handlers.payloads.installations import InstallationEvent

NOBODY = "the App is not installed on an organisation or a person"


def handle_created(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the App was installed. Raises pydantic.ValidationError."""
    return report_change(payload, "created")


def handle_deleted(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the App was taken off. Raises pydantic.ValidationError."""
    return report_change(payload, "deleted")


def handle_suspend(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the owner suspended the App. Raises pydantic.ValidationError."""
    return report_change(payload, "suspended")


def handle_unsuspend(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the owner lifted the suspension. Raises pydantic.ValidationError."""
    return report_change(payload, "unsuspended")


def handle_new_permissions_accepted(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the owner granted new permissions. Raises pydantic.ValidationError."""
    return report_change(payload, "permissions")


def report_change(
    payload: Mapping[str, Any], change: InstallationChange
) -> InstallationChanged | Ignored:
    """Return the notice of this change. Raises pydantic.ValidationError."""
    installation = InstallationEvent.model_validate(payload).installation
    account = installation.account
    if account is None or account.login is None:
        return Ignored(NOBODY)
    return InstallationChanged(
        installation_id=installation.id,
        change=change,
        account_id=account.id,
        account=account.login,
    )
