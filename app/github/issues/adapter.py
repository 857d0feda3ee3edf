"""The port `Tracker`: labels, sub-issues, links and remarks of a run's issue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agents.policy import Found
from agents.ports import (
    EarlierPull,
    LinkedIssue,
    NeighbourPull,
    NewSubIssue,
    Pictures,
    Remarks,
    SubIssue,
)
from agents.requests import Request, ResolveIssue
from app.github.access.run_reader import RunReader, asked_at
from app.github.attachments.images import read_pictures
from app.github.issues.create_sub_issues import SubIssueCreator
from app.github.issues.labels import set_label
from app.github.issues.linked import read_linked
from app.github.issues.neighbours import read_neighbours
from app.github.issues.remarks import read_remarks
from app.github.issues.sub_issues import read_sub_issues
from app.github.pulls.earlier_pull_request import read_earlier
from app.github.transport import SETTLE, GitHub, OutgoingText
from app.secrets.redaction import Redactor


class GitHubIssues:
    """The port `Tracker` for one run: reads with the profile `read`, writes with `report`."""

    def __init__(
        self,
        github: GitHub,
        request: Request,
        run_id: str,
        redactor: Redactor,
        *,
        settle: float = SETTLE,
        policy: Callable[[], Awaitable[Found]] | None = None,
    ) -> None:
        self._policy = policy
        """Reads the present policy, which says whose remarks count."""
        self._number = request.number
        self._reading = RunReader.for_run(github, request, asked_at(run_id))
        wording = OutgoingText(github.urls, request, redactor)
        self._new = SubIssueCreator(self._reading, run_id, wording, settle=settle)

    async def sub_issues(self) -> tuple[SubIssue, ...]:
        """Return the sub-issues in GitHub's order; empty where this GitHub has no sub-issues."""
        return await read_sub_issues(self._reading)

    async def create_sub_issues(
        self, key: str, wanted: Sequence[NewSubIssue]
    ) -> tuple[SubIssue, ...]:
        """Create these sub-issues in order, once for each key, and return them."""
        return await self._new.make(key, wanted)

    async def label(self, name: str, *, on: bool, description: str = "") -> None:
        """Add the label to the issue or remove it; a missing label is created first."""
        await set_label(self._reading, name, on=on, description=description)

    async def find_linked(self, text: str, *, limit: int) -> tuple[LinkedIssue, ...]:
        """Return what the text refers to in this repository, in order; at most `limit`."""
        return await read_linked(self._reading, text, limit=limit)

    async def pictures(self, text: str) -> Pictures:
        """Return the images in the text that are stored on this GitHub."""
        return await read_pictures(self._reading, text, self._number)

    async def earlier_pull_request(self) -> EarlierPull | None:
        """Return the newest open pull request that Fettle made for this issue before.

        A run on a pull request gets that pull request.
        """
        if not isinstance(self._reading.request, ResolveIssue):
            return None
        return await read_earlier(self._reading)

    async def neighbours(self, *, on_issue: bool = False) -> tuple[NeighbourPull, ...]:
        """Return open pull requests besides the run's own, those touched last."""
        return await read_neighbours(self._reading, on_issue=on_issue)

    async def discussion(self) -> str:
        """Return what people with write access had said when the run was asked for."""
        return await self._reading.comments(self._number)

    async def remarks(self, *, after: int = 0) -> Remarks:
        """Return comments since the run was asked for, after the comment with this id."""
        return await read_remarks(self._reading, after, self._policy)
