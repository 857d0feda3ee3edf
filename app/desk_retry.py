"""Step 4: `/bot retry`: a new run takes up what the last one on the issue has left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import TypeAdapter

from agents.requests import Again, Command, Request, ResolveIssue
from app.desk_facts import Inquiry
from app.desk_telling import PUZZLED, Telling
from app.store.history import History
from app.store.lanes import LaneRun, Lanes
from app.store.runs import Runs
from handlers import steering
from handlers.access import Refusal
from handlers.issues import RESOLVE_LABEL
from handlers.steering import Standing

DONE = "+1"
STAGE = "stage/"

Submit = Callable[[str, Request], Awaitable[None]]
"""Takes a request durably; the same run id a second time changes nothing."""
_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


@dataclass(frozen=True)
class Retry:
    """Carries out `/bot retry`."""

    runs: Runs
    lanes: Lanes
    history: History
    telling: Telling
    submit: Submit

    async def obey(self, inquiry: Inquiry) -> dict[str, str]:
        """Ask for the run, or say why not; return what became of it."""
        command, run_id = inquiry.command, f"{inquiry.ident}-again"
        if await self.lanes.known(run_id):  # asked for before a crash
            await self.submit(run_id, _REQUEST.validate_python(await self.runs.request(run_id)))
        elif (refusal := await self._start(inquiry, run_id)) is not None:
            await self.telling.react(inquiry.client, command, PUZZLED)
            await self.telling.refuse(command, refusal)
            return {"refused": refusal.rule}
        await self.telling.react(inquiry.client, command, DONE)
        return {"asked": run_id}

    async def _start(self, inquiry: Inquiry, run_id: str) -> Refusal | None:
        command, facts = inquiry.command, await inquiry.about_asker()
        last = await self.lanes.ended(command, begun=True) or await self.lanes.ended(command)
        standing = Standing(
            live=await self.lanes.busy(command),
            ended=last is not None,
            stages=await self._stages(last) if last and command.stage else (),
        )
        refusal = steering.decide(command, facts, standing)
        if refusal is None:
            assert last is not None
            await self.submit(run_id, _request(command, last))
        return refusal

    async def _stages(self, last: LaneRun) -> tuple[str, ...]:
        """Return the names of the stages that it came to, in that order."""
        steps = [step.name for step in await self.history.steps(last.id)]
        names = [name.removeprefix(STAGE) for name in steps if name.startswith(STAGE)]
        return tuple(dict.fromkeys(name.partition("/")[0] for name in names))


def _request(command: Command, last: LaneRun) -> ResolveIssue:
    issue = command.issue
    assert issue is not None
    return ResolveIssue(
        installation_id=command.installation_id,
        repository=command.repository,
        number=command.number,
        title=issue.title,
        body=issue.body,
        author=issue.author,
        asked_by=command.asked_by,
        label=RESOLVE_LABEL,
        url=issue.url,
        via="command",
        again=Again(run_id=last.id, stage=command.stage),
    )
