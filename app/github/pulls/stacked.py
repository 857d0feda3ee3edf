"""Fettle's pull requests on top of another bot's: found by their base, and closed with a word.

https://docs.github.com/rest/pulls/pulls#list-pull-requests
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.github.pulls.earlier_pull_request import find_other_pushers, is_named_for
from app.github.pulls.head_branch import PULL
from app.github.transport import (
    SETTLE,
    BotIdentity,
    CommentPlace,
    GitHub,
    InstallationClient,
    MarkedComments,
    Profile,
)

LISTED = "/repos/{owner}/{repo}/pulls{?base,state,per_page}"
MOST = 100
"""That stand on one branch and are looked at: one page."""


@dataclass(frozen=True)
class StackedPulls:
    """Those that were made to stand on one pull request. Every call looks before it writes."""

    github: GitHub
    place: CommentPlace
    """The pull request that they stand on."""
    run_id: str
    """In whose name is spoken."""
    settle: float = SETTLE

    async def find(
        self,
        client: InstallationClient,
        own: BotIdentity,
        branch: str,
        *,
        state: Literal["open", "all"],
    ) -> Sequence[Mapping[str, Any]]:
        """Return them, the oldest first; `branch`: that of the pull request they stand on.

        By their author first, since anybody can choose a branch's name.
        """
        asked = {**self._where, "base": branch, "state": state, "per_page": str(MOST)}
        found = [
            pull
            for pull in await client.getitem(LISTED, asked)
            if pull["base"]["ref"] == branch
            and own.is_author(pull)
            and is_named_for(pull["head"]["ref"], self.place.number)
        ]
        return sorted(found, key=lambda pull: int(pull["number"]))

    async def close(self, own: BotIdentity, pull: Mapping[str, Any], key: str, text: str) -> bool:
        """Say why, once, and close it; one that is closed stays so.

        One that is open and has others' pushes is theirs: it is left as it is, and False returned.
        """
        place, number = self.place, pull["number"]
        reading = await self.github.installation(
            place.installation_id, place.repository.id, Profile.READ
        )
        branch, is_open = pull["head"]["ref"], pull["state"] == "open"
        if is_open and await find_other_pushers(reading, own, self._where, branch):
            return False
        there = CommentPlace(place.installation_id, place.repository, number)
        await MarkedComments(self.github, there, self.run_id, settle=self.settle).say(key, text)
        if not is_open:
            return True
        async with self.github.lease_client(
            place.installation_id, place.repository.id, Profile.PULLS
        ) as client:
            where = {**self._where, "number": str(number)}
            await client.patch(PULL, where, data={"state": "closed"})
        return True

    @property
    def _where(self) -> dict[str, str]:
        return {"owner": self.place.repository.owner, "repo": self.place.repository.name}
