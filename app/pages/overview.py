"""The pages about all runs: what is going on now, and what it costs."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.pages.ground import PageGround
from app.pages.render import answer
from app.store.metric_queries import find_midnight, spent_since
from app.store.runs import StoredApprovals
from app.store.spending import list_dearest, sum_by_day
from app.views.record import describe_approval, describe_run

LIVE = ("running", "parked", "queued")
ENDED = ("done", "failed", "cancelled", "refused")
MOST_LIVE, MOST_ENDED = 200, 30
DAYS, DAY = 14, 86_400.0


class OverviewPages:
    """What is going on, and what it costs."""

    def __init__(self, ground: PageGround) -> None:
        self._ground = ground

    async def show_now(self, request: web.Request) -> web.Response:
        """Show what waits for people, what is at work, and what has ended."""
        ground, redactor = self._ground, self._ground.redactor
        repository = request.query.get("repository", "")[:200].strip()
        state = request.query.get("state", "")
        history, about = ground.history, repository or None
        live = await history.newest(MOST_LIVE, states=LIVE, repository=about)
        ended = await history.newest(
            MOST_ENDED, states=[state] if state in ENDED else ENDED, repository=about
        )
        waiting = await StoredApprovals(ground.database).list_waiting()
        view: dict[str, Any] = {
            "waiting": [
                {**describe_approval(each, redactor), "run": each.run_id, "about": each.repository}
                for each in waiting
            ],
            "live": [describe_run(run, redactor, short=run.id, clone=False) for run in live],
            "ended": [describe_run(run, redactor, short=run.id, clone=False) for run in ended],
            "spent_today": await ground.database.read(lambda c: spent_since(c, find_midnight())),
            "repository": repository,
            "state": state if state in ENDED else "",
            "states": ENDED,
        }
        return await answer(request, "now", view)

    async def show_spending(self, request: web.Request) -> web.Response:
        """Show dollars by day and repository, and the dearest runs."""
        since = find_midnight() - (DAYS - 1) * DAY
        database = self._ground.database
        days = await database.read(lambda c: sum_by_day(c, since))
        dearest = await database.read(lambda c: list_dearest(c, since))
        view = {
            "days": [each.__dict__ for each in days],
            "dearest": [each.__dict__ for each in dearest],
            "limit": self._ground.day_budget_usd,
            "number": DAYS,
        }
        return await answer(request, "spend", view)
