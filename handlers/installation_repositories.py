"""The `installation_repositories` event: the App was given repositories, or lost them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.ignored import Ignored
from handlers.installation import report_change
from handlers.notifications import InstallationChanged


def handle_added(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the App may reach more repositories. Raises pydantic.ValidationError."""
    return report_change(payload, "added")


def handle_removed(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that the App may reach fewer repositories. Raises pydantic.ValidationError."""
    return report_change(payload, "removed")
