"""The tracking issue of one package in one folder: opened when people are needed, then closed.

People can see an alert, but cannot answer on it; so each package and folder gets one issue. A
hidden marker finds it again, and keeps a later run from opening a second one.

https://docs.github.com/rest/issues/issues#create-an-issue
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import structlog

from agents.errors import RunError, ToolError
from agents.policy import Found, InvalidPolicy
from agents.ports import Alerts, ApprovalRequest
from agents.remediation import PREFIX, rule_of
from agents.requests import RemediateAlert, Request
from agents.run import Outcome
from app.github.access.run_reader import REPOSITORY
from app.github.alerts.issue_text import BODY, IN_PUBLIC, PUBLIC_REASON, TITLE, in_folder
from app.github.transport import (
    SETTLE,
    ConversationThread,
    GitHub,
    InstallationClient,
    NotFound,
    OutgoingText,
    Profile,
    TooManyPages,
    made_once,
    make_marker,
)
from app.secrets.redaction import Redactor

ISSUES = f"{REPOSITORY}/issues"
ISSUE = f"{ISSUES}/{{number}}"
LISTED = f"{ISSUES}{{?state,creator,sort,direction}}"
PAGES = 3
"""Pages of a hundred of Fettle's issues, newest first, that are searched for a lost one."""
LONGEST_TITLE = 200
LONGEST_NAME = 100

SPEAKER = "alerts"
UNFIXED = frozenset({rule_of("fix_failed"), rule_of("by_hand"), rule_of("verify_failed")})
"""Ends after which somebody has to decide what is to be done instead."""

IssueData = Mapping[str, Any]

log = structlog.get_logger()


class IssueNumbers(Protocol):
    """The stored runs, each with the issue on which it speaks."""

    async def record_number(self, run_id: str, number: int) -> None:
        """Remember the issue on which the run speaks to people."""

    async def find_last_issue(self, request: Request) -> int:
        """Return the issue on which the newest run of the lane spoke; 0: none did."""


class TrackingIssue(ConversationThread):
    """The issue on which a run about alerts speaks. Every call may be repeated."""

    speaker = SPEAKER

    def __init__(
        self,
        github: GitHub,
        request: RemediateAlert,
        run_id: str,
        redactor: Redactor,
        *,
        runs: IssueNumbers,
        alerts: Alerts,
        policy: Callable[[], Awaitable[Found]],
        settle: float = SETTLE,
    ) -> None:
        super().__init__(request)
        self._github = github
        self._about = request
        self._run_id = run_id
        self._runs = runs
        self._alerts = alerts
        self._policy = policy
        self._settle = settle
        self._wording = OutgoingText(github.urls, request, redactor)
        self._mark = make_marker(SPEAKER, f"place-{_digest(request)}")
        self._opening = asyncio.Lock()
        self._open = False

    async def recall(self) -> None:
        """Take the issue that an earlier run about the package spoke on, if one is stored.

        Comments of people there are then for this run.
        """
        number = self._about.number or await self._runs.find_last_issue(self._about)
        if number:
            await self._set_number(number)

    async def open(self) -> Request:
        """Find or create the issue, and return the request with its number.

        A closed issue is opened again, since the run needs people to go on.
        """
        async with self._opening:
            if not self._open:
                client = await self._client()
                issue = await self._find_known(client) or await self._search(client)
                issue = issue or await self._create(client)
                if issue["state"] == "closed":
                    await self._set(client, issue["number"], state="open", state_reason="reopened")
                await self._set_number(issue["number"])
                self._open = True
        return self.request

    async def is_news(self, outcome: Outcome) -> bool | None:
        """Tell whether people want to hear of this end: a question or a failure has reached them.

        A missing fix is news of its own where the policy says so, unless a person has closed the
        issue.
        """
        try:
            return await self._is_news(outcome)
        except RunError as error:
            log.warning("the issue about an alert cannot be read", reason=str(error))
            return False

    async def _is_news(self, outcome: Outcome) -> bool:
        unfixed = outcome.rule in UNFIXED and not self._trial
        if self._open or not (unfixed or self.request.number):
            return self._open  # most runs end so: nothing is asked of GitHub
        client = await self._client()
        issue = await self._find_known(client)
        if issue is not None and issue["state"] == "open":
            return True
        if not unfixed:
            return False
        if issue is not None and not await self._closed_by_us(client, issue):
            return False
        found = await self._policy()
        return not isinstance(found, InvalidPolicy) and found.policy.remediation.tell_failures

    async def redact_question(self, asking: ApprovalRequest) -> ApprovalRequest:
        """Return the question without anything that the public must not learn.

        Raises ToolError where the question cannot be asked in public at all.
        """
        if self._about.repository.private:
            return asking
        if asking.rule.startswith(PREFIX):  # about packages and versions, and no more
            return asking.model_copy(update={"reason": PUBLIC_REASON})
        if await self._is_secret():
            raise ToolError(IN_PUBLIC)
        return asking

    async def leave(self, outcome: Outcome) -> None:
        """Close the issue, unless the end still needs people."""
        over = outcome.kind not in ("failed", "refused") and outcome.ready
        if not over or self._trial or not self.request.number:
            return
        try:
            client = await self._client()
            issue = await self._find_known(client)
            if issue is not None and issue["state"] == "open":
                reason = "not_planned" if outcome.kind == "cancelled" else "completed"
                await self._set(client, issue["number"], state="closed", state_reason=reason)
        except RunError as error:
            log.warning("the issue about an alert stays open", reason=str(error))

    @property
    def _trial(self) -> bool:
        """Return whether nothing of the run is to be seen on GitHub but what it has to ask."""
        return self._about.dry_run or self._about.no_pr

    async def _is_secret(self) -> bool:
        """Tell whether an advisory is not public yet; when in doubt, it is not."""
        try:
            found = await self._alerts.open(self._about.ecosystem, self._about.package)
        except RunError:
            return True
        return any(each.undisclosed for each in found)

    async def _set_number(self, number: int) -> None:
        if self.request.number != number:
            self.request = self._about.model_copy(update={"number": number})
        await self._runs.record_number(self._run_id, number)

    async def _find_known(self, client: InstallationClient) -> IssueData | None:
        """Return the issue that is known, as it is now; None where it is gone, or another's."""
        if not self.request.number:
            return None
        where = self._url_variables(number=self.request.number)
        try:
            issue: IssueData = await client.getitem(ISSUE, where)
        except NotFound:
            return None
        return issue if await self._is_ours(client, issue) else None

    async def _search(self, client: InstallationClient) -> IssueData | None:
        own = await self._github.identity(client)
        where = self._url_variables(
            state="all", creator=own.bot.login, sort="created", direction="desc"
        )
        try:
            async for issue in client.getiter(LISTED, where, pages=PAGES):
                if await self._is_ours(client, issue):
                    found: IssueData = issue
                    return found
        except TooManyPages:
            pass
        return None

    async def _create(self, client: InstallationClient) -> IssueData:
        folder = in_folder(self._about.directory)
        title = TITLE.format(package=self._about.package, folder=folder)
        name = self._wording.quote(self._about.package, LONGEST_NAME)
        place = self._wording.quote(self._about.directory.strip("/"), LONGEST_NAME)
        body = BODY.format(package=name, folder=f" in {place}" if folder else "")
        data = {
            "title": self._wording.title(title, LONGEST_TITLE),
            "body": f"{self._wording.text(body)}\n\n{self._mark}",
        }

        async def create() -> IssueData:
            made: IssueData = await client.post(ISSUES, self._url_variables(), data=data)
            return made

        return await made_once(lambda: self._search(client), create, settle=self._settle)

    async def _set(self, client: InstallationClient, number: int, **changes: str) -> None:
        await client.patch(ISSUE, self._url_variables(number=number), data=changes)

    async def _is_ours(self, client: InstallationClient, issue: IssueData) -> bool:
        """Tell whether it is the one: a marker anybody can copy, an author nobody can.

        An issue that was moved to another repository is still found by its old number.
        """
        own = await self._github.identity(client)
        marked = self._mark in (issue["body"] or "") and "pull_request" not in issue
        name = await self._github.installed.full_name(self._about.repository)
        here = f"/repos/{name}".casefold()
        return marked and own.is_author(issue) and issue["repository_url"].casefold().endswith(here)

    async def _closed_by_us(self, client: InstallationClient, issue: IssueData) -> bool:
        own = await self._github.identity(client)
        return (issue.get("closed_by") or {}).get("id") == own.bot.id

    def _url_variables(self, **more: object) -> dict[str, str]:
        repository = self._about.repository
        texts = {name: str(value) for name, value in more.items()}
        return {"owner": repository.owner, "repo": repository.name, **texts}

    async def _client(self) -> InstallationClient:
        about = self._about
        return await self._github.installation(
            about.installation_id, about.repository.id, Profile.REPORT
        )


def _digest(request: RemediateAlert) -> str:
    parts = (request.ecosystem, request.directory.strip("/"), request.package)
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:16]
