"""The `repository` event: renamed, transferred, archived, made public or private, or deleted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from handlers.ignored import NOT_OURS, Ignored
from handlers.notifications import Move, RepositoryChanged
from handlers.payloads.installations import RepositoryEvent


def report_change(change: Move, payload: Mapping[str, Any]) -> RepositoryChanged | Ignored:
    """Return the notice of this change. Raises pydantic.ValidationError."""
    event = RepositoryEvent.model_validate(payload)
    if event.installation is None:
        return Ignored(NOT_OURS)
    return RepositoryChanged(
        installation_id=event.installation.id,
        change=change,
        repository=event.repository.repository,
        archived=event.repository.archived,
    )


handle_renamed = partial(report_change, "renamed")
handle_transferred = partial(report_change, "transferred")
handle_archived = partial(report_change, "archived")
handle_unarchived = partial(report_change, "unarchived")
handle_publicized = partial(report_change, "publicized")
handle_privatized = partial(report_change, "privatized")
handle_deleted = partial(report_change, "deleted")
