"""Have merged changes of Fettle's looked into where something broke after the merge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agents.ports import Json
from agents.requests import REVERSALS, Person, SuspectMerge
from app.github.pulls.withdraw import read_pull
from app.github.transport import GitHub, Profile
from app.store.database import Database
from app.store.ended_pulls import EndedPulls, WatchedMerge
from app.store.runs import History, Lanes
from handlers.check_suite import NOBODY
from handlers.notifications import Suspicion

SubmitSuspect = Callable[[str, SuspectMerge], Awaitable[None]]


@dataclass(frozen=True)
class Suspicions:
    """Handles notifications that something broke: a run looks at each merge that may be why."""

    database: Database
    github: GitHub
    submit: SubmitSuspect

    async def take(self, notice: Suspicion, ident: str) -> Json:
        """Ask for the runs; the same notification again asks for no more of them."""
        asked: list[Json] = []
        for merge in await EndedPulls(self.database).list_suspects(notice, ident):
            request = await self._request(notice, merge)
            if request is None or await self._is_taken_back(request):
                continue
            run_id = f"{ident}-watch-{merge.number}"
            await self.submit(run_id, request)
            asked.append(run_id)
        return {"asked": asked} if asked else {"dropped": "nothing of Fettle's may be why"}

    async def _request(self, notice: Suspicion, merge: WatchedMerge) -> SuspectMerge | None:
        installation_id, repository = notice.installation_id, notice.repository
        client = await self.github.installation(installation_id, repository.id, Profile.READ)
        own = await self.github.identity(client)
        pull = await read_pull(client, repository, merge.number)
        if pull is None or not own.is_author(pull):  # anybody can call a branch like one of ours
            return None
        author = pull["user"]
        return SuspectMerge(
            installation_id=installation_id,
            repository=repository,
            number=merge.number,
            title=pull["title"],
            author=Person(id=author["id"], login=author["login"]),
            asked_by=NOBODY,
            url=pull["html_url"],
            merged=merge.commit,
            base_branch=merge.branch,
            merged_at=merge.ended_at,
        )

    async def _is_taken_back(self, request: SuspectMerge) -> bool:
        """Return whether a pull request takes it back, or one is being made."""
        lanes, history = Lanes(self.database), History(self.database)
        if any(each.kind in REVERSALS for each in await lanes.live(request)):
            return True
        last = await lanes.find_ended(request, begun=True)
        made = await history.run(last.id) if last and last.kind in REVERSALS else None
        return made is not None and made.outcome is not None and made.outcome.kind == "pull_request"
