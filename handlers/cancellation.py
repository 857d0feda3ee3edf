"""Step 2: what people do to an issue or a pull request that calls back the run on it."""

from __future__ import annotations

from typing import Literal

from agents.requests import Command
from handlers.ignored import NOT_OURS, Ignored
from handlers.payloads.common import Issue, IssueChanged, Pull, PullChanged


def called_back(
    event: IssueChanged | PullChanged,
    on: Issue | Pull,
    via: Literal["label", "issue", "pull_request"],
) -> tuple[Command, ...] | Ignored:
    """Cancel the run, in the name of whoever did it."""
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
