"""The pages about all runs: what is going on now, what it costs, what was done with privilege."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from app.pages.page_context import PageContext
from app.pages.render import LOGIN, OPERATOR, answer
from app.store.audit import ACT_KINDS, list_newest
from app.store.metric_queries import spent_since
from app.store.pages.machine import read_machine
from app.store.runs import KeptRun, StoredApprovals, find_midnight
from app.store.spending import forecast, list_dearest, sum_by_day, sum_by_model, sum_by_stage
from app.views.record import describe_approval, describe_run
from app.views.text import redact

LIVE = ("running", "parked", "queued")
ENDED = ("done", "failed", "cancelled", "refused")
MOST_LIVE, MOST_ENDED = 200, 30
MOST_SEARCHED = 1_000
"""Ended runs among which those are found that somebody may see, or looks for."""
MOST_ENTRIES = 100
DAYS, DAY = 14, 86_400.0


class OverviewPages:
    """What is going on, and what it costs."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def show_now(self, request: web.Request) -> web.Response:
        """Show what waits for people, what is at work, and what has ended."""
        context, redactor = self._context, self._context.redactor
        repository = request.query.get("repository", "")[:200].strip()
        words = request.query.get("words", "")[:200].strip()
        state = request.query.get("state", "")
        history, about = context.history, repository or None
        live = await history.newest(MOST_LIVE, states=LIVE, repository=about)
        operator = request[OPERATOR]
        ended = await history.newest(
            MOST_ENDED if operator and not words else MOST_SEARCHED,
            states=[state] if state in ENDED else ENDED,
            repository=about,
        )
        waiting = await StoredApprovals(context.database).list_waiting()
        if not operator or request[LOGIN].token:
            live, ended = await context.choose(request, live), await context.choose(request, ended)
            seen = {run.id for run in live}  # what waits for an answer is under way
            waiting = [each for each in waiting if each.run_id in seen]
        live, ended = _find_words(live, words), _find_words(ended, words)
        view: dict[str, Any] = {
            "waiting": [
                {**describe_approval(each, redactor), "run": each.run_id, "about": each.repository}
                for each in waiting
            ],
            "live": [describe_run(run, redactor, short=run.id, clone=False) for run in live],
            "ended": [
                describe_run(run, redactor, short=run.id, clone=False) for run in ended[:MOST_ENDED]
            ],
            "spent_today": await context.database.read(lambda c: spent_since(c, find_midnight()))
            if operator
            else None,
            "machine": (await context.database.read(read_machine)).__dict__ if operator else None,
            "disk": await context.measure_disk() if operator else None,
            "repository": repository,
            "words": words,
            "state": state if state in ENDED else "",
            "states": ENDED,
        }
        return await answer(request, "now", view)

    async def show_audit(self, request: web.Request) -> web.Response:
        """Show operators what was done with privilege, the newest first."""
        self._context.require_operator(request)
        kind, before = request.query.get("kind", "")[:40], request.query.get("before", "")
        number = int(before) if before.isascii() and before.isdecimal() else None
        entries = await self._context.database.read(
            lambda c: list_newest(c, MOST_ENTRIES, before=number, kind=kind)
        )
        acts = [{"number": each.number, "at": each.at, **each.act} for each in entries]
        view = {
            "entries": redact(acts, self._context.redactor),
            "kind": kind,
            "kinds": ACT_KINDS,
            "older": entries[-1].number if len(entries) == MOST_ENTRIES else None,
        }
        return await answer(request, "audit", view)

    async def show_spending(self, request: web.Request) -> web.Response:
        """Show operators dollars by day and repository, and the dearest runs."""
        self._context.require_operator(request)
        since = find_midnight() - (DAYS - 1) * DAY
        database = self._context.database
        days = await database.read(lambda c: sum_by_day(c, since))
        stages = await database.read(lambda c: sum_by_stage(c, since))
        models = await database.read(lambda c: sum_by_model(c, since))
        dearest = await database.read(lambda c: list_dearest(c, since))
        expected, pace_days = forecast(days, datetime.now(UTC).date())
        view = {
            "days": [each.__dict__ for each in days],
            "stages": [each.__dict__ for each in stages],
            "models": [each.__dict__ for each in models],
            "forecast": expected,
            "pace_days": pace_days,
            "dearest": [each.__dict__ for each in dearest],
            "limit": self._context.day_budget_usd,
            "number": DAYS,
        }
        return await answer(request, "spend", view)


def _find_words(found: Sequence[KeptRun], words: str) -> list[KeptRun]:
    """Return the runs whose subject, title, asker or id has all of these words."""
    wanted = words.casefold().split()

    def fits(run: KeptRun) -> bool:
        text = f"{run.id} {run.reference} {run.title} {run.asked_by} {run.kind}".casefold()
        return all(word in text for word in wanted)

    return [run for run in found if fits(run)] if wanted else list(found)
