"""The page of one repository: what its runs came to and cost, and its vulnerable dependencies."""

from __future__ import annotations

import statistics
from typing import Any

from aiohttp import web

from agents.errors import RunError, TransientError
from app.pages.page_context import PageContext
from app.pages.render import OPERATOR, answer
from app.store.alerts import Remediations
from app.store.pages.machine import count_merges
from app.store.runs import KeptRun, find_midnight
from app.store.spending import DAY, sum_by_day
from app.views.policy import describe_policy
from app.views.record import describe_fix, describe_run
from app.views.text import redact
from app.views.timeline import UNDER_WAY

MOST_RUNS, MOST_ALERTS, DAYS = 100, 50, 14


class RepositoryPage:
    """One repository, by the name that it has now."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def show(self, request: web.Request) -> web.Response:
        """Show it to who may read it, once there was a run."""
        context, name = self._context, "{owner}/{name}".format(**request.match_info)[:200]
        runs = await context.history.newest(MOST_RUNS, repository=name)
        ident = runs[0].repository_id if runs else 0
        runs = [run for run in runs if run.repository_id == ident]  # another had the name before
        runs = await context.choose(request, runs)
        if not runs:
            raise web.HTTPNotFound
        since = find_midnight() - (DAYS - 1) * DAY
        days = await context.database.read(lambda c: sum_by_day(c, since))
        view: dict[str, Any] = {
            "repository": runs[0].repository,
            "number": len(runs),
            "days": DAYS,
            "spent": sum(each.usd for each in days if each.repository == runs[0].repository),
            "runs": [
                describe_run(run, context.redactor, short=run.id, clone=False) for run in runs
            ],
            "alerts": await self._list_alerts(ident, runs),
            "policy": await self._read_policy(ident, operator=request[OPERATOR]),
            **await self._count_merges(ident),
            **_sum_up(runs),
        }
        return await answer(request, "repository", view)

    async def _read_policy(self, ident: int, *, operator: bool) -> dict[str, Any] | None:
        """Return the policy in force; None where nobody can say now."""
        if self._context.policy is None:
            return None
        try:
            found = await self._context.policy(ident)
        except (RunError, TransientError):
            return None
        if found is None:
            return None
        told = describe_policy(found, operator=operator)
        return {name: redact(value, self._context.redactor) for name, value in told.items()}

    async def _count_merges(self, ident: int) -> dict[str, Any]:
        counts = await self._context.database.read(lambda c: count_merges(c, ident))
        return {"merged": counts.merged, "closed": counts.closed, "merge_rate": counts.rate}

    async def _list_alerts(self, ident: int, runs: list[KeptRun]) -> list[dict[str, Any]]:
        found = await Remediations(self._context.database).list_newest(MOST_ALERTS, ident)
        about = {run.id: run for run in runs}
        return [  # of a run that they may not see they learn nothing here either
            describe_fix(each, about[each.run_id], self._context.redactor)
            for each in found
            if each.run_id in about
        ]


def _sum_up(runs: list[KeptRun]) -> dict[str, Any]:
    """Return how many have ended, and what those that opened a pull request took."""
    ended = [run for run in runs if run.state not in UNDER_WAY]
    opened = [run for run in ended if run.outcome and run.outcome.kind == "pull_request"]
    minutes = [(run.updated_at - run.created_at) / 60 for run in opened]
    return {
        "ended": len(ended),
        "opened": len(opened),
        "per_pull": sum(run.usd for run in ended) / len(opened) if opened else None,
        "minutes": round(statistics.median(minutes), 1) if minutes else None,
    }
