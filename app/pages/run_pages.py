"""The pages of one run: its stages, and all that was said and changed in each of them."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from typing import Any, cast

from aiohttp import web

from agents.ports import SteerKind
from app.pages.page_context import PageContext
from app.pages.programs import read_form
from app.pages.render import LOGIN, OPERATOR, answer, refuse, wants_json
from app.pages.retries import list_stages
from app.store.alerts import Remediations
from app.store.runs import StoredSteers
from app.views.record import alerts, describe_run, details
from app.views.stage_output import describe_output
from app.views.text import format_dollars
from app.views.timeline import UNDER_WAY, base_of, order_stages
from app.views.trajectory import build_trajectory
from app.views.turns import shown_turns

LONGEST_WORDS = 500
MOST_TURNS = 30
"""Turns on one page: each may hold tens of thousands of characters."""


class RunPages:
    """One run, its stages, and its end."""

    def __init__(self, context: PageContext) -> None:
        self._context = context

    async def show(self, request: web.Request) -> web.Response:
        """Show how a run stands, and its stages."""
        run, context = await self._context.find_run(request), self._context
        steers = await StoredSteers(context.database).list_after(run.id)
        view: dict[str, Any] = {
            **describe_run(run, context.redactor, short=run.id, clone=False),
            **await details(run, context.history, context.redactor, turns=False, mirror=None),
            "alerts": alerts(await Remediations(context.database).find(run.id)).get("alerts"),
            "said": [
                {
                    "kind": each.kind,
                    "by": each.by,
                    "at": each.at,
                    "words": context.redactor.clean(each.words),
                }
                for each in steers
            ],
            "under_way": run.state in UNDER_WAY,
            "worker": run.worker if request[OPERATOR] else "",
            "mark": await self._mark(run.id),
            "limit": context.run_budget_usd,
            "once": secrets.token_hex(8),
            "retry_from": await list_stages(context.history, run),
        }
        return await answer(request, "run", view)

    async def show_stage(self, request: web.Request) -> web.Response:
        """Show what one stage came to, what was said in it, and what each turn changed.

        The newest turns are shown, or those up to the one that `until` names, counted from 1.
        """
        run, context = await self._context.find_run(request), self._context
        stage = request.match_info["stage"][:100]
        every = await context.history.turn_marks(run.id)
        places = [place for place, turn in enumerate(every) if turn.stage == stage]
        steps = await context.history.steps(run.id)
        done = next((each for each in order_stages(run, (), steps) if each.name == stage), None)
        if not places and done is None:
            raise web.HTTPNotFound
        until = _read_number(request.query.get("until", ""), len(places))
        first = max(0, until - MOST_TURNS)
        before = every[: places[first]] if places else every
        after = before[-1].at if before else 0.0
        said = await context.history.turns(run.id, content=True, after=after, stage=stage)
        came_to = await asyncio.to_thread(
            describe_output, done.steps if done else (), context.redactor
        )
        trees = [turn.tree for turn in before if turn.tree]
        view = {
            **describe_run(run, context.redactor, short=run.id, clone=False),
            "name": stage,
            "first": first,
            "until": until,
            "number": len(places),
            "most": MOST_TURNS,
            "came_to": came_to,
            "turns": await shown_turns(
                run.id,
                said[: until - first],
                context.find_mirror(run),
                base_of(steps),
                context.redactor,
                before=trees[-1] if trees else None,
            ),
            "under_way": run.state in UNDER_WAY,
            "mark": await self._mark(run.id),
        }
        return await answer(request, "stage", view)

    async def show_trajectory(self, request: web.Request) -> web.Response:
        """Answer with all turns of a run, for other programs."""
        run, context = await self._context.find_run(request), self._context
        turns = await context.history.turns(run.id, content=True)
        body = await asyncio.to_thread(
            lambda: json.dumps(build_trajectory(run, turns, context.redactor))
        )
        return web.Response(text=body, content_type="application/json")

    async def _mark(self, run_id: str) -> str:
        """Return how far the run is on this page, for the stream of news."""
        progress = await self._context.history.progress([run_id])
        return progress[run_id].mark if progress else ""

    async def steer(self, request: web.Request) -> web.Response:
        """Have the run end at the next safe place, spend more, or hear some words.

        A form that is sent twice says nothing twice. What a run may spend stays below the
        operator's limit, whatever is granted.
        """
        run, form = await self._context.find_run(request), await read_form(request)
        kind, words = form.get("kind", ""), form.get("words", "")[:LONGEST_WORDS].strip()
        usd = _read_dollars(form.get("usd", "")) if kind == "budget" else 0.0
        if kind not in ("cancel", "budget", "remark") or (kind == "remark" and not words):
            return refuse(request, 400, "Not done", "Say what the run is to hear.")
        most = self._context.run_budget_usd
        if kind == "budget" and not 0 < usd <= most:
            words = f"Name dollars, at most {format_dollars(most)}."
            return refuse(request, 403 if usd > most else 400, "Not done", words)
        if objection := await self._context.find_objection(request, kind, run):
            return refuse(request, 403, "Not done", objection)
        login = request[LOGIN]
        once = run.id if kind == "cancel" else form.get("once", "")[:32]
        heard = await StoredSteers(self._context.database).insert(
            run.id,
            f"page-{kind}-{once}"[:100],
            kind=cast("SteerKind", kind),
            via="page",
            by=login.name,
            by_id=login.person.id if login.person else None,
            words=words,
            usd=usd,
        )
        if not heard:
            return refuse(request, 409, "Too late", "The run has ended, so it hears nothing more.")
        if wants_json(request):
            return await self.show(request)
        return web.Response(status=303, headers={"Location": f"/runs/{run.id}"})


def _read_dollars(text: str) -> float:
    """Return the dollars; 0 for what is no number."""
    return float(text) if re.fullmatch(r"\d{1,4}(?:\.\d{1,2})?", text.strip(), re.ASCII) else 0.0


def _read_number(text: str, most: int) -> int:
    """Return the number, if it is one between 1 and `most`; else `most`."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else most
    return min(max(number, 1), most)
