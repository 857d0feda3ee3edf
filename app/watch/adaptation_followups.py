"""Close what adapts the code to another bot's update, once that has gone or was made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from agents.ports import Batch, Json
from agents.requests import Repository
from app.github.pulls.head_branch import state_of
from app.github.pulls.stacked import StackedPulls
from app.github.pulls.withdraw import read_pull
from app.github.transport import CommentPlace, GitHub, InstallationClient, NotFound, Profile
from app.store.handled_feedback import Batches
from app.watch.merge_followups import Take
from handlers.notifications import PullChanged, PullClosed

COMPARE = "/repos/{owner}/{repo}/compare/{base}...{head}{?per_page}"
LATER = timedelta(minutes=1)
"""How far apart GitHub may close two pull requests for one reason."""

ENDED = (
    "#{number}, which this one stands on, was closed and not merged. So this one is closed as well;"
    " its branch stays."
)
ANEW = (
    "The branch of #{number}, which this one stands on, was made anew, without the commit that this"
    " was made for. So this one is closed; its branch stays. If checks fail newly on #{number}"
    " again, the code is adapted anew."
)


@dataclass(frozen=True)
class AdaptationFollowUps:
    """Handles notices of pull requests, after whoever else has to hear of them.

    Where an adaptation stands on another bot's pull request, it goes with that one. After a merge
    it stays, and is brought up to date with the others that stood on what was merged. Once others
    have pushed to it, it is theirs, and stays as well.
    """

    github: GitHub
    batches: Batches
    before: Take

    async def take(self, notice: PullClosed | PullChanged, ident: str) -> Json:
        """Close what stands on the pull request and fits it no more."""
        told = await self.before(notice, ident)
        place = (notice.repository.id, notice.number)
        made = [each for each in await self.batches.list_of_pull(*place) if is_mended(each)]
        if not made:
            return told
        ids = (notice.installation_id, notice.repository.id)
        client = await self.github.installation(*ids, Profile.READ)
        pull = await read_pull(client, notice.repository, notice.number)
        if pull is None or state_of(pull) == "merged":
            return told
        closed = await self._close(client, notice, ident, pull, [each.head for each in made])
        known = told if isinstance(told, Mapping) else {}
        return {**known, "closed": closed} if closed else told

    async def _close(
        self,
        client: InstallationClient,
        notice: PullClosed | PullChanged,
        ident: str,
        pull: Mapping[str, Any],
        heads: Sequence[str],
    ) -> list[Json]:
        """Close those that have to go; return their numbers. `heads`: what they were made for."""
        own = await self.github.identity(client)
        place = CommentPlace(notice.installation_id, notice.repository, notice.number)
        stacked, gone = StackedPulls(self.github, place, ident), state_of(pull) == "closed"
        branch, text = pull["head"]["ref"], ENDED if gone else ANEW
        closed: list[Json] = []
        for each in await stacked.find(client, own, branch, state="all" if gone else "open"):
            concerned = (
                _has_ended_with(each, pull)
                if gone
                else await _is_made_anew(client, notice.repository, pull, each, heads)
            )
            said = text.format(number=notice.number)
            if concerned and await stacked.close(own, each, "adaptation-over", said):
                closed.append(each["number"])
        return closed


def is_mended(batch: Batch) -> bool:
    """Tell whether a run has made a change for failing checks."""
    return batch.kind == "checks" and bool(batch.pushed)


def _has_ended_with(above: Mapping[str, Any], pull: Mapping[str, Any]) -> bool:
    """Tell whether it is open, or was closed when the pull request below was.

    A bot deletes its branch with that, and GitHub closes what stands on a deleted branch by itself.
    """
    if above["state"] == "open":
        return True
    ended = [datetime.fromisoformat(each["closed_at"]) for each in (above, pull)]
    return above["merged_at"] is None and ended[0] >= ended[1] - LATER


async def _is_made_anew(
    client: InstallationClient,
    repository: Repository,
    pull: Mapping[str, Any],
    above: Mapping[str, Any],
    heads: Sequence[str],
) -> bool:
    """Tell whether the branch below has lost the commit that the one above was made for.

    https://docs.github.com/rest/commits/commits#compare-two-commits
    """
    shas = {"base": pull["head"]["sha"], "head": above["head"]["sha"], "per_page": "1"}
    where = {"owner": repository.owner, "repo": repository.name, **shas}
    try:
        found = await client.getitem(COMPARE, where)
    except NotFound:  # what cannot be told is left as it is
        return False
    return found["merge_base_commit"]["sha"] not in (pull["head"]["sha"], *heads)
