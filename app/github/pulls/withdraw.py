"""Withdraw what a run put on GitHub: its pull request, branch, sub-issues and comment.

Nothing is lost: GitHub keeps the commits of a closed pull request and offers its branch again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agents.requests import Command, Repository
from agents.text import code_span
from app.github.pulls.head_branch import PULL
from app.github.transport import (
    BotIdentity,
    GitHub,
    InstallationClient,
    MarkedComments,
    NotFound,
    Profile,
    Unprocessable,
)

REPOSITORY = "/repos/{owner}/{repo}"
BRANCH = f"{REPOSITORY}/git/ref/heads{{/parts*}}"
BRANCHES = f"{REPOSITORY}/git/refs/heads{{/parts*}}"
ISSUE = f"{REPOSITORY}/issues/{{number}}"
PROGRESS = "progress"
_OF_RUN = re.compile(r"<!-- fettle run=([A-Za-z0-9._-]{1,100}) key=pull-request(?:-part)? -->")
STRUCK = "**Taken back**"
STRUCK_TEXT = STRUCK + ", as {asker} asked. This is what it said before:\n\n{text}"
CLOSED = "#{number} is closed."
MERGED = "#{number} is merged already; `/bot undo` on it has it taken back."
KEPT = "The branch {branch} stays: {others} put commits on it."
MOVED = "The branch {branch} stays: somebody has pushed to it just now."
DELETED = (
    "The branch {branch} is {how}. Its commits stay: *Restore branch* on #{number} brings them"
    " back."
)
PARTS = "Closed, which the run had made: {parts}."
COMMENT = "The run's comment says that it was taken back."


@dataclass(frozen=True)
class Withdrawal:
    """Withdraws what one run left, as somebody who may write has asked."""

    github: GitHub
    client: InstallationClient
    own: BotIdentity
    command: Command
    run_id: str
    settle: float

    async def take_back(
        self, pulls: Sequence[Mapping[str, Any]], issue: int, comment_id: int | None
    ) -> list[str]:
        """Do all of it, or what is left of it; return what was done and what not, for people.

        `pulls`: those of the run, what stands on others first; `issue`: the number of the run's;
        `comment_id`: of its progress comment.
        """
        lines = [line for pull in pulls for line in await self._close_pull(pull)]
        if parts := await self._close_parts(issue):
            lines.append(PARTS.format(parts=", ".join(parts)))
        if comment_id is not None and await self._strike(comment_id):
            lines.append(COMMENT)
        return lines

    async def _close_pull(self, pull: Mapping[str, Any]) -> list[str]:
        """Close a pull request and delete its branch; one that is merged is left alone."""
        number = pull["number"]
        if pull["merged_at"] is not None:
            return [MERGED.format(number=number)]
        others = await self._list_others(number)
        if pull["state"] == "open":
            await self.client.patch(PULL, self._url_variables(number), data={"state": "closed"})
        if not others:
            return [CLOSED.format(number=number), await self._delete_branch(pull)]
        branch = code_span(pull["head"]["ref"])
        kept = KEPT.format(branch=branch, others=", ".join(others))
        return [CLOSED.format(number=number), kept]

    async def _list_others(self, number: int) -> list[str]:
        """Return who else has commits on the pull request."""
        names: dict[str, None] = {}
        async for each in self.client.getiter(f"{PULL}/commits", self._url_variables(number)):
            author = each["author"] or {}
            if author.get("id") != self.own.bot.id:
                names[f"`{author.get('login') or 'somebody without an account'}`"] = None
        return list(names)

    async def _delete_branch(self, pull: Mapping[str, Any]) -> str:
        """Delete the branch if it is as it was seen; return what became of it.

        https://docs.github.com/rest/git/refs#delete-a-reference
        """
        command, branch = self.command, pull["head"]["ref"]
        where = {**self._url_variables(pull["number"]), "parts": branch.split("/")}
        about = {"branch": code_span(branch), "number": pull["number"]}
        async with self.github.lease_client(
            command.installation_id, command.repository.id, Profile.PULLS
        ) as client:
            try:
                found = await client.getitem(BRANCH, where)
                if found["object"]["sha"] != pull["head"]["sha"]:
                    return MOVED.format(**about)
                await client.delete(BRANCHES, where)
            except (NotFound, Unprocessable):
                return DELETED.format(how="gone already", **about)
        return DELETED.format(how="deleted", **about)

    async def _close_parts(self, issue: int) -> list[str]:
        """Close the sub-issues that the run itself made and nobody has closed; return them."""
        mark, closed = f"<!-- fettle run={self.run_id} ", []
        with suppress(NotFound):  # it is no issue, or this GitHub has no sub-issues
            where = self._url_variables(issue)
            async for each in self.client.getiter(f"{ISSUE}/sub_issues", where):
                if mark not in (each["body"] or "") or not self.own.is_author(each):
                    continue
                if each["state"] == "open":
                    data = {"state": "closed", "state_reason": "not_planned"}
                    await self.client.patch(ISSUE, self._url_variables(each["number"]), data=data)
                closed.append(f"#{each['number']}")
        return closed

    async def _strike(self, comment_id: int) -> bool:
        """Say in the run's own comment that it was taken back; False where it is gone."""
        comments = MarkedComments(self.github, self.command, self.run_id, settle=self.settle)
        try:
            said = await comments.get(comment_id, PROGRESS)
            if not said.text.startswith(STRUCK):
                text = STRUCK_TEXT.format(asker=self.command.asker, text=said.text)
                await comments.change(comment_id, PROGRESS, text, yielding=False)
        except NotFound:
            return False
        return True

    def _url_variables(self, number: int) -> dict[str, str]:
        repository = self.command.repository
        return {"owner": repository.owner, "repo": repository.name, "number": str(number)}


def read_run_of_pull(pull: Mapping[str, Any], own: BotIdentity) -> str:
    """Return which run a pull request of Fettle's says that it is of; empty: none."""
    found = _OF_RUN.search(pull["body"] or "")
    return found[1] if found and own.is_author(pull) else ""


async def read_pull(
    client: InstallationClient, repository: Repository, number: int
) -> Mapping[str, Any] | None:
    """Return the repository's pull request of this number; None where there is none."""
    where = {"owner": repository.owner, "repo": repository.name}
    try:
        found: Mapping[str, Any] = await client.getitem(PULL, {**where, "number": str(number)})
    except NotFound:
        return None
    return found
