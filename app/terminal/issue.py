"""From an issue's name to a request: found on GitHub through the App's own installation."""

from __future__ import annotations

from agents.errors import ConfigError
from agents.requests import Again, Person, Repository, ResolveIssue
from app.account import operator
from app.github.auth import Profile
from app.github.client import GitHub
from app.github.faults import InstallationGone, Missing, NotPermitted
from app.terminal.names import IssueName
from handlers.issues import RESOLVE_LABEL
from handlers.payloads import Installation, Issue, RepositoryView


async def request_for(
    github: GitHub, wanted: IssueName, *, again: Again | None = None
) -> ResolveIssue:
    """Return the request of whoever sits at this terminal, with the issue as it is now.

    Raises ConfigError when the App cannot see it, or when it is none to work on.
    """
    try:
        return await _request(github, wanted, again)
    except (Missing, NotPermitted, InstallationGone) as error:
        raise ConfigError(
            f"{wanted} cannot be worked on: {error}\nThe App has to be installed on"
            f" `{wanted.owner}/{wanted.name}`, and the issue has to be there."
        ) from error


async def _request(github: GitHub, wanted: IssueName, again: Again | None) -> ResolveIssue:
    where = {"owner": wanted.owner, "repo": wanted.name}
    path = "/repos/{owner}/{repo}/installation"
    found = await github.app.request("GET", path, url_vars=where)
    installation = Installation.model_validate(found)
    repository = await _repository(github, installation.id, wanted)
    client = await github.installation(installation.id, repository.id, Profile.READ)
    numbered = {**where, "number": str(wanted.number)}
    shown = await client.getitem("/repos/{owner}/{repo}/issues/{number}", numbered)
    issue = Issue.model_validate(shown)
    if issue.pull_request is not None:
        raise ConfigError(
            f"{wanted} is a pull request, and `fettle resolve` works on issues. Name the issue that"
            " it is about."
        )
    if issue.user is None or issue.user.ghost:
        raise ConfigError(f"The author's account of {wanted} is gone, so nobody can be named.")
    return ResolveIssue(
        installation_id=installation.id,
        repository=repository,
        number=issue.number,
        title=issue.title,
        body=issue.body or "",
        author=issue.user.person,
        asked_by=Person(id=0, login=operator()),
        label=RESOLVE_LABEL,
        url=issue.html_url,
        via="terminal",
        again=again,
    )


async def _repository(github: GitHub, installation_id: int, wanted: IssueName) -> Repository:
    where = {"owner": wanted.owner, "repo": wanted.name}
    async with github.finding(installation_id, wanted.name) as client:
        found = await client.getitem("/repos/{owner}/{repo}", where)
    return RepositoryView.model_validate(found).repository
