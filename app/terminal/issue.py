"""From a name to a request: found on GitHub through the App's own installation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agents.errors import ConfigError
from agents.requests import (
    AddressReview,
    Again,
    FixChecks,
    Person,
    Repository,
    Request,
    ResolveIssue,
    UpdateBranch,
)
from app.account import operator
from app.github.auth import Profile
from app.github.client import GitHub
from app.github.faults import InstallationGone, Missing, NotPermitted
from app.terminal.names import IssueName, wrong_kind
from handlers.issues import RESOLVE_LABEL
from handlers.payloads import Installation, Issue, RepositoryView

Kind = Literal["resolve_issue", "address_review", "update_branch", "fix_checks"]
COMMANDS: dict[Kind, str] = {
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
    kind: Kind = "resolve_issue"
    again: Again | None = None
    head: str = ""
    """For checks: the commit on which they failed."""
    branch: str = ""


async def request_for(github: GitHub, wanted: Wanted) -> Request:
    """Return the request of whoever sits at this terminal, with the issue as it is now.

    Raises ConfigError when the App cannot see it, or when it is none to work on.
    """
    name = wanted.name
    try:
        installation_id, repository, issue = await _found(github, name)
    except (Missing, NotPermitted, InstallationGone) as error:
        raise ConfigError(
            f"{name} cannot be worked on: {error}\nThe App has to be installed on"
            f" `{name.owner}/{name.name}`, and #{name.number} has to be there."
        ) from error
    is_issue = issue.pull_request is None
    if is_issue != (wanted.kind == "resolve_issue"):
        raise ConfigError(wrong_kind(name, COMMANDS[wanted.kind], is_issue=is_issue))
    if issue.user is None or issue.user.ghost:
        raise ConfigError(f"The author's account of {name} is gone, so nobody can be named.")
    about = {
        "installation_id": installation_id,
        "repository": repository,
        "number": issue.number,
        "title": issue.title,
        "author": issue.user.person,
        "asked_by": Person(id=0, login=operator()),
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


async def _found(github: GitHub, wanted: IssueName) -> tuple[int, Repository, Issue]:
    where = {"owner": wanted.owner, "repo": wanted.name}
    path = "/repos/{owner}/{repo}/installation"
    found = await github.app.request("GET", path, url_vars=where)
    installation = Installation.model_validate(found)
    repository = await _repository(github, installation.id, wanted)
    client = await github.installation(installation.id, repository.id, Profile.READ)
    numbered = {**where, "number": str(wanted.number)}
    shown = await client.getitem("/repos/{owner}/{repo}/issues/{number}", numbered)
    return installation.id, repository, Issue.model_validate(shown)


async def _repository(github: GitHub, installation_id: int, wanted: IssueName) -> Repository:
    where = {"owner": wanted.owner, "repo": wanted.name}
    async with github.finding(installation_id, wanted.name) as client:
        found = await client.getitem("/repos/{owner}/{repo}", where)
    return RepositoryView.model_validate(found).repository
