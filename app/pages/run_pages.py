"""The pages of one run: its stages, and all that was said and changed in each of them."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.pages.ground import PageGround
from app.pages.render import LOGIN, answer
from app.store.alerts import Remediations
from app.store.runs import StoredSteers
from app.views.record import alerts, describe_run, details
from app.views.timeline import UNDER_WAY, base_of
from app.views.turns import shown_turns

LONGEST_WORDS = 500


class RunPages:
    """One run, its stages, and its end."""

    def __init__(self, ground: PageGround) -> None:
        self._ground = ground

    async def show(self, request: web.Request) -> web.Response:
        """Show how a run stands, and its stages."""
        run, ground = await self._ground.find_run(request), self._ground
        steers = await StoredSteers(ground.database).list_after(run.id)
        view: dict[str, Any] = {
            **describe_run(run, ground.redactor, short=run.id, clone=False),
            **await details(run, ground.history, ground.redactor, turns=False, mirror=None),
            "alerts": alerts(await Remediations(ground.database).find(run.id)).get("alerts"),
            "said": [
                {
                    "kind": each.kind,
                    "by": each.by,
                    "at": each.at,
                    "words": ground.redactor.clean(each.words),
                }
                for each in steers
            ],
            "under_way": run.state in UNDER_WAY,
            "mark": await self._mark(run.id),
            "limit": ground.run_budget_usd,
        }
        return answer(request, "run", view)

    async def show_stage(self, request: web.Request) -> web.Response:
        """Show what was said in one stage, and what each turn changed in the files."""
        run, ground = await self._ground.find_run(request), self._ground
        stage = request.match_info["stage"][:100]
        said = await ground.history.turns(run.id, content=True, stage=stage)
        if not said:
            raise web.HTTPNotFound
        others = await ground.history.turns(run.id, content=False)
        earlier = [turn.tree for turn in others if turn.tree and turn.at < said[0].at]
        base = base_of(await ground.history.steps(run.id))
        shown = await shown_turns(
            run.id,
            said,
            ground.find_mirror(run),
            base,
            ground.redactor,
            before=earlier[-1] if earlier else None,
        )
        view = {
            **describe_run(run, ground.redactor, short=run.id, clone=False),
            "name": stage,
            "turns": shown,
            "under_way": run.state in UNDER_WAY,
            "mark": await self._mark(run.id),
        }
        return answer(request, "stage", view)

    async def _mark(self, run_id: str) -> str:
        """Return how far the run is on this page, for the stream of news."""
        progress = await self._ground.history.progress(run_id)
        return progress.mark if progress else ""

    async def cancel(self, request: web.Request) -> web.Response:
        """Have the run end at the next safe place, as `fettle runs cancel` does."""
        run = await self._ground.find_run(request)
        words = str((await request.post()).get("words", ""))[:LONGEST_WORDS]
        await StoredSteers(self._ground.database).insert(
            run.id,
            f"page-cancel-{run.id}"[:120],
            kind="cancel",
            via="page",
            by=request[LOGIN].name,
            words=words,
        )
        return web.Response(status=303, headers={"Location": f"/runs/{run.id}"})
