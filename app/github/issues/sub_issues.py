"""The sub-issues of an issue in GitHub's order, and the issues that block each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.ports import SubIssue
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.transport import InstallationClient, NotFound

SUB_ISSUES = f"{REPOSITORY}/issues/{{number}}/sub_issues"
BLOCKED_BY = f"{REPOSITORY}/issues/{{number}}/dependencies/blocked_by"
MOST = 100
"""Parts of one issue; GitHub allows no more."""


async def read_sub_issues(reading: RunReader) -> tuple[SubIssue, ...]:
    """Return the sub-issues of the run's issue.

    One request, one more for each blocked open sub-issue, and one for each author.
    """
    client = await reading.client()
    try:
        listed = await sub_issues_of(reading, client)
    except NotFound:  # an Enterprise Server that does not know them
        return ()
    blockers = _Blockers(reading, client)
    return tuple([await _whole(reading, each, blockers) for each in listed])


async def sub_issues_of(reading: RunReader, client: InstallationClient) -> list[dict[str, Any]]:
    """Return the sub-issues as GitHub sends them.

    Raises NotFound where this GitHub has no sub-issues.
    https://docs.github.com/rest/issues/sub-issues#list-sub-issues
    """
    where, found = reading.url_variables(number=reading.request.number), []
    async for each in client.getiter(SUB_ISSUES, where):
        found.append(each)
        if len(found) == MOST:
            break
    return found


def find_other_repository(reading: RunReader, thing: Mapping[str, Any]) -> str:
    """Return the `owner/name` of an issue in another repository; empty for the run's own."""
    full_name = "/".join(str(thing["repository_url"]).split("/")[-2:])
    ours = reading.request.repository
    if (thing.get("repository") or {}).get("id") == ours.id:
        return ""
    return "" if full_name.lower() == ours.full_name.lower() else full_name


async def sub_issue(
    reading: RunReader, thing: Mapping[str, Any], blocked_by: tuple[int, ...] = ()
) -> SubIssue:
    """Return an issue of the run's repository as a sub-issue."""
    return SubIssue(
        number=thing["number"],
        title=thing["title"],
        body=thing["body"] or "",
        state=thing["state"],
        author=(thing.get("user") or {}).get("login", ""),
        author_may_write=await reading.may_show(thing),
        labels=tuple(label["name"] for label in thing["labels"]),
        blocked_by=blocked_by,
    )


async def _whole(reading: RunReader, thing: Mapping[str, Any], blockers: _Blockers) -> SubIssue:
    if not (other := find_other_repository(reading, thing)):
        return await sub_issue(reading, thing, await blockers.list_blockers(thing))
    return SubIssue(
        number=thing["number"],
        title=thing["title"],
        body="",
        state=thing["state"],
        author=(thing.get("user") or {}).get("login", ""),
        author_may_write=False,
        elsewhere=other,
    )


class _Blockers:
    """What open parts wait for, as far as this GitHub knows such a thing."""

    def __init__(self, reading: RunReader, client: InstallationClient) -> None:
        self._reading = reading
        self._client = client
        self._known = True

    async def list_blockers(self, thing: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the numbers of the open issues of this repository that have to come first."""
        summary = thing.get("issue_dependencies_summary") or {}
        if not self._known or thing["state"] == "closed" or summary.get("total_blocked_by") == 0:
            return ()
        where = self._reading.url_variables(number=thing["number"], per_page=MOST)
        try:
            found = await self._client.getitem(f"{BLOCKED_BY}{{?per_page}}", where)
        except NotFound:
            self._known = False
            return ()
        return tuple(
            each["number"]
            for each in found
            if each["state"] == "open" and not find_other_repository(self._reading, each)
        )
