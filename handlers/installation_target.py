"""The `installation_target` event: an account with the App on it has another login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.ignored import NOT_OURS, Ignored
from handlers.installation import NOBODY
from handlers.notifications import InstallationChanged
from handlers.payloads.installations import TargetRenamed


def handle_renamed(payload: Mapping[str, Any]) -> InstallationChanged | Ignored:
    """Tell the account's new login. Raises pydantic.ValidationError."""
    event = TargetRenamed.model_validate(payload)
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.account.login is None:
        return Ignored(NOBODY)
    return InstallationChanged(
        installation_id=event.installation.id,
        change="renamed",
        account_id=event.account.id,
        account=event.account.login,
    )
