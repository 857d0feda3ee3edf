"""The outcomes of runs about alerts: alerts found, pull request, whether GitHub closed them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, RowMapping, Select, select, true, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.remediation import PREFIX
from agents.requests import Overruled, RemediateAlert
from app.store.alerts.overrides import day_of
from app.store.database import Database
from app.store.tables import approvals, remediations, runs, steers

RemediationState = Literal["over", "open", "closed", "merged", "fixed"]
"""`over`: the run made no pull request; `merged`: GitHub has not closed the alerts yet."""
STATES: tuple[RemediationState, ...] = get_args(RemediationState)
WAITING: tuple[RemediationState, ...] = ("open", "merged")
TRIES = 12
"""How many outcomes of a lane are read at most."""
PULLS = 60
"""How many of a repository's newest pull requests are looked at for alerts of other lanes."""
AT_ONCE = 50


class Remediation(NamedTuple):
    """The outcome of one run about alerts. Times are unix seconds."""

    run_id: str
    lane: str
    repository_id: int
    number: int
    """The number of the run's pull request; 0: there is none."""
    base: str
    state: RemediationState
    declined: bool
    """Whether people cancelled the run, or closed its pull request unmerged."""
    found: Mapping[int, str]
    """The run's alerts, each with a mark of its content."""
    open_alerts: tuple[int, ...]
    """The alerts that GitHub has not reported as closed."""
    commit: str
    """The commit that was scanned; empty: the run ended before."""
    ended_at: float
    merged_at: float | None
    told_at: float | None
    settled_at: float | None
    retires: str | None = None
    """The run whose override this one tried to remove; None: this run tried to make a fix."""
    override_until: float | None = None
    """When this run's override is looked at next; None: there is none, or it was removed."""


class Remediations:
    """The table `remediations`: one row for each run that scanned its alerts."""

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
        """Record that the run has ended, or has opened a pull request.

        The first call counts, so that repeating it after a crash is safe; but a cancellation by
        people still ends a run with a pull request. A run leaves no row when its alerts were closed
        under it.
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
            if not number and _was_denied(connection, run_id):
                declined = True
            insert = dialect.insert(remediations).values(declined=declined, **row)
            connection.execute(insert.on_conflict_do_nothing())
            if number:  # a pull request that was made anew is the newest run's
                same = (*_pull(request.repository.id, number), remediations.c.run_id != run_id)
                connection.execute(update(remediations).where(*same).values(**_REPLACED))
            if declined:
                _set(connection, run_id, {"declined": True})

        await self._database.write(keep)

    async def find(self, run_id: str) -> Remediation | None:
        """Return the outcome of this run; None: it ended before it scanned."""
        found = await self._list(_select_remediations().where(remediations.c.run_id == run_id))
        return found[0] if found else None

    async def of_lane(self, lane: str) -> list[Remediation]:
        """Return the newest outcomes of fixes in the lane, newest first; at most `TRIES`."""
        newest = (remediations.c.ended_at.desc(), remediations.c.run_id.desc())
        mine = _select_remediations().where(
            remediations.c.lane == lane, remediations.c.retires.is_(None)
        )
        return await self._list(mine.order_by(*newest).limit(TRIES))

    async def list_about(
        self, repository_id: int, lane: str, alerts: Collection[int]
    ) -> list[Remediation]:
        """Return the newest outcomes of fixes for these alerts of the lane, newest first.

        Beside the lane's own these are the ones of pull requests that took its package along.
        """
        every = _select_remediations().where(
            remediations.c.repository_id == repository_id,
            remediations.c.number != 0,
            remediations.c.lane != lane,
            remediations.c.retires.is_(None),
        )
        others = await self._list(every.order_by(remediations.c.ended_at.desc()).limit(PULLS))
        along = [each for each in others if not each.found.keys().isdisjoint(alerts)]
        found = [*await self.of_lane(lane), *along]
        newest = sorted(found, key=lambda each: (each.ended_at, each.run_id), reverse=True)
        return newest[:TRIES]

    async def replace(self, repository_id: int, number: int) -> None:
        """Record that another pull request takes the place of this one; nobody declined it."""
        change = update(remediations).where(*_pull(repository_id, number)).values(**_REPLACED)
        await self._database.write(lambda c: c.execute(change))

    async def list_newest(
        self, most: int, repository_id: int | None = None, *, state: str = ""
    ) -> list[Remediation]:
        """Return the newest outcomes, newest first: of one repository, and in this state."""
        here, so = remediations.c.repository_id == repository_id, remediations.c.state == state
        found = _select_remediations().where(
            true() if repository_id is None else here, so if state else true()
        )
        return await self._list(found.order_by(remediations.c.ended_at.desc()).limit(most))

    async def list_later(self, run_id: str, alerts: Collection[int] = ()) -> list[Remediation]:
        """Return the outcomes about these alerts since the run was asked for, newest first."""
        columns = (runs.c.repository_id, runs.c.lane, runs.c.created_at)
        asked = select(*columns).where(runs.c.id == run_id)
        row = await self._database.read(lambda c: c.execute(asked).one_or_none())
        if row is None:
            return []
        found = await self.list_about(row.repository_id, row.lane, alerts)
        return [each for each in found if each.ended_at > row.created_at]

    async def awaits(self, repository_id: int, number: int) -> bool:
        """Tell whether the pull request is one of Fettle's that is still open in the table."""
        query = select(remediations.c.run_id).where(*_pull(repository_id, number)).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def pull_closed(self, repository_id: int, number: int, *, merged: bool) -> list[str]:
        """Record that the pull request was closed or merged; return the runs that opened it."""

        def note(connection: Connection) -> list[str]:
            query = _select_remediations().where(*_pull(repository_id, number)).with_for_update()
            found = [_remediation(row) for row in connection.execute(query).mappings()]
            for each in found:
                _set(connection, each.run_id, _columns_after_close(each, merged=merged))
                if merged and each.retires:
                    _set(connection, each.retires, {"override_until": None})
                if not merged and not each.retires:
                    for run_id in _list_waiting(connection, each):
                        _set(connection, run_id, {"declined": True})
            return [each.run_id for each in found]

        return await self._database.write(note)

    async def alerts_closed(self, repository_id: int, alerts: Collection[int]) -> list[str]:
        """Record that these alerts are closed; return the runs that are thereby settled."""

        def note(connection: Connection) -> list[str]:
            mine = (remediations.c.repository_id == repository_id,)
            waiting = remediations.c.state.in_(WAITING)
            query = _select_remediations().where(*mine, waiting).with_for_update()
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
        """Return the next runs whose pull request or alerts nobody has looked at since `before`.

        Runs merged before `merged_after` are given up. Both times are unix seconds.
        """
        state, merged_at = remediations.c.state, remediations.c.merged_at
        waits = (state == "merged") & (merged_at < before) & (merged_at > merged_after)
        query = _select_remediations().where(
            remediations.c.looked_at < before, (state == "open") | waits
        )
        return await self._list(query.order_by(remediations.c.looked_at).limit(AT_ONCE))

    async def record_look(self, run_id: str, *, told: bool = False) -> None:
        """Record that GitHub was asked just now; `told`: people know why alerts are open."""
        now = time.time()
        change = {"looked_at": now, **({"told_at": now} if told else {})}
        await self._database.write(lambda c: _set(c, run_id, change))

    async def _list(self, query: Select[Any]) -> list[Remediation]:
        rows = await self._database.read(lambda c: c.execute(query).mappings().all())
        return [_remediation(row) for row in rows]


_REPLACED = {"state": "over", "open_alerts": "[]"}
"""What is on record of a run whose pull request is another one's by now."""


def _select_remediations() -> Select[Any]:
    return select(*(remediations.c[name] for name in Remediation._fields))


def _pull(repository_id: int, number: int) -> tuple[Any, ...]:
    return (
        remediations.c.repository_id == repository_id,
        remediations.c.number == number,
        remediations.c.state == "open",
    )


def _columns_after_close(each: Remediation, *, merged: bool) -> dict[str, Any]:
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


def _was_denied(connection: Connection, run_id: str) -> bool:
    """Tell whether people said no to what the pipeline itself asked for, like a major version."""
    ours = approvals.c.rule.startswith(PREFIX, autoescape=True)
    denied = (approvals.c.run_id == run_id, approvals.c.state == "denied", ours)
    return connection.scalar(select(approvals.c.id).where(*denied).limit(1)) is not None


def _list_waiting(connection: Connection, each: Remediation) -> list[str]:
    """Return the runs after this one that made no pull request, since this one had its alerts."""
    rows, later = remediations.c, remediations.c.ended_at > each.ended_at
    mine = (rows.repository_id == each.repository_id, rows.number == 0, rows.state == "over")
    query = _select_remediations().where(*mine, later)
    found = [_remediation(row) for row in connection.execute(query).mappings()]
    return [
        other.run_id
        for other in found
        if other.lane == each.lane or (other.found and other.found.keys() <= each.found.keys())
    ]


def _set(connection: Connection, run_id: str, change: Mapping[str, Any]) -> None:
    connection.execute(update(remediations).where(remediations.c.run_id == run_id).values(**change))


def _remediation(row: RowMapping) -> Remediation:
    marks = {int(alert): str(mark) for alert, mark in json.loads(row["found"]).items()}
    read = {"found": marks, "open_alerts": tuple(json.loads(row["open_alerts"]))}
    return Remediation(**dict(row) | read)
