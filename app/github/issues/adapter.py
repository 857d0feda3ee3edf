"""The port `Tracker`: labels, sub-issues, links and remarks of a run's issue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agents.policy import Found
from agents.ports.issues import EarlierPull, LinkedIssue, NewSubIssue, Pictures, Remarks, SubIssue
from agents.requests import OnPull, Request
from app.github.access.run_reader import RunReader, asked_at
from app.github.attachments.images import read_pictures
from app.github.issues.create_sub_issues import SubIssueCreator
from app.github.issues.labels import set_label
from app.github.issues.linked import read_linked
from app.github.issues.remarks import read_remarks
from app.github.issues.sub_issues import read_sub_issues
from app.github.pulls.earlier_pull_request import read_earlier
from app.github.transport.client import GitHub
from app.github.transport.idempotent_comments import SETTLE
from app.github.transport.outgoing_text import OutgoingText
from app.secrets.redaction import Redactor


class GitHubIssues:
    """Reads with the profile `read`, writes labels and parts with `report`, nothing wider."""

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
        """Reads the policy that holds now: it says who is heard."""
        self._number = request.number
        self._reading = RunReader.of(github, request, asked_at(run_id))
        wording = OutgoingText(github.urls, request, redactor)
        self._new = SubIssueCreator(self._reading, run_id, wording, settle=settle)

    async def sub_issues(self) -> tuple[SubIssue, ...]:
        """Return the parts in GitHub's order; none where GitHub knows no such thing."""
        return await read_sub_issues(self._reading)

    async def create_sub_issues(
        self, key: str, wanted: Sequence[NewSubIssue]
    ) -> tuple[SubIssue, ...]:
        """Make these parts once for each key, in this order, and return them."""
        return await self._new.make(key, wanted)

    async def label(self, name: str, *, on: bool, description: str = "") -> None:
        """Put the label on the issue or take it off; the repository gets it if it has none such."""
        await set_label(self._reading, name, on=on, description=description)

    async def linked(self, text: str, *, limit: int) -> tuple[LinkedIssue, ...]:
        """Return what the text refers to in this repository, in its order, at most `limit`."""
        return await read_linked(self._reading, text, limit=limit)

    async def pictures(self, text: str) -> Pictures:
        """Return the pictures that the text shows, as far as they lie on this GitHub."""
        return await read_pictures(self._reading, text, self._number)

    async def earlier_pull_request(self) -> EarlierPull | None:
        """Return the open pull request that Fettle made for this issue before; the newest one.

        A run on a pull request has that one, and no other.
        """
        if isinstance(self._reading.request, OnPull):
            return None
        return await read_earlier(self._reading)

    async def discussion(self) -> str:
        """Return what people with write access had said when the run was asked for."""
        return await self._reading.comments(self._number)

    async def remarks(self, *, after: int = 0) -> Remarks:
        """Return what was said since the run was asked for, beyond the comment with this id."""
        return await read_remarks(self._reading, after, self._policy)
