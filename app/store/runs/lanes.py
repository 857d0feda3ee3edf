"""The lanes: which runs of one issue or pull request are under way, and which one ended last.

Issues and pull requests of a repository share one sequence of numbers, so one query serves both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select

from agents.errors import ConfigError
from agents.requests import Command, FixChecks, Person, Request, request_of
from app.store.database import Database
from app.store.runs.runs import OPEN
from app.store.tables import runs

LIVE = runs.c.state.in_(OPEN)
LOOKS = "access/"
"""How the names of steps begin that look whether a run may begin, or go on."""


@dataclass(frozen=True)
class LaneRun:
    """A run, as far as it matters to its lane."""

    id: str
    kind: str
    """The kind of the run's request."""
    state: str
    comment_id: int | None
    """The id of the run's progress comment, once there is one."""
    begun: bool = False
    """It has come past its admission: whoever asked for it may."""


class Lanes:
    """What the table `runs` says of one issue of one repository."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def busy(self, about: Request | Command) -> bool:
        """Return whether any run of the issue has not ended; one look at an index."""
        query = select(runs.c.id).where(*in_lane(about), LIVE).limit(1)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def live(self, about: Request | Command, *, before: str = "") -> list[LaneRun]:
        """Return the runs of the issue that have not ended, newest first.

        `before`: only those that were asked for before what has this id.
        """
        older = [runs.c.id < before] if before else []
        return await self._list(_newest_first().where(*in_lane(about), LIVE, *older))

    async def find_ended(self, about: Request | Command, *, begun: bool = False) -> LaneRun | None:
        """Return the newest run of the issue that has ended; `begun`: and was not refused.

        Of those that were covered by others nobody has heard.
        """
        never = ["covered", "refused"] if begun else ["covered"]
        query = _newest_first().where(*in_lane(about), ~LIVE, runs.c.state.not_in(never)).limit(1)
        found = await self._list(query)
        return found[0] if found else None

    async def is_mending(self, request: FixChecks, *, besides: str) -> bool:
        """Return whether another run that has not ended looks after the checks of this commit."""
        others = (LIVE, runs.c.kind == request.kind, runs.c.id != besides)
        query = select(runs.c.request).where(*in_lane(request), *others)
        stored: list[str] = await self._database.read(lambda c: list(c.scalars(query)))
        return any(json.loads(each).get("head") == request.head for each in stored)

    async def find_asker(self, run_id: str) -> tuple[str, Person] | None:
        """Return how and by whom the run was asked for; None where nobody can read it any more."""
        query = select(runs.c.request).where(runs.c.id == run_id)
        try:
            stored: str | None = await self._database.read(lambda c: c.scalar(query))
            request = request_of(json.loads(stored or ""))
        except (ConfigError, ValueError):  # its key is gone, or its text
            return None
        return request.via, request.asked_by

    async def has_run(self, run_id: str) -> bool:
        """Return whether there is a run of this id, under way or not."""
        query = select(runs.c.id).where(runs.c.id == run_id)
        return await self._database.read(lambda c: c.scalar(query)) is not None

    async def _list(self, query: Select[Any]) -> list[LaneRun]:
        return [_run(row) for row in await self._database.read(lambda c: c.execute(query).all())]


def in_lane(about: Request | Command) -> tuple[ColumnElement[bool], ...]:
    """Return what holds for the runs of the issue: renamed or not, its repository has one id."""
    of_issue = f"{about.repository.key}#{about.number}"
    lane = of_issue if isinstance(about, Command) else about.lane
    mine = runs.c.lane == lane
    if isinstance(about, Command) and about.number and about.via != "label":
        mine = or_(mine, _speaks_on(about.number))
    return (mine, runs.c.repository_id == about.repository.id)


def _speaks_on(number: int) -> ColumnElement[bool]:
    """Return what holds for runs about alerts, which are of no issue, and may ask on one.

    A label that is taken off it never was what asked for them.
    """
    return and_(runs.c.kind == "remediate_alert", runs.c.number == number)


def _newest_first() -> Select[Any]:
    columns = (runs.c.id, runs.c.kind, runs.c.state, runs.c.comment_id, runs.c.stage)
    return select(*columns).order_by(runs.c.created_at.desc(), runs.c.id.desc())


def _run(row: Row[Any]) -> LaneRun:
    begun = bool(row.stage) and row.stage != f"{LOOKS}1"
    return LaneRun(row.id, row.kind, row.state, row.comment_id, begun)
