"""The outcomes of runs about alerts: alerts found, pull request, whether GitHub closed them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, RowMapping, Select, Update, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.overrides import Overruled
from agents.remediation import PREFIX
from agents.requests import RemediateAlert
from app.store.alerts.overrides import day_of
from app.store.database import Database
from app.store.tables import approvals, remediations, runs, steers

State = Literal["over", "open", "closed", "merged", "fixed"]
"""`over`: it has no pull request; `merged`: GitHub is still to say that the alerts are fixed."""
STATES: tuple[State, ...] = get_args(State)
WAITING: tuple[State, ...] = ("open", "merged")
TRIES = 12
"""As many of a lane as anybody asks about."""
AT_ONCE = 50


class Remediation(NamedTuple):
    """What one run came to. Times are unix seconds."""

    run_id: str
    lane: str
    repository_id: int
    number: int
    """Of its pull request; 0: there is none."""
    base: str
    state: State
    declined: bool
    """People ended it, or closed its pull request."""
    found: Mapping[int, str]
    """Its alerts, each with a mark of what it said."""
    open_alerts: tuple[int, ...]
    """Those of which GitHub has not said that they are closed."""
    commit: str
    """That was looked at; empty: it did not get there."""
    ended_at: float
    merged_at: float | None
    told_at: float | None
    settled_at: float | None
    retires: str | None = None
    """The run whose override it was to do without; None: it was to make a fix."""
    override_until: float | None = None
    """When the override that it made is looked at next; None: there is none, or it is over."""


class Remediations:
    """The table `remediations`: one row for each run that looked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(
        self,
        run_id: str,
        request: RemediateAlert,
        *,
        number: int,
        cancelled: bool,
        commit: str,
        found: Mapping[int, str],
        overruled: Overruled | None = None,
    ) -> None:
        """Remember how the run ended, or that it has opened a pull request.

        Said again, as after a crash, the first word stands; but people may still end a run that
        has opened one. One that was cancelled because nothing was left for it to do is as if it
        had not been.
        """
        now = time.time()
        row = {
            "run_id": run_id,
            "lane": request.lane,
            "repository_id": request.repository.id,
            "number": number,
            "base": request.base_branch or request.repository.default_branch,
            "state": "open" if number else "over",
            "found": json.dumps(dict(found)),
            "open_alerts": json.dumps(sorted(found)),
            "commit": commit,
            "ended_at": now,
            "looked_at": now,
            "retires": request.retire.run_id if request.retire else None,
            "overruled": overruled.model_dump_json() if overruled else None,
            "override_until": day_of(overruled.until) if overruled else None,
        }

        def keep(connection: Connection) -> None:
            dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
            declined = cancelled and _by_people(connection, run_id)
            if cancelled and not declined:
                return
            if not number and _denied(connection, run_id):
                declined = True
            insert = dialect.insert(remediations).values(declined=declined, **row)
            connection.execute(insert.on_conflict_do_nothing())
            if declined:
                _set(connection, run_id, {"declined": True})

        await self._database.write(keep)

    async def of(self, run_id: str) -> Remediation | None:
        """Return what this run came to, if it ever looked."""
        found = await self._list(_all().where(remediations.c.run_id == run_id))
        return found[0] if found else None

    async def of_lane(self, lane: str) -> list[Remediation]:
        """Return what the newest fixes of the lane came to, newest first."""
        newest = (remediations.c.ended_at.desc(), remediations.c.run_id.desc())
        mine = _all().where(remediations.c.lane == lane, remediations.c.retires.is_(None))
        return await self._list(mine.order_by(*newest).limit(TRIES))

    async def since(self, run_id: str) -> list[Remediation]:
        """Return what others of its lane came to since this run was asked for, newest first."""
        asked = select(runs.c.lane, runs.c.created_at).where(runs.c.id == run_id)
        row = await self._database.read(lambda c: c.execute(asked).one_or_none())
        if row is None:
            return []
        return [each for each in await self.of_lane(row.lane) if each.ended_at > row.created_at]

    async def awaits(self, repository_id: int, number: int) -> bool:
        """Tell whether anything is to be known of that pull request's end."""
        query = select(remediations.c.run_id).where(*_pull(repository_id, number)).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def pull_closed(self, repository_id: int, number: int, *, merged: bool) -> list[str]:
        """Note that the pull request was closed; return the runs that it is from."""

        def note(connection: Connection) -> list[str]:
            query = _all().where(*_pull(repository_id, number)).with_for_update()
            found = [_remediation(row) for row in connection.execute(query).mappings()]
            for each in found:
                _set(connection, each.run_id, _after(each, merged=merged))
                if merged and each.retires:
                    _set(connection, each.retires, {"override_until": None})
                if not merged and not each.retires:
                    connection.execute(_waited_for(each).values(declined=True))
            return [each.run_id for each in found]

        return await self._database.write(note)

    async def alerts_closed(self, repository_id: int, alerts: Collection[int]) -> list[str]:
        """Note that these are closed; return the runs whose last ones they were."""

        def note(connection: Connection) -> list[str]:
            mine = (remediations.c.repository_id == repository_id,)
            waiting = remediations.c.state.in_(WAITING)
            query = _all().where(*mine, waiting).with_for_update()
            settled = []
            for each in [_remediation(row) for row in connection.execute(query).mappings()]:
                left = [alert for alert in each.open_alerts if alert not in alerts]
                if len(left) == len(each.open_alerts):
                    continue
                over = not left and each.state == "merged"
                fixed = {"state": "fixed", "settled_at": time.time()} if over else {}
                _set(connection, each.run_id, {"open_alerts": json.dumps(left), **fixed})
                settled += [each.run_id] if over else []
            return settled

        return await self._database.write(note)

    async def due(self, *, before: float, merged_after: float) -> list[Remediation]:
        """Return those that nobody has heard of or looked at since `before`, some at a time.

        Those that were merged before `merged_after` are given up.
        """
        state, merged_at = remediations.c.state, remediations.c.merged_at
        waits = (state == "merged") & (merged_at < before) & (merged_at > merged_after)
        query = _all().where(remediations.c.looked_at < before, (state == "open") | waits)
        return await self._list(query.order_by(remediations.c.looked_at).limit(AT_ONCE))

    async def looked(self, run_id: str, *, told: bool = False) -> None:
        """Note that GitHub was asked just now, and whether people were told why it is open."""
        now = time.time()
        change = {"looked_at": now, **({"told_at": now} if told else {})}
        await self._database.write(lambda c: _set(c, run_id, change))

    async def _list(self, query: Select[Any]) -> list[Remediation]:
        rows = await self._database.read(lambda c: c.execute(query).mappings().all())
        return [_remediation(row) for row in rows]


def _all() -> Select[Any]:
    return select(*(remediations.c[name] for name in Remediation._fields))


def _pull(repository_id: int, number: int) -> tuple[Any, ...]:
    return (
        remediations.c.repository_id == repository_id,
        remediations.c.number == number,
        remediations.c.state == "open",
    )


def _after(each: Remediation, *, merged: bool) -> dict[str, Any]:
    if not merged:
        return {"state": "closed", "declined": True}
    now = time.time()
    if each.open_alerts:
        return {"state": "merged", "merged_at": now}
    return {"state": "fixed", "merged_at": now, "settled_at": now}


def _by_people(connection: Connection, run_id: str) -> bool:
    """Tell whether it was people who cancelled the run, not the end of what it stood on."""
    theirs = steers.c.via.not_in(("alert", "installation"))
    cancelled = (steers.c.run_id == run_id, steers.c.kind == "cancel", theirs)
    return connection.scalar(select(steers.c.number).where(*cancelled).limit(1)) is not None


def _denied(connection: Connection, run_id: str) -> bool:
    """Tell whether people said no to what the pipeline itself asked for, like a major version."""
    ours = approvals.c.rule.startswith(PREFIX, autoescape=True)
    denied = (approvals.c.run_id == run_id, approvals.c.state == "denied", ours)
    return connection.scalar(select(approvals.c.id).where(*denied).limit(1)) is not None


def _waited_for(each: Remediation) -> Update:
    """Return the change of what made no pull request of its own after this one."""
    rows, later = remediations.c, remediations.c.ended_at > each.ended_at
    mine = (rows.lane == each.lane, rows.repository_id == each.repository_id)
    return update(remediations).where(*mine, rows.number == 0, rows.state == "over", later)


def _set(connection: Connection, run_id: str, change: Mapping[str, Any]) -> None:
    connection.execute(update(remediations).where(remediations.c.run_id == run_id).values(**change))


def _remediation(row: RowMapping) -> Remediation:
    marks = {int(alert): str(mark) for alert, mark in json.loads(row["found"]).items()}
    read = {"found": marks, "open_alerts": tuple(json.loads(row["open_alerts"]))}
    return Remediation(**dict(row) | read)
