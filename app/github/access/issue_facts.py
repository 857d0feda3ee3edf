"""Facts that GitHub states about an issue and who asks; `handlers/access/issues.py` judges them.

https://docs.github.com/graphql/reference/objects#issue
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.errors import RunError
from agents.requests import Person, Request, ResolveIssue
from app.github.access.roles import OF_APP, role_of
from app.github.graphql.documents import load_document
from app.github.transport import InstallationClient, NotFound, Suspended
from handlers.access.issues import IssueFacts


async def issue_facts(client: InstallationClient, request: ResolveIssue) -> IssueFacts:
    """Return the facts that hold now.

    Raises RunError when the issue is gone, or its number leads to another repository.
    """
    try:
        about_asker = await asker_role(client, request)
        issue = await found_at(client, request, load_document("issue_facts"))
    except Suspended:
        return IssueFacts(installation_suspended=True)
    if issue["__typename"] != "Issue":
        return IssueFacts(**about_asker, is_pull_request=True)
    editors = _editors(issue, request)
    return IssueFacts(
        **about_asker,
        issue_open=issue["state"] == "OPEN",
        labels=tuple(label["name"] for label in issue["labels"]["nodes"]),
        edited=bool(editors),
        editor=next((each for each in editors if each != request.asked_by), editors[0])
        if editors
        else None,
    )


async def asker_role(client: InstallationClient, request: Request) -> dict[str, Any]:
    """Return the asker's role for the facts.

    The operator at the terminal has no account there, and failed checks have no asker.
    """
    if request.via in ("terminal", "checks", "watch"):
        return {}
    role = await role_of(client, request.repository, request.asked_by)
    return {
        "role_name": role.role_name,
        "permission": role.permission,
        "asker_is_bot": role.is_bot,
    }


async def found_at(
    client: InstallationClient, request: Request, document: str
) -> Mapping[str, Any]:
    """Return the document's answer on the issue or pull request of the request's number.

    Raises RunError when it is gone.
    """
    repository = request.repository
    variables = {"owner": repository.owner, "name": repository.name, "number": request.number}
    try:
        found = (await client.graphql(document, variables, named=True))["repository"]
    except NotFound:
        found = None
    if found is None or found["databaseId"] != repository.id or not found["issueOrPullRequest"]:
        raise RunError(
            f"#{request.number} of `{repository.full_name}` is not where it was when the request "
            "was made: the issue or its repository was moved or deleted. Ask for it again where it "
            "is now."
        )
    it: Mapping[str, Any] = found["issueOrPullRequest"]
    return it


def _editors(issue: Mapping[str, Any], request: ResolveIssue) -> list[Person | None]:
    """Return who last edited each part that is no longer what the request says."""
    editors = []
    if _same_newlines(issue["body"]) != _same_newlines(request.body):
        editors.append(person_of(issue["editor"]))
    if issue["title"] != request.title:
        renames = issue["timelineItems"]["nodes"]
        editors.append(person_of(renames[-1]["actor"] if renames else None))
    return editors


def _same_newlines(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n").strip()


def person_of(actor: Mapping[str, Any] | None) -> Person | None:
    """Return the person that GitHub names; None when the account was deleted."""
    if not actor or not actor.get("databaseId"):
        return None
    ending = OF_APP if actor["__typename"] == "Bot" else ""  # which GraphQL leaves out
    return Person(id=actor["databaseId"], login=f"{actor['login']}{ending}")
