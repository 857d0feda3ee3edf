"""Create sub-issues once each, found again by hidden markers, and attach them in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from agents.errors import RunError
from agents.ports import NewSubIssue, SubIssue
from app.github.access.run_reader import REPOSITORY, RunReader
from app.github.issues.sub_issues import SUB_ISSUES, sub_issue, sub_issues_of
from app.github.transport import (
    SETTLE,
    InstallationClient,
    OutgoingText,
    Profile,
    made_once,
    make_marker,
)

ISSUES = f"{REPOSITORY}/issues"
MOST = 20
"""Parts that are made at once: more than a person would look through."""

LONGEST_TITLE = 200
LOOKED_THROUGH = 500
"""Newest issues among which an interrupted call is looked for."""

CLOCKS = 300.0
"""Seconds by which GitHub's clock and ours may differ."""


class SubIssueCreator:
    """Creates the sub-issues of one run: four requests each, spaced between two writes."""

    def __init__(
        self, reading: RunReader, run_id: str, wording: OutgoingText, *, settle: float = SETTLE
    ) -> None:
        self._reading = reading
        self._run_id = run_id
        self._wording = wording
        self._settle = settle

    async def make(self, key: str, wanted: Sequence[NewSubIssue]) -> tuple[SubIssue, ...]:
        """Create the missing sub-issues and return all.

        Raises NotFound where this GitHub has no sub-issues.
        https://docs.github.com/rest/issues/sub-issues
        """
        if len(wanted) > MOST:
            raise RunError(
                f"The issue was to be divided into {len(wanted)} parts; {MOST} are the most that "
                "Fettle makes at once. Nothing was made. Divide it by hand, or into larger parts."
            )
        client = await self._reading.client(Profile.REPORT)
        await sub_issues_of(self._reading, client)  # asked before anything is made
        made = []
        for position, each in enumerate(wanted, 1):
            issue = await self._create_issue(client, f"{key}-{position}", each)
            await self._attach(client, issue)
            made.append(await sub_issue(self._reading, issue))
        return tuple(made)

    async def _create_issue(
        self, client: InstallationClient, key: str, wanted: NewSubIssue
    ) -> dict[str, Any]:
        mark = make_marker(self._run_id, key)

        async def create() -> dict[str, Any]:
            body = f"{await self._wording.publish(wanted.body)}\n\n{mark}"
            title = self._wording.title(wanted.title, LONGEST_TITLE)
            made: dict[str, Any] = await client.post(
                ISSUES, self._reading.url_variables(), data={"title": title, "body": body}
            )
            return made

        return await made_once(lambda: self._find(client, mark), create, settle=self._settle)

    async def _find(self, client: InstallationClient, mark: str) -> dict[str, Any] | None:
        """Return the issue with this marker that Fettle itself has made during this run."""
        own = await self._reading.github.identity(client)
        since = datetime.fromtimestamp(self._reading.until - CLOCKS, UTC)
        asked = {"state": "all", "since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}
        seen = 0
        async for issue in client.getiter(
            f"{ISSUES}{{?state,since}}", self._reading.url_variables(**asked)
        ):
            seen += 1
            if (
                mark in (issue["body"] or "")
                and own.is_author(issue)
                and "pull_request" not in issue
            ):
                found: dict[str, Any] = issue
                return found
            if seen == LOOKED_THROUGH:
                break
        return None

    async def _attach(self, client: InstallationClient, issue: dict[str, Any]) -> None:
        where = self._reading.url_variables(number=self._reading.request.number)

        async def find() -> bool | None:
            listed = await sub_issues_of(self._reading, client)
            return any(each["id"] == issue["id"] for each in listed) or None

        async def create() -> bool:
            await client.post(SUB_ISSUES, where, data={"sub_issue_id": issue["id"]})
            return True

        await made_once(find, create, settle=self._settle)
