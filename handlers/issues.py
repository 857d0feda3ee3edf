"""Step 2: the `issues` event: a label starts a run; its removal, or a closed issue, cancels it.

A new issue may name a change that was merged lately.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from agents.requests import Command, ResolveIssue
from handlers.ignored import NOT_OURS, Ignored
from handlers.notifications import BoardTicked, Suspicion
from handlers.payloads.common import Issue, IssueChanged, Pull, PullChanged

RESOLVE_LABEL = "bot:resolve"
OWNERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""https://docs.github.com/graphql/reference/enums#commentauthorassociation"""
LONGEST = 65_536  # characters of an issue that are looked at: all that GitHub takes
MOST_NAMED = 20
BOARD = "<!-- fettle:board -->"
"""What a dashboard begins with."""
_TICKED = re.compile(r"(?m)^[-*] \[[xX]\] <!-- fettle:(approve|again)=([\w.-]{1,100}) -->")
_NAMED = re.compile(r"(?<![\w/#&])#(\d{1,9})\b|/pull/(\d{1,9})\b|\b([0-9a-f]{10,40})\b")


def handle_labeled(payload: Mapping[str, Any]) -> ResolveIssue | Ignored:
    """Ask for a pull request when the label is the trigger label.

    Each label put on sends its own delivery, while `issue.labels` lists all that are on: only
    `payload.label` says which one it was. Raises pydantic.ValidationError.
    """
    event = IssueChanged.model_validate(payload)
    if event.label is None or event.label.name != RESOLVE_LABEL:
        return Ignored(f"the label is not {RESOLVE_LABEL}")
    if event.issue.pull_request is not None:
        return Ignored("the label is on a pull request")
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.sender is None or event.sender.ghost:
        return Ignored("nobody can be named who put the label on")
    if event.issue.user is None or event.issue.user.ghost:
        return Ignored("the author's account is gone, so nobody can be named who wrote the issue")
    return ResolveIssue(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.issue.number,
        title=event.issue.title,
        body=event.issue.body or "",
        author=event.issue.user.person,
        asked_by=event.sender.person,
        label=event.label.name,
        url=event.issue.html_url,
    )


def handle_opened(payload: Mapping[str, Any]) -> Suspicion | Ignored:
    """Tell which pull requests and commits a new issue names, where one of the owners wrote it.

    Somebody else's word would have the repository's checks run at will. Raises
    pydantic.ValidationError.
    """
    event = IssueChanged.model_validate(payload)
    if event.issue.pull_request is not None or event.installation is None:
        return Ignored(NOT_OURS)
    if event.issue.author_association not in OWNERS:
        return Ignored("it was not written by one of the owners")
    text = f"{event.issue.title}\n{(event.issue.body or '')[:LONGEST]}"
    named = dict.fromkeys(found[1] or found[2] or found[3] for found in _NAMED.finditer(text))
    if not named:
        return Ignored("it names no change")
    return Suspicion(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        named=tuple(named)[:MOST_NAMED],
    )


def handle_edited(payload: Mapping[str, Any]) -> BoardTicked | Ignored:
    """Tell which boxes of a dashboard somebody has ticked. Raises pydantic.ValidationError.

    Whether it is Fettle's own issue, and whether they may, is looked up later.
    """
    event = IssueChanged.model_validate(payload)
    body = (event.issue.body or "")[:LONGEST]
    before = event.changes.body if event.changes else None
    if BOARD not in body or before is None or event.installation is None:
        return Ignored("no box of a dashboard was ticked")
    ticked = list_ticks(body) - list_ticks(before.text[:LONGEST])
    if not ticked:
        return Ignored("no box of a dashboard was ticked")
    if event.sender is None or event.sender.ghost:
        return Ignored("nobody can be named who ticked it")
    return BoardTicked(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=event.issue.number,
        approve=tuple(sorted(ident for verb, ident in ticked if verb == "approve"))[:MOST_NAMED],
        again=tuple(sorted(ident for verb, ident in ticked if verb == "again"))[:MOST_NAMED],
        asked_by=event.sender.person,
        url=event.issue.html_url,
    )


def list_ticks(body: str) -> set[tuple[str, str]]:
    """Return what the ticked boxes of a dashboard stand for: `approve` or `again`, and an id."""
    return {(found[1], found[2]) for found in _TICKED.finditer(body)}


def handle_unlabeled(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Cancel the run when the trigger label was taken off. Raises pydantic.ValidationError."""
    event = IssueChanged.model_validate(payload)
    if event.label is None or event.label.name != RESOLVE_LABEL:
        return Ignored(f"the label is not {RESOLVE_LABEL}")
    return _cancel(event, "label")


def handle_closed(payload: Mapping[str, Any]) -> tuple[Command, ...] | Ignored:
    """Cancel the run when its issue was closed. Raises pydantic.ValidationError."""
    return _cancel(IssueChanged.model_validate(payload), "issue")


def _cancel(event: IssueChanged, via: Literal["label", "issue"]) -> tuple[Command, ...] | Ignored:
    if event.issue.pull_request is not None:
        return Ignored("it is a pull request, and no run works on those")
    return cancel_run(event, event.issue, via)


def cancel_run(
    event: IssueChanged | PullChanged,
    on: Issue | Pull,
    via: Literal["label", "issue", "pull_request"],
) -> tuple[Command, ...] | Ignored:
    """Return the command that cancels the run, in the name of the event's sender.

    `on` is the issue or pull request, `via` what was done to it.
    """
    if event.installation is None:
        return Ignored(NOT_OURS)
    if event.sender is None:
        return Ignored("nobody can be named who did it")
    command = Command(
        installation_id=event.installation.id,
        repository=event.repository.repository,
        number=on.number,
        verb="cancel",
        asked_by=event.sender.person,
        via=via,
        url=on.html_url,
    )
    return (command,)
