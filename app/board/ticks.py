"""Do what people tick on a dashboard, by the rules for comments: each of them, and asked anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agents.policy import InvalidPolicy
from agents.ports import Json
from agents.requests import Command, RemediateAlert, request_of
from app.alerts.recheck_overrides import ReadRepositoryPolicy
from app.github.access.roles import role_of
from app.github.transport import GitHub, Profile
from app.store.boards import Boards
from app.store.runs import Runs
from handlers.notifications import BoardTicked

Obey = Callable[[Command, str], Awaitable[Json]]
SubmitRemediation = Callable[[str, RemediateAlert], Awaitable[None]]


@dataclass(frozen=True)
class BoardTicks:
    """Handles notifications that somebody ticked boxes."""

    github: GitHub
    boards: Boards
    runs: Runs
    policy: ReadRepositoryPolicy
    obey: Obey
    submit: SubmitRemediation

    async def take(self, notice: BoardTicked, ident: str) -> Json:
        """Do what the boxes say; the same notification again does nothing more."""
        repository = notice.repository
        number = await self.boards.find_number(repository.id)
        if not number or number != notice.number:
            return {"dropped": "the issue is no dashboard of Fettle's"}
        found = await self.policy(notice.installation_id, repository)
        wish = "none" if isinstance(found, InvalidPolicy) else found.policy.dashboard
        done: dict[str, Json] = {}
        if wish == "decide":
            for approval in notice.approve:
                done[approval] = await self.obey(_approve(notice, approval), f"{ident}-{approval}")
        if wish != "none" and notice.again and await self._may_write(notice):
            for run_id in notice.again:
                done[run_id] = await self._look_again(notice, run_id, ident)
        # Whatever came of it, the boxes are written anew.
        await self.boards.record(repository.id, number=number, digest="", at=0.0)
        return done or {"dropped": "the policy, or GitHub, does not let them"}

    async def _may_write(self, notice: BoardTicked) -> bool:
        client = await self.github.installation(
            notice.installation_id, notice.repository.id, Profile.FIND
        )
        return (await role_of(client, notice.repository, notice.asked_by)).may_write

    async def _look_again(self, notice: BoardTicked, run_id: str, ident: str) -> Json:
        """Ask for a run about the same alerts, in the name of who ticked the box."""
        stored = await self.runs.request(run_id)
        request = request_of(stored) if stored else None
        if not isinstance(request, RemediateAlert) or (
            request.repository.id != notice.repository.id
        ):
            return "there is no such run here"
        here = {
            "installation_id": notice.installation_id,
            "repository": notice.repository,
            "asked_by": notice.asked_by,
            "via": "command",
            "branch": "",  # another name than Fettle's own is the operator's alone to give
        }
        await self.submit(f"{ident}-{run_id[-12:]}", request.model_copy(update=here))
        return "asked for"


def _approve(notice: BoardTicked, approval: str) -> Command:
    return Command(
        installation_id=notice.installation_id,
        repository=notice.repository,
        number=notice.number,
        verb="approve",
        approval=approval,
        asked_by=notice.asked_by,
        via="board",
        url=notice.url,
    )
