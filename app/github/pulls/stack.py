"""Pull requests that stand on each other, as parts of one change: led by GitHub where it can.

https://docs.github.com/rest/pulls/stacks
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.errors import RunError
from agents.ports import PullRequest
from agents.requests import Request
from app.git import BRANCH_PREFIX
from app.github.pulls.head_branch import PULL
from app.github.pulls.text import LOWER_KEY
from app.github.transport import (
    GitHub,
    InstallationClient,
    InstallationGone,
    MarkedComments,
    NotFound,
    OutgoingText,
)

REPOSITORY = "/repos/{owner}/{repo}"
STACKS = f"{REPOSITORY}/stacks"
REFS = f"{REPOSITORY}/git/matching-refs/heads/{BRANCH_PREFIX}"
OPEN = f"{REPOSITORY}/pulls{{?head,state}}"
MOST_BRANCHES = 30
"""Of one issue that are looked at."""
RETIRED_KEY = "part-retired"
RETIRED = "The change was made anew, and this part of it stands in #{number} now."
_LOWER = re.compile(rf"<!-- fettle run=([A-Za-z0-9._-]+) key={LOWER_KEY} -->")


@dataclass(frozen=True)
class PullStack:
    """The pull requests of one run's change. Every call looks before it writes."""

    github: GitHub
    client: InstallationClient
    request: Request
    run_id: str
    wording: OutgoingText
    settle: float

    async def lead(self, pulls: Sequence[PullRequest]) -> bool:
        """Have GitHub lead them as one stack, from the bottom up; False where it has none.

        Where it has stacks, it rebases and retargets what is above once a part is merged. An
        installation whose GitHub has none is asked once while this process lives.
        """
        numbers = [each.number for each in pulls]
        lacking, ident = self.github.without_stacks, self.request.installation_id
        if len(numbers) < 2 or ident in lacking:
            return False
        try:
            where = {**self._where, "pull_request": str(numbers[0])}
            if await self.client.getitem(f"{STACKS}{{?pull_request}}", where):
                return True
            await self.client.post(STACKS, self._where, data={"pull_requests": numbers})
        except NotFound:
            lacking.add(ident)
            return False
        except InstallationGone:
            raise
        except RunError:  # a stack that is changed just now, say; they stand on each other anyway
            return False
        return True

    async def retire(self, kept: Collection[str], number: int) -> None:
        """Close the lower parts of earlier runs on the issue, whose branches are not `kept`.

        `number`: of the pull request that has all of the change now.
        """
        own = await self.github.identity(self.client)
        async for pull in self._list_lower():
            found = _LOWER.findall(pull["body"] or "")
            if not found or not own.is_author(pull) or pull["head"]["ref"] in kept:
                continue
            there = self.request.model_copy(update={"number": pull["number"]})
            comments = MarkedComments(self.github, there, self.run_id, settle=self.settle)
            said = await self.wording.publish(RETIRED.format(number=number))
            await comments.say(RETIRED_KEY, said)
            where = {**self._where, "number": str(pull["number"])}
            await self.client.patch(PULL, where, data={"state": "closed"})

    async def _list_lower(self) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the open pull requests from branches that are named for the issue."""
        refs = await self.client.getitem(REFS, self._where)
        names = [str(ref["ref"]).removeprefix("refs/heads/") for ref in refs]
        start = f"{self.request.number}-"
        mine = [name for name in names if name.rpartition("/")[2].startswith(start)]
        owner = (await self.github.installed.full_name(self.request.repository)).partition("/")[0]
        for branch in mine[:MOST_BRANCHES]:
            asked = {**self._where, "head": f"{owner}:{branch}", "state": "open"}
            for pull in await self.client.getitem(OPEN, asked):
                if pull["head"]["ref"] == branch and pull["state"] == "open":
                    yield pull

    @property
    def _where(self) -> dict[str, str]:
        return {"owner": self.request.repository.owner, "repo": self.request.repository.name}
