"""From a name to a request: found on GitHub through the App's own installation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agents.errors import ConfigError
from agents.requests import (
    AddressReview,
    Again,
    Command,
    FixChecks,
    Person,
    Request,
    ResolveIssue,
    ShownSubject,
    UpdateBranch,
)
from app.config.system_user import find_operator
from app.github.transport import GitHub, InstallationGone, NotFound, NotPermitted, Profile
from app.operator.issue_reference import IssueName, wrong_kind
from app.operator.repositories import Installed, repository_at
from handlers.issues import RESOLVE_LABEL
from handlers.payloads.common import Issue

RequestKind = Literal["resolve_issue", "address_review", "update_branch", "fix_checks"]
COMMANDS: dict[RequestKind, str] = {
    "resolve_issue": "resolve",
    "address_review": "address",
    "update_branch": "update",
    "fix_checks": "runs retry",
}
"""By which command each is asked for."""


@dataclass(frozen=True)
class Wanted:
    """What is to be done, and where."""

    name: IssueName
    kind: RequestKind = "resolve_issue"
    again: Again | None = None
    head: str = ""
    """For checks: the commit on which they failed."""
    branch: str = ""


async def request_for(github: GitHub, wanted: Wanted) -> Request:
    """Return the request of whoever sits at this terminal, with the issue as it is now.

    Raises ConfigError when the App cannot see it, or when it is none to work on.
    """
    name = wanted.name
    installed, issue = await _find_issue(github, name)
    is_issue = issue.pull_request is None
    if is_issue != (wanted.kind == "resolve_issue"):
        raise ConfigError(wrong_kind(name, COMMANDS[wanted.kind], is_issue=is_issue))
    if issue.user is None or issue.user.ghost:
        raise ConfigError(f"The author's account of {name} is gone, so nobody can be named.")
    about = {
        "installation_id": installed.installation_id,
        "repository": installed.repository,
        "number": issue.number,
        "title": issue.title,
        "author": issue.user.person,
        "asked_by": Person(id=0, login=find_operator()),
        "url": issue.html_url,
        "via": "terminal",
        "again": wanted.again,
    }
    return _request(wanted, issue, about)


def _request(wanted: Wanted, issue: Issue, about: dict[str, Any]) -> Request:
    match wanted.kind:
        case "resolve_issue":
            return ResolveIssue(**about, body=issue.body or "", label=RESOLVE_LABEL)
        case "address_review":
            return AddressReview(**about)
        case "update_branch":
            return UpdateBranch(**about)
        case "fix_checks":
            return FixChecks(**about, head=wanted.head, branch=wanted.branch)


async def undo_for(github: GitHub, name: IssueName) -> Command:
    """Return the command by which whoever sits at this terminal has the last run taken back.

    Raises ConfigError when the App cannot see where that was.
    """
    installed, issue = await _find_issue(github, name)
    author = issue.user.person if issue.user is not None else Person(id=0, login="ghost")
    shown = ShownSubject(
        title=issue.title, body=issue.body or "", author=author, url=issue.html_url
    )
    place = "issue" if issue.pull_request is None else "pull_request"
    return Command(
        installation_id=installed.installation_id,
        repository=installed.repository,
        number=issue.number,
        verb="undo",
        asked_by=Person(id=0, login=find_operator()),
        via="terminal",
        url=issue.html_url,
        **{place: shown},
    )


async def _find_issue(github: GitHub, wanted: IssueName) -> tuple[Installed, Issue]:
    try:
        return await _look_up(github, wanted)
    except (NotFound, NotPermitted, InstallationGone) as error:
        raise ConfigError(
            f"{wanted} cannot be worked on: {error}\nThe App has to be installed on"
            f" `{wanted.owner}/{wanted.name}`, and #{wanted.number} has to be there."
        ) from error


async def _look_up(github: GitHub, wanted: IssueName) -> tuple[Installed, Issue]:
    installed = await repository_at(github, wanted.owner, wanted.name)
    where = {"owner": wanted.owner, "repo": wanted.name, "number": str(wanted.number)}
    client = await github.installation(
        installed.installation_id, installed.repository.id, Profile.READ
    )
    shown = await client.getitem("/repos/{owner}/{repo}/issues/{number}", where)
    return installed, Issue.model_validate(shown)
