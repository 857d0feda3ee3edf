"""The `pull_request` event: labels, its end, and new commits that may edit the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.requests import AddressReview, Command
from handlers.ignored import NOT_OURS, Ignored
from handlers.issues import cancel_run
from handlers.notifications import PullChanged as PullNotice
from handlers.notifications import PullClosed
from handlers.payloads.common import Account, Pull, PullChanged

ADDRESS_LABEL = "bot:address"


def handle_labeled(payload: Mapping[str, Any]) -> AddressReview | Ignored:
    """Ask for the open reviews to be addressed when the label is the one that lets Fettle in.

    Raises pydantic.ValidationError.
    """
    event = PullChanged.model_validate(payload)
    if event.label is None or event.label.name != ADDRESS_LABEL:
        return Ignored(f"the label is not {ADDRESS_LABEL}")
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.sender is None or event.sender.ghost:
        return Ignored("nobody can be named who put the label on")
    author = find_author(event.pull_request)
    if author is None:
        return Ignored("the author's account is gone, so nobody can be named whose work it is")
    return AddressReview(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.pull_request.number,
        title=event.pull_request.title,
        author=author.person,
        asked_by=event.sender.person,
        url=event.pull_request.html_url,
        via="label",
    )


def handle_unlabeled(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Cancel the run when that label was taken off. Raises pydantic.ValidationError."""
    event = PullChanged.model_validate(payload)
    if event.label is None or event.label.name != ADDRESS_LABEL:
        return Ignored(f"the label is not {ADDRESS_LABEL}")
    return cancel_run(event, event.pull_request, "label")


def handle_closed(payload: Mapping[str, Any]) -> tuple[Command | PullClosed, ...] | Ignored:
    """Cancel the run when its pull request was closed or merged, and tell alerts that wait for it.

    Raises pydantic.ValidationError.
    """
    event = PullChanged.model_validate(payload)
    stopped = cancel_run(event, event.pull_request, "pull_request")
    if event.installation is None:
        return stopped
    told = PullClosed(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.pull_request.number,
        merged=event.pull_request.merged,
        by=event.sender.person if event.sender and not event.sender.ghost else None,
        **_describe_merge(event.pull_request),
    )
    return (told,) if isinstance(stopped, Ignored) else (*stopped, told)


def handle_new_head(payload: Mapping[str, Any]) -> PullNotice | Ignored:
    """Tell of the newest commit, which may edit the policy. Raises pydantic.ValidationError."""
    event = PullChanged.model_validate(payload)
    pull = event.pull_request
    if event.installation is None:
        return Ignored(NOT_OURS)
    if pull.head is None or pull.base is None:
        return Ignored("the delivery does not name its commits")
    return PullNotice(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=pull.number,
        head=pull.head.sha,
        base=pull.base.sha,
    )


def _describe_merge(pull: Pull) -> dict[str, Any]:
    """Return what the watch over merged changes has to know."""
    author = find_author(pull)
    return {
        "author_id": author.person.id if author else 0,
        "branch": (pull.head and pull.head.ref) or "",
        "base": (pull.base and pull.base.ref) or "",
        "commit": pull.merge_commit_sha or "",
    }


def find_author(pull: Pull) -> Account | None:
    """Return who opened the pull request; None when that account is gone."""
    return None if pull.user is None or pull.user.ghost else pull.user
