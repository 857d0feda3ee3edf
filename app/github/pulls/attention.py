"""Labels, assignees and reviewers of a pull request, as the repository's policy names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.policy import PullRequests
from agents.text import code_span, one_line
from app.github.transport import InstallationClient, NotFound, NotPermitted, Unprocessable

ISSUE = "/repos/{owner}/{repo}/issues/{number}"
REVIEWERS = "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers"
LABELS, ASSIGNEES = f"{ISSUE}/labels", f"{ISSUE}/assignees"
REFUSED = (NotFound, NotPermitted, Unprocessable)
NOT_ASKED = """`.github/fettle.yml` names people for this pull request whom GitHub does not take:

{lines}

Whoever is assigned or asked for a review needs access to this repository. The rest of the pull
request is not affected. Correct the names under `pull_requests` for those to come."""
ASSIGNED, REVIEW = "{name} could not be assigned.", "{name} could not be asked for a review."
LABELLED = "The label {name} could not be put on."


@dataclass(frozen=True)
class Attention:
    """Brings one pull request before the people whom the policy names; twice changes nothing."""

    client: InstallationClient
    where: Mapping[str, str]
    terms: PullRequests

    async def ask(self, pull: Mapping[str, Any], *, fresh: bool, ready: bool) -> list[str]:
        """Put labels on, assign people, ask for reviews; return what GitHub refused, for people.

        `fresh`: whether this run opened it, so nobody has had time to think otherwise. `ready`:
        whether it is to be reviewed; of a draft nobody is asked, as GitHub itself asks no owners.
        """
        refused: list[str] = []
        where = {**self.where, "number": str(pull["number"])}
        if fresh:
            refused += await self._label(pull, where)
            refused += await self._assign(pull, where)
        if ready:
            refused += await self._request_reviews(pull, where)
        return refused

    async def _label(self, pull: Mapping[str, Any], where: Mapping[str, str]) -> list[str]:
        """https://docs.github.com/rest/issues/labels#add-labels-to-an-issue."""
        there = {each["name"].lower() for each in pull["labels"]}
        missing = [name for name in self.terms.labels if name.lower() not in there]
        if not missing:
            return []
        try:
            await self.client.post(LABELS, where, data={"labels": missing})
        except REFUSED:
            return [LABELLED.format(name=code_span(name)) for name in missing]
        return []

    async def _assign(self, pull: Mapping[str, Any], where: Mapping[str, str]) -> list[str]:
        """Assign people: GitHub passes over whom it cannot, and says 201.

        https://docs.github.com/rest/issues/assignees#add-assignees-to-an-issue
        """
        missing = _absent(self.terms.assignees, pull["assignees"])
        if not missing:
            return []
        try:
            data = {"assignees": missing}
            answer = await self.client.post(ASSIGNEES, where, data=data)
            missing = _absent(missing, answer["assignees"])
        except REFUSED:
            pass
        return [ASSIGNED.format(name=code_span(name)) for name in missing]

    async def _request_reviews(
        self, pull: Mapping[str, Any], where: Mapping[str, str]
    ) -> list[str]:
        """Ask all at once; where one of them is refused, GitHub asks nobody, so each by itself.

        https://docs.github.com/rest/pulls/review-requests#request-reviewers-for-a-pull-request
        """
        people = [name for name in self.terms.reviewers if "/" not in name]
        teams = [name for name in self.terms.reviewers if "/" in name]
        asked = {each["slug"].lower() for each in pull["requested_teams"]}
        teams = [name for name in teams if _slug(name).lower() not in asked]
        wanted = [*_absent(people, pull["requested_reviewers"]), *teams]
        if not wanted or await self._asks(wanted, where):
            return []
        alone = len(wanted) == 1
        refused = [name for name in wanted if alone or not await self._asks([name], where)]
        return [REVIEW.format(name=code_span(one_line(name, 140))) for name in refused]

    async def _asks(self, names: Sequence[str], where: Mapping[str, str]) -> bool:
        """Ask these for a review; return whether GitHub took it."""
        data = {
            "reviewers": [name for name in names if "/" not in name],
            "team_reviewers": [_slug(name) for name in names if "/" in name],
        }
        try:
            await self.client.post(REVIEWERS, where, data={k: v for k, v in data.items() if v})
        except REFUSED:
            return False
        return True


def _absent(names: Sequence[str], there: Sequence[Mapping[str, Any]]) -> list[str]:
    present = {each["login"].lower() for each in there}
    return [name for name in names if name.lower() not in present]


def _slug(team: str) -> str:
    return team.partition("/")[2]
