"""Bring pull requests of Fettle's up to date once the one that they stand on was merged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.ports import Json
from agents.requests import Person, UpdateBranch
from app.github.pulls.stack import STACKS
from app.github.pulls.text import LOWER_KEY
from app.github.pulls.withdraw import read_pull, read_run_of_pull
from app.github.transport import GitHub, InstallationClient, NotFound, Profile, make_marker
from handlers.notifications import PullClosed

Submit = Callable[[str, UpdateBranch], Awaitable[None]]
Take = Callable[[PullClosed, str], Awaitable[Json]]

PULLS = "/repos/{owner}/{repo}/pulls"


@dataclass(frozen=True)
class UpperParts:
    """Handles notifications of merges, after whoever else has to hear of them.

    A merge by squashing makes another commit of what was below, so what stands on it would show
    all of that again: the base is merged into it, and checked. Where GitHub leads them as a stack,
    it does this itself.
    """

    github: GitHub
    submit: Submit
    before: Take

    async def take(self, notice: PullClosed, ident: str) -> Json:
        """Have what stands on the merged branch stand on its base, and brought up to date."""
        told = await self.before(notice, ident)
        if not notice.merged or notice.by is None or not notice.branch:
            return told
        ids = (notice.installation_id, notice.repository.id)
        client = await self.github.installation(*ids, Profile.READ)
        own = await self.github.identity(client)
        merged = await read_pull(client, notice.repository, notice.number)
        run = read_run_of_pull(merged, own) if merged is not None else ""
        if not run or merged is None or make_marker(run, LOWER_KEY) not in merged["body"]:
            return told
        updated: list[Json] = []
        for pull in await self._list_candidates(client, notice):
            moved = pull["base"]["ref"] == notice.base  # by GitHub, as the branch was deleted
            if moved and read_run_of_pull(pull, own) != run:
                continue
            if own.is_author(pull) and not await self._is_led(client, notice, pull["number"]):
                if not moved:
                    await self._move(notice, pull)
                run_id = f"{ident}-update-{pull['number']}"
                await self.submit(run_id, _request(notice, pull, notice.by))
                updated.append(run_id)
        known = told if isinstance(told, Mapping) else {}
        return {**known, "updated": updated} if updated else told

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
