"""Doing an ended run once more from its page: the request as it was, in the name of who asks."""

from __future__ import annotations

import hashlib
from typing import get_args

from aiohttp import web

from agents.requests import Again, Person, Request, request_of
from app.pages.page_context import PageContext
from app.pages.programs import read_form
from app.pages.render import LOGIN, refuse
from app.store.deliveries import run_of
from app.store.runs import History, KeptRun, Lanes, Runs
from app.views.timeline import UNDER_WAY, order_stages
from app.webhooks import Inbox
from handlers.internal import PAGE, PAGE_ACTION

LIVE = "A run is under way there already. Look at that one, or cancel it first."
UNREADABLE = (
    "Nobody can read any more what this run was to do: its texts were deleted after their time. Ask"
    " for it afresh on GitHub."
)
BY_ITSELF = (
    "Nobody asks for runs of this kind: Fettle begins them by itself, on an occasion or by the"
    " clock."
)


NOT_ENDED = "Only a run that has ended is done once more, from a stage that it came to."


class RetryPage:
    """Takes the form that has a run done once more."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def ask(self, request: web.Request) -> web.Response:
        """Do the run once more, from a stage that it came to, or from the beginning.

        A form that is sent twice does nothing twice.
        """
        run, form = await self._context.find_run(request), await read_form(request)
        stage, once = form.get("stage", "")[:60], form.get("once", "")[:32]
        stages = await list_stages(self._context.history, run)
        if run.state in UNDER_WAY or (stage and stage not in stages):
            return refuse(request, 409, "Not done", NOT_ENDED)
        if objection := await self._context.find_objection(request, "retry", run):
            return refuse(request, 403, "Not done", objection)
        wanted = await self._read_request(run.id, request[LOGIN].person, request[LOGIN].name)
        if isinstance(wanted, str):
            return refuse(request, 409, "Not done", wanted)
        made = await self._hand_over(
            wanted.model_copy(update={"again": Again(run_id=run.id, stage=stage)}), once
        )
        if made is None:
            return refuse(request, 409, "Not done", LIVE)
        return web.Response(status=303, headers={"Location": f"/runs/{made}"})

    async def _read_request(self, run_id: str, person: Person | None, name: str) -> Request | str:
        """Return what the run was to do, in the name of who asks; or why that cannot be."""
        stored = await Runs(self._context.database).request(run_id)
        try:
            request = request_of(stored)
        except ValueError:
            return UNREADABLE
        via = "command" if person else "terminal"
        if via not in get_args(type(request).model_fields["via"].annotation):
            return BY_ITSELF
        asker = person or Person(id=0, login=name)
        return request.model_copy(update={"asked_by": asker, "via": via})

    async def _hand_over(self, request: Request, once: str) -> str | None:
        """Put it where it is not lost; return the run's id, or None where one is under way."""
        assert request.again is not None
        database = self._context.database
        digest = hashlib.sha256(f"{request.again.run_id} {once}".encode()).hexdigest()
        ident = f"{PAGE}-{digest[:32]}"
        if known := await database.read(lambda c: run_of(c, ident)):
            return known
        if await Lanes(database).live(request):
            return None
        inbox = Inbox(database, limit=1)
        return await inbox.hand_over(request, ident, event=PAGE, action=PAGE_ACTION)


async def list_stages(history: History, run: KeptRun) -> list[str]:
    """Return the stages that the run came to, in order, without their numbers."""
    found = order_stages(run, (), await history.steps(run.id))
    names = dict.fromkeys(each.name.partition("/")[0] for each in found)
    return [name for name in names if name not in ("access", "finish")]
