"""The page of vulnerable dependencies: what became of them in all repositories."""

from __future__ import annotations

from collections import Counter
from typing import Any

from aiohttp import web

from app.pages.page_context import PageContext
from app.pages.render import answer
from app.store.alerts import STATES, Remediations
from app.views.record import describe_fix

MOST_READ, MOST_SHOWN = 1_000, 200
MEANINGS = {
    "open": "a pull request is open",
    "merged": "merged, and GitHub has not closed the alerts yet",
    "fixed": "GitHub has closed the alerts",
    "closed": "the pull request was closed unmerged",
    "over": "there is no pull request",
}


class AlertsPage:
    """What became of alerts, with the runs about them."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def show(self, request: web.Request) -> web.Response:
        """Show it, what was looked at last first; of a state, where one is asked for."""
        context, state = self._context, request.query.get("state", "")
        state = state if state in STATES else ""
        found = await Remediations(context.database).list_newest(MOST_READ, state=state)
        runs = await context.history.list_runs([each.run_id for each in found])
        seen = {run.id: run for run in await context.choose(request, runs)}
        mine = [each for each in found if each.run_id in seen]
        view: dict[str, Any] = {
            "fixes": [
                describe_fix(each, seen[each.run_id], context.redactor)
                for each in mine[:MOST_SHOWN]
            ],
            "counts": dict(Counter(each.state for each in mine)),
            "state": state,
            "meanings": MEANINGS,
        }
        return await answer(request, "alerts", view)
