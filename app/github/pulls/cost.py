"""What a pull request cost over all its runs, in its description.

https://docs.github.com/rest/pulls/pulls#update-a-pull-request
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from agents.requests import OnPull, Request
from agents.run import Outcome
from app.github.pulls.head_branch import PULL
from app.github.pulls.human_edits import read_touched
from app.github.pulls.text import KEY
from app.github.transport import GitHub, Profile

_OPENED = re.compile(rf"<!-- fettle run=(?P<run>[A-Za-z0-9._-]+) key={KEY} -->\s*\Z")
_SECTION = re.compile(r"### Cost\r?\n\r?\n[^\r\n]*")
_COST = (
    "### Cost\n\n${usd:.2f} for {answers} model answers, in {runs} run{s}: what led to this pull"
    " request, and its reviews, checks and updates since."
)


class PullRequestSpending(NamedTuple):
    """What the runs of a pull request used up together."""

    usd: float
    answers: int
    runs: int
    """Those that asked a model anything."""


class PullRequestCost:
    """Keeps the total in the description that Fettle wrote and that nobody has edited since.

    `total` sums up the runs of the lane that this run belongs to, and of the pull request's lane.
    """

    def __init__(
        self,
        github: GitHub,
        request: Request,
        total: Callable[[str, str], Awaitable[PullRequestSpending]],
    ) -> None:
        self._github = github
        self._request = request
        self._total = total

    async def update(self, outcome: Outcome) -> None:
        """Bring the total up to date, unless the run that opened it said all there is to say."""
        request, opened = self._request, outcome.pull_request
        number = opened.number if opened else request.number if isinstance(request, OnPull) else 0
        if not number:
            return
        repository = request.repository
        where = {"owner": repository.owner, "repo": repository.name, "number": str(number)}
        client = await self._github.installation(
            request.installation_id, repository.id, Profile.READ
        )
        own = await self._github.identity(client)
        found = await client.getitem(PULL, where)
        body, by = found["body"] or "", _OPENED.search(found["body"] or "")
        if by is None or not own.is_author(found):
            return
        spent = await self._total(by["run"], f"{repository.key}#{number}")
        new = with_cost(body, spent)
        if new == body:
            return
        async with self._github.lease_client(
            request.installation_id, repository.id, Profile.PULLS
        ) as leased:
            touched = await read_touched(leased, repository, number, own)
            if "body" not in touched.by_others:
                await leased.patch(PULL, where, data={"body": new})


def with_cost(body: str, spent: PullRequestSpending) -> str:
    """Return the description with this total.

    It is as it was where nothing cost anything, and where one run alone did that says so itself.
    """
    sections = list(_SECTION.finditer(body))
    if not spent.runs or (spent.runs == 1 and sections):
        return body
    text = _COST.format(**spent._asdict(), s="s" * (spent.runs != 1))
    if not sections:
        mark = _OPENED.search(body)
        at = mark.start() if mark else len(body)
        return f"{body[:at]}{text}\n\n{body[at:]}"
    last = sections[-1]  # above it are the model's words
    return f"{body[: last.start()]}{text}{body[last.end() :]}"
