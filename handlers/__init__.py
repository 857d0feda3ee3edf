"""The webhook events that are handled, and by which function: one file per event, named like it.

Handlers are pure: a payload goes in; typed requests, or a reason to ignore it, come out. Whether
the asker may, and whether the request is still true, is decided when the work begins, from what
GitHub says then (`handlers/access/`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.requests import Command, Request
from handlers import (
    check_run,
    check_suite,
    dependabot_alert,
    installation,
    installation_repositories,
    installation_target,
    internal,
    issue_comment,
    issues,
    pull_request,
    pull_request_review,
    repository,
)
from handlers.ignored import Ignored
from handlers.notifications import Notification

DeliveryWork = Request | Notification | tuple[Command | Notification, ...]
"""What a delivery asks for: a run, a notice to be taken, or the several commands of one comment."""


@dataclass(frozen=True)
class Route:
    """What happens to one action of one event."""

    handler: Callable[[Mapping[str, Any]], DeliveryWork | Ignored]
    people_only: bool = True
    """The receiver drops deliveries that a bot caused: bots that react to bots never stop."""
    ours_too: bool = False
    """Deliveries that Fettle caused itself count too: they tell what others make of its pushes."""


ROUTES: Mapping[tuple[str, str], Route] = {
    ("issues", "labeled"): Route(issues.handle_labeled),
    ("issues", "opened"): Route(issues.handle_opened),
    ("issues", "edited"): Route(issues.handle_edited),
    ("issues", "unlabeled"): Route(issues.handle_unlabeled, people_only=False),
    ("issues", "closed"): Route(issues.handle_closed, people_only=False),
    ("issue_comment", "created"): Route(issue_comment.handle_created),
    ("check_run", "requested_action"): Route(check_run.handle_requested_action),
    ("check_run", "rerequested"): Route(check_run.handle_rerequested),
    ("pull_request", "labeled"): Route(pull_request.handle_labeled),
    ("pull_request", "unlabeled"): Route(pull_request.handle_unlabeled, people_only=False),
    ("pull_request", "closed"): Route(pull_request.handle_closed, people_only=False),
    **{
        ("pull_request", action): Route(pull_request.handle_new_head, people_only=False)
        for action in ("opened", "synchronize", "reopened", "ready_for_review")
    },
    ("pull_request_review", "submitted"): Route(pull_request_review.handle_submitted),
    ("check_suite", "completed"): Route(
        check_suite.handle_completed, people_only=False, ours_too=True
    ),
    **{
        ("dependabot_alert", action): Route(dependabot_alert.handle_opened, people_only=False)
        for action in ("created", "reopened", "reintroduced", "auto_reopened")
    },
    # Alerts that Fettle itself closed, say by a merge, count too.
    **{
        ("dependabot_alert", action): Route(
            dependabot_alert.handle_closed, people_only=False, ours_too=True
        )
        for action in ("fixed", "dismissed", "auto_dismissed")
    },
    **{
        (event, action): Route(handler, people_only=False)
        for event, action, handler in (
            ("installation", "created", installation.handle_created),
            ("installation", "deleted", installation.handle_deleted),
            ("installation", "suspend", installation.handle_suspend),
            ("installation", "unsuspend", installation.handle_unsuspend),
            (
                "installation",
                "new_permissions_accepted",
                installation.handle_new_permissions_accepted,
            ),
            ("installation_repositories", "added", installation_repositories.handle_added),
            ("installation_repositories", "removed", installation_repositories.handle_removed),
            ("installation_target", "renamed", installation_target.handle_renamed),
            ("repository", "renamed", repository.handle_renamed),
            ("repository", "transferred", repository.handle_transferred),
            ("repository", "archived", repository.handle_archived),
            ("repository", "unarchived", repository.handle_unarchived),
            ("repository", "publicized", repository.handle_publicized),
            ("repository", "privatized", repository.handle_privatized),
            ("repository", "deleted", repository.handle_deleted),
        )
    },
}

EVENTS = frozenset(event for event, _ in ROUTES)


def is_handled(event: str, action: str | None = None) -> bool:
    """Tell whether anything handles this event, or this action of it."""
    return event in EVENTS if action is None else (event, action) in ROUTES


def route(event: str, payload: Mapping[str, Any]) -> DeliveryWork | Ignored:
    """Return what a delivery asks for, or why it asks for nothing.

    Raises pydantic.ValidationError when the payload has not the shape its event promises.
    """
    if event == internal.TERMINAL:
        return internal.handle_terminal(payload)
    if event == internal.PAGE:
        return internal.handle_page(payload)
    if event == internal.SCHEDULE:
        return internal.handle_schedule(payload)
    found = ROUTES.get((event, str(payload.get("action"))))
    return found.handler(payload) if found else Ignored("nothing handles this event and action")
