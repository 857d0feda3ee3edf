"""Step 2: the `installation_repositories` event: the App was given repositories, or lost them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.ignored import Ignored
from handlers.installation import told
from handlers.notifications import InstallationChanged


def added(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that there are more. Raises pydantic.ValidationError."""
    return told(payload, "added")


def removed(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell that there are fewer. Raises pydantic.ValidationError."""
    return told(payload, "removed")
