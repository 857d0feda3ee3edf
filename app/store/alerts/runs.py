"""Alert runs that have not scanned yet: alerts that arrive until then are added to them.

A run reads all open alerts of its package and folder when it scans. So the first delivery starts a
run, and later deliveries join that run until the scan.
"""

from __future__ import annotations

import json
import time
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from agents.requests import AlertSummary, RemediateAlert
from app.store.database import Database
from app.store.runs.lanes import LIVE
from app.store.tables import runs, steers, told_alerts

BEFORE = (None, "", "access/1")
"""Steps of a run that has not begun to scan."""
NO_MORE = 0
"""Stands in the place of an alert: the run takes no further alerts."""


class AlertRuns:
    """The table `told_alerts`: alerts that a waiting run takes beside its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cover(self, ask_id: str, request: RemediateAlert) -> str:
        """Return the waiting run that takes this request's alerts as well; empty: there is none.

        `ask_id` is the id that a run of its own would get. A repeated call, as after a crash,
        returns the same run, wherever that run stands by then.
        """
        return await self._database.write(lambda c: _cover(c, ask_id, request))

    async def list_told_alerts(self, run_id: str) -> tuple[AlertSummary, ...]:
        """Return the alerts that were added to the run beside its own."""
        mine = (told_alerts.c.run_id == run_id, told_alerts.c.alert != NO_MORE)
        columns = (told_alerts.c.alert, told_alerts.c.severity, told_alerts.c.scope)
        query = select(*columns).where(*mine).order_by(told_alerts.c.ask_id)
        rows = await self._database.read(lambda c: c.execute(query).mappings().all())
        return tuple(AlertSummary.model_validate(dict(row)) for row in rows)

    async def close(self, run_id: str, *, seen: int) -> bool:
        """Let the run take no further alerts; False when more than `seen` were added meanwhile."""
        return await self._database.write(lambda c: _close(c, run_id, seen))

    async def live(self, lane: str, *, before: str = "", fixes: bool = False) -> list[str]:
        """Return the unfinished runs of the lane that Fettle started by itself.

        `before`: only runs that were asked for earlier than the run of this id; `fixes`: only runs
        that fix open alerts, and none that remove an override.
        """
        query = _of_lane(lane)
        query = query.where(runs.c.id < before) if before else query
        rows = await self._database.read(lambda c: c.execute(query).all())
        unasked = [row for row in rows if _is_automatic(row.request)]
        return [row.id for row in unasked if not (fixes and _retires(row.request))]


# --- inside one transaction ---------------------------------------------------------------------


def _cover(connection: Connection, ask_id: str, request: RemediateAlert) -> str:
    # Locked before anything is asked: another process may be at the same delivery.
    there = connection.execute(_of_lane(request.lane).with_for_update()).all()
    mine = select(told_alerts.c.run_id).where(told_alerts.c.ask_id == ask_id)
    if (said := connection.scalar(mine)) is not None:
        return str(said)
    if connection.scalar(select(runs.c.id).where(runs.c.id == ask_id)) is not None:
        return ""  # its run was made before a crash: it has to be handed over once more
    for row in there:
        if not _is_automatic(row.request):
            continue
        if request.via == "schedule":  # what is under way comes to an end before the next pass
            return str(row.id)
        if _retires(row.request):  # it may leave the alerts as they are
            continue
        if row.stage in BEFORE and not _is_over(connection, row.id):
            _tell(connection, ask_id, row.id, request.told[0])  # a delivery is about one alert
            return str(row.id)
    return ""


def _close(connection: Connection, run_id: str, seen: int) -> bool:
    # The row of the run is what `cover` locks as well.
    connection.execute(select(runs.c.id).where(runs.c.id == run_id).with_for_update())
    mine = (told_alerts.c.run_id == run_id, told_alerts.c.alert != NO_MORE)
    if (connection.scalar(select(func.count()).where(*mine)) or 0) > seen:
        return False
    if not _is_closed(connection, run_id):
        _tell(connection, f"{run_id}!"[-100:], run_id, AlertSummary(alert=NO_MORE, severity="low"))
    return True


def _is_over(connection: Connection, run_id: str) -> bool:
    """Tell whether the run will not look at what it is left: it was called off, or has judged."""
    mine = (steers.c.run_id == run_id, steers.c.kind == "cancel")
    called_off = connection.scalar(select(steers.c.number).where(*mine).limit(1)) is not None
    return called_off or _is_closed(connection, run_id)


def _is_closed(connection: Connection, run_id: str) -> bool:
    shut = (told_alerts.c.run_id == run_id, told_alerts.c.alert == NO_MORE)
    return connection.scalar(select(told_alerts.c.ask_id).where(*shut).limit(1)) is not None


def _tell(connection: Connection, ask_id: str, run_id: str, told: AlertSummary) -> None:
    row = {"ask_id": ask_id, "run_id": run_id, "at": time.time(), **told.model_dump()}
    connection.execute(insert(told_alerts).values(row))


def _of_lane(lane: str) -> Select[Any]:
    columns = (runs.c.id, runs.c.stage, runs.c.request)
    mine = (runs.c.lane == lane, LIVE, runs.c.kind == "remediate_alert")
    return select(*columns).where(*mine).order_by(runs.c.created_at.desc(), runs.c.id.desc())


def _retires(request: str) -> bool:
    return json.loads(request).get("retire") is not None


def _is_automatic(request: str) -> bool:
    """Tell whether nobody asked for the run but alerts and the clock: people may want less."""
    return json.loads(request).get("via") in ("alert", "schedule")
