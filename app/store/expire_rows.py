"""Delete the texts of runs and deliveries after their time; rows of numbers stay."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import lz4.frame
from sqlalchemy import Connection, Select, delete, func, select, update

from agents.run import Outcome
from app.store.encryption.columns import cipher_of
from app.store.runs.lanes import LIVE
from app.store.tables import approvals, checkpoints, deliveries, flaky_tests, runs, steers, turns

AT_ONCE = 10
"""Runs: each may have megabytes, and all of them are overwritten before others may write."""
ROWS_AT_ONCE = 500
REDELIVERED = 8 * 86_400.0
"""Seconds for which GitHub may redeliver a webhook; until then its id is kept."""
EMPTIED = "What it said was deleted on {day}."
_WORDLESS: dict[str, Any] = {"title": "", "body": "", "scan": None, "url": ""}
_WORDS, _PEOPLE = _WORDLESS.keys(), {"author", "asked_by"}
_KINDS = {"done": "comment"}
"""Outcomes by state, for old runs whose outcome was not recorded."""


def empty_runs(connection: Connection, before: float, now: float) -> list[str]:
    """Delete the texts of the next runs that ended before `before`; return these runs' ids.

    Rows of numbers stay, with a mark that the texts are gone; both times are unix seconds.
    """
    over = (~LIVE, runs.c.updated_at < before, runs.c.emptied_at.is_(None))
    query = select(runs.c.id, runs.c.state, runs.c.ended_as, runs.c.request).where(*over)
    found = connection.execute(query.order_by(runs.c.id).limit(AT_ONCE)).all()
    for row in found:
        kind: Any = row.ended_as or _KINDS.get(row.state, row.state)
        text = EMPTIED.format(day=f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}")
        change = update(runs).where(runs.c.id == row.id)
        kept = {
            "kept_usd": _of_answers(row.id, func.coalesce(func.sum(turns.c.cost_usd), 0.0)),
            "kept_answers": _of_answers(row.id, func.count()),
            "ended_as": kind,
            "emptied_at": now,
            "request": without_texts(row.request),
            "asked_by": "",
            "outcome": Outcome(kind=kind, text=text).model_dump_json(),
        }
        connection.execute(change.values({n: _value(v) for n, v in kept.items()}))
    ids = [row.id for row in found]
    for table in (turns, approvals, steers, flaky_tests, checkpoints):
        connection.execute(delete(table).where(table.c.run_id.in_(ids)))
    return ids


def without_texts(request: str) -> str:
    """Return the request without texts of people; ids and names stay, so it can be repeated."""
    with suppress(ValueError):
        asked = json.loads(request)
        if isinstance(asked, dict):
            for name in _WORDS & asked.keys():
                asked[name] = _WORDLESS[name]
            for name in _PEOPLE & asked.keys():
                asked[name] = {"id": 0, "login": ""}
            return json.dumps(asked)
    return "{}"


def _of_answers(run_id: str, number: Any) -> Select[Any]:
    return select(number).where(turns.c.run_id == run_id, turns.c.kind == "answer")


def _value(value: Any) -> Any:
    return value.scalar_subquery() if isinstance(value, Select) else value


def empty_deliveries(connection: Connection, before: float, now: float) -> int:
    """Delete the next deliveries from before `before` (unix seconds); return how many.

    Rows that GitHub could still redeliver stay, without the body.
    """
    dealt = (deliveries.c.state != "received", deliveries.c.received_at < before)
    gone = deliveries.c.received_at < min(before, now - REDELIVERED)
    old = select(deliveries.c.id).where(*dealt, gone).limit(ROWS_AT_ONCE)
    deleted = connection.execute(delete(deliveries).where(deliveries.c.id.in_(old))).rowcount
    nothing = lz4.frame.compress(b"")
    bare = func.length(deliveries.c.body) > len(
        cipher_of(connection.dialect).encrypt_bytes(nothing)
    )
    full = select(deliveries.c.id).where(*dealt, bare).limit(ROWS_AT_ONCE)
    these = update(deliveries).where(deliveries.c.id.in_(full))
    return deleted + connection.execute(these.values(body=nothing, note=None)).rowcount


def known_mirrors(connection: Connection, since: float) -> set[int]:
    """Return the repositories whose runs are under way, or ended after `since` (unix seconds)."""
    used = select(runs.c.repository_id).where(LIVE | (runs.c.updated_at >= since))
    return set(connection.scalars(used.distinct()))


def live_among(connection: Connection, run_ids: Collection[str], since: float) -> set[str]:
    """Return those of these runs that are under way, or ended after `since` (unix seconds)."""
    these = (runs.c.id.in_(run_ids), LIVE | (runs.c.updated_at >= since))
    return set(connection.scalars(select(runs.c.id).where(*these)))
