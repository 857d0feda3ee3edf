"""Bring pull requests of Fettle's up to date once one was merged that they build on or overlap."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.ports import Json
from agents.requests import Person, RemediateAlert, UpdateBranch, request_of
from app.github.pulls.earlier_pull_request import is_named_for
from app.github.pulls.stack import STACKS
from app.github.pulls.withdraw import read_pull, read_run_of_pull
from app.github.transport import GitHub, InstallationClient, NotFound, Profile
from handlers.dependabot_alert import NOBODY
from handlers.notifications import PullClosed

SubmitFollowUp = Callable[[str, UpdateBranch | RemediateAlert], Awaitable[None]]
ReadRequest = Callable[[str], Awaitable[Json | None]]
"""Returns what a run was asked for, as it is stored; None where its record is gone."""
Take = Callable[[Any, str], Awaitable[Json]]

PULLS = "/repos/{owner}/{repo}/pulls"
MOST = 5
"""That are brought up to date after one merge."""


@dataclass(frozen=True)
class MergeFollowUps:
    """Handles notifications of merges, after whoever else has to hear of them.

    A merge by squashing makes another commit of what was below, so what stands on it would show
    all of that again: the base is merged into it, and checked. Where GitHub leads them as a stack,
    it does this itself. Other pull requests of Fettle's that change the same files are brought up
    to date, too: nobody finds out at their merge that they contradict each other. Fixes of
    vulnerable dependencies are made anew: no merge of two lock files is one. What adapts the
    code to another bot's update is brought up to date once that update was merged.
    """

    github: GitHub
    submit: SubmitFollowUp
    before: Take
    read_request: ReadRequest

    async def take(self, notice: PullClosed, ident: str) -> Json:
        """Have what stands on the merged branch stand on its base, and brought up to date."""
        told = await self.before(notice, ident)
        if not notice.merged or notice.by is None or not notice.branch:
            return told
        ids = (notice.installation_id, notice.repository.id)
        client = await self.github.installation(*ids, Profile.READ)
        own = await self.github.identity(client)
        merged = await read_pull(client, notice.repository, notice.number)
        if merged is None:
            return told
        run, updated = read_run_of_pull(merged, own), list[Json]()
        for pull in await self._list_candidates(client, notice):
            if not own.is_author(pull) or len(updated) == MOST:
                continue
            # What adapts the code to another bot's update is named for that one's pull request.
            part = (
                read_run_of_pull(pull, own) == run
                if run
                else is_named_for(pull["head"]["ref"], notice.number)
            )
            if (run or part) and await self._is_concerned(client, notice, pull, of_run=part):
                run_id = f"{ident}-update-{pull['number']}"
                request = _request(notice, pull, notice.by)
                fix = await self._read_fix(notice, read_run_of_pull(pull, own))
                await self.submit(run_id, fix or request)
                updated.append(run_id)
        known = told if isinstance(told, Mapping) else {}
        return {**known, "updated": updated} if updated else told

    async def _read_fix(self, notice: PullClosed, run_id: str) -> RemediateAlert | None:
        """Return the wish to make a fix anew; None for a pull request that is no such fix."""
        stored = await self.read_request(run_id) if run_id else None
        asked = request_of(stored) if stored is not None else None
        if not isinstance(asked, RemediateAlert) or asked.retire is not None:
            return None
        fresh = {"repository": notice.repository, "asked_by": NOBODY, "via": "alert", "number": 0}
        undone = {"told": (), "alerts": (), "scan": None, "again": None}
        return asked.model_copy(update=fresh | undone)

    async def _is_concerned(
        self,
        client: InstallationClient,
        notice: PullClosed,
        pull: Mapping[str, Any],
        *,
        of_run: bool,
    ) -> bool:
        """Return whether it stood on what was merged, or changes files of it; move it if need be.

        `of_run`: it is a part of the same change.
        """
        stood = pull["base"]["ref"] == notice.branch
        if stood or of_run:  # where the branch was deleted, GitHub has moved it
            if await self._is_led(client, notice, pull["number"]):
                return False
            if stood:
                await self._move(notice, pull)
            return True
        numbers = (notice.number, pull["number"])
        merged, open_still = [await self._list_files(client, notice, each) for each in numbers]
        return not merged.isdisjoint(open_still)

    async def _list_files(
        self, client: InstallationClient, notice: PullClosed, number: int
    ) -> frozenset[str]:
        """Return the first hundred files that a pull request changes."""
        where = {**_name_place(notice), "number": str(number), "per_page": "100"}
        found = await client.getitem(f"{PULLS}/{{number}}/files{{?per_page}}", where)
        return frozenset(str(each["filename"]) for each in found)

    async def _list_candidates(
        self, client: InstallationClient, notice: PullClosed
    ) -> list[Mapping[str, Any]]:
        """Return the open pull requests of the merged branch and of its base."""
        return [
            pull
            for base in (notice.branch, notice.base)
            for pull in await client.getitem(
                f"{PULLS}{{?base,state}}", {**_name_place(notice), "base": base, "state": "open"}
            )
            if pull["base"]["ref"] == base and pull["state"] == "open"
        ]

    async def _is_led(self, client: InstallationClient, notice: PullClosed, number: int) -> bool:
        """Return whether GitHub leads it as part of a stack."""
        try:
            asked = {**_name_place(notice), "pull_request": str(number)}
            return bool(await client.getitem(f"{STACKS}{{?pull_request}}", asked))
        except NotFound:
            return False

    async def _move(self, notice: PullClosed, pull: Mapping[str, Any]) -> None:
        async with self.github.lease_client(
            notice.installation_id, notice.repository.id, Profile.PULLS
        ) as client:
            where = {**_name_place(notice), "number": str(pull["number"])}
            await client.patch(f"{PULLS}/{{number}}", where, data={"base": notice.base})


def _name_place(notice: PullClosed) -> dict[str, str]:
    return {"owner": notice.repository.owner, "repo": notice.repository.name}


def _request(notice: PullClosed, pull: Mapping[str, Any], by: Person) -> UpdateBranch:
    author = pull["user"]
    return UpdateBranch(
        installation_id=notice.installation_id,
        repository=notice.repository,
        number=pull["number"],
        title=pull["title"],
        author=Person(id=author["id"], login=author["login"]),
        asked_by=by,
        url=pull["html_url"],
        via="merge",
    )
