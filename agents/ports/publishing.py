"""The ports for publishing: branches and pull requests, and progress reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from agents.policy import PullRequests
from agents.ports.model import Usage
from agents.requests import Frozen

EVIDENCE = "How this was checked"
"""Above what nobody needs to read who trusts it."""


class PullRequest(Frozen):
    """A pull request that is open on GitHub, or for a local run the branch that would be one."""

    number: int | None
    url: str
    branch: str
    head: str
    base: str
    title: str
    body: str
    draft: bool


class Publisher(Protocol):
    """Lets a run's result out. Every call may be repeated: it looks before it writes."""

    async def push(self, branch: str, commit: str, *, replacing: str = "") -> str:
        """Put the commit on the branch and return where people see it.

        `replacing`: what the branch may be at without the commit going on from there; the caller
        knows that nobody else's work is in it. Raises RunError when someone else moved the branch.
        """
        ...

    async def open_pull_request(
        self,
        *,
        branch: str,
        commit: str,
        title: str,
        body: str,
        draft: bool,
        closes: Sequence[int] = (),
        evidence: str = "",
        terms: PullRequests | None = None,
        onto: str = "",
        lower: bool = False,
    ) -> PullRequest:
        """Open the pull request of this branch, or bring the open one up to date.

        `terms`: the policy's, on before whom it is brought. `onto`: the run's own branch that it
        stands on; empty: that of the request. `lower`: another one of the run stands on it.

        `evidence`: how it was checked, folded below the text for who wants to know.

        `closes`: numbers of the issues of this repository that its merge closes.
        """
        ...

    async def stack(self, pulls: Sequence[PullRequest]) -> bool:
        """Have GitHub lead these, from the bottom up, as one stack; False where it has none.

        Pull requests of earlier runs that parts of the same change stood in are closed.
        """
        ...

    async def comment(self, key: str, body: str) -> str:
        """Say this on the request's issue once, whatever happens; return its URL."""
        ...


class Signer(Protocol):
    """Has a run's commits made again, signed by whom everybody can check."""

    async def has_signed(self, commit: str) -> bool:
        """Return whether the run has this commit signed already."""
        ...

    async def sign(self, start: str, head: str, *, merging: str = "") -> Mapping[str, str]:
        """Return the signed commits by the ids of those after `start` up to `head`.

        Their files and messages are the same. `merging`: what comes in with this commit is others'
        and stays. Equal arguments give the same commits. Empty where nobody signs here.
        """
        ...


StepState = Literal["waiting", "running", "done", "failed", "skipped"]


class Reporter(Protocol):
    """Keeps people informed while a run works. Never raises: telling must not stop the doing."""

    def stage_started(self, stage: str, title: str) -> None:
        """Tell that the stage occurrence (`implement/2`) is at work; title is for people."""
        ...

    def stage_finished(self, stage: str, summary: str) -> None:
        """Tell that it is done, in a few words."""
        ...

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Tell which tool works on what, for live views."""
        ...

    def report_spending(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Tell the run's totals so far."""
        ...

    def report_parked(self, stage: str, approvals: Sequence[str]) -> None:
        """Tell that the stage waits for people to decide these; `stage_started` ends it."""
        ...

    def report_pause(self, stage: str, why: str) -> None:
        """Tell that the stage waits for something else, and for what; `stage_started` ends it."""
        ...
