"""What was proposed to be written down, and what it can be made of: the table `proposals`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.requests import REVERSALS, ProposeGuidance, Repository
from app.records.approvals import StoredApproval
from app.store.alerts import repository_of
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.tables import (
    approvals,
    ended_pulls,
    installations,
    proposals,
    repositories,
    runs,
)

KIND = ProposeGuidance.model_fields["kind"].default
WINDOW = 90 * 86_400.0
"""Seconds back to which people's words count."""
MONTH = 30 * 86_400.0
FORGOTTEN = 365 * 86_400.0
"""Seconds after which a pull request of whose end nobody heard holds up no other."""
MOST_RUNS = 200


@dataclass(frozen=True)
class TaughtRepository:
    """A repository where enough was said since the last look."""

    installation_id: int
    repository: Repository


class PastRun(NamedTuple):
    """A run that people had something to say about."""

    id: str
    number: int
    title: str
    asked_by: str


@dataclass(frozen=True)
class Proposals:
    """The proposals of one database."""

    database: Database
    clock: Callable[[], float] = time.time

    async def list_due(self, least: int, most: int) -> list[TaughtRepository]:
        """Return repositories where so much was said, of which none was looked at for a month.

        None either where people have not decided yet about the last proposal.
        """
        now = self.clock()
        here = repositories.c.id
        looked = exists().where(
            runs.c.repository_id == here, runs.c.kind == KIND, runs.c.created_at > now - MONTH
        )
        ended = exists().where(
            ended_pulls.c.repository_id == proposals.c.repository_id,
            ended_pulls.c.number == proposals.c.number,
        )
        undecided = exists().where(
            proposals.c.repository_id == here, proposals.c.at > now - FORGOTTEN, ~ended
        )
        said = [
            select(func.count()).where(*conditions).correlate(repositories).scalar_subquery()
            for conditions in (
                _is_reviewed(here, now - WINDOW),
                _is_reversal(here, now - WINDOW),
                (*_is_decided(here, now - WINDOW), approvals.c.state == "denied"),
            )
        ]
        query = (
            select(repositories)
            .join(installations, installations.c.id == repositories.c.installation_id)
            .where(
                repositories.c.removed_at.is_(None),
                ~repositories.c.archived,
                installations.c.removed_at.is_(None),
                installations.c.suspended_at.is_(None),
                ~looked,
                ~undecided,
                said[0] + said[1] + said[2] >= least,
            )
            .order_by(here)
            .limit(most)
        )
        rows = await self.database.read(lambda c: c.execute(query).all())
        return [
            TaughtRepository(
                row.installation_id,
                repository_of(row.id, row.full_name, row.default_branch, private=row.private),
            )
            for row in rows
        ]

    async def list_reviewed(self, repository_id: int) -> list[PastRun]:
        """Return the runs that addressed reviews, oldest first."""
        return await self._list_runs(_is_reviewed(repository_id, self.clock() - WINDOW))

    async def list_reversals(self, repository_id: int) -> list[PastRun]:
        """Return the runs that took back what was merged, oldest first."""
        return await self._list_runs(_is_reversal(repository_id, self.clock() - WINDOW))

    async def _list_runs(self, conditions: Sequence[ColumnElement[bool]]) -> list[PastRun]:
        columns = (runs.c.id, runs.c.number, runs.c.request, runs.c.asked_by)
        query = select(*columns).where(*conditions).order_by(runs.c.created_at.desc())
        rows = await self.database.read(lambda c: c.execute(query.limit(MOST_RUNS)).all())
        return [
            PastRun(row.id, row.number, _read_title(row.request), row.asked_by)
            for row in reversed(rows)
        ]

    async def list_decided(self, repository_id: int) -> list[StoredApproval]:
        """Return the approvals that people on GitHub decided, oldest first."""
        conditions = _is_decided(repository_id, self.clock() - WINDOW)
        query = select(approvals.c.run_id).where(*conditions).distinct().limit(MOST_RUNS)
        found: list[str] = await self.database.read(lambda c: list(c.scalars(query)))
        stored = StoredApprovals(self.database)
        decided = [each for run_id in found for each in await stored.of_run(run_id)]
        return sorted(
            (each for each in decided if each.decided_at and each.decided_by_id is not None),
            key=lambda each: each.decided_at or 0.0,
        )

    async def list_used(self, repository_id: int) -> set[str]:
        """Return by what the evidence is known that a proposal was made of before."""
        query = select(proposals.c.used).where(proposals.c.repository_id == repository_id)
        rows: list[str] = await self.database.read(lambda c: list(c.scalars(query)))
        return {about for used in rows for about in json.loads(used)}

    async def list_declined(self, repository_id: int) -> list[str]:
        """Return what was proposed in pull requests that people closed, oldest first."""
        query = (
            select(proposals.c.lines)
            .join(
                ended_pulls,
                and_(
                    ended_pulls.c.repository_id == proposals.c.repository_id,
                    ended_pulls.c.number == proposals.c.number,
                ),
            )
            .where(proposals.c.repository_id == repository_id, ~ended_pulls.c.merged)
            .order_by(proposals.c.at)
        )
        rows: list[str] = await self.database.read(lambda c: list(c.scalars(query)))
        return [line for lines in rows for line in json.loads(lines)]

    async def remember(
        self,
        run_id: str,
        repository_id: int,
        number: int,
        lines: Sequence[str],
        used: Sequence[str],
    ) -> None:
        """Keep what a run proposed; said again, nothing changes."""
        dialect = sqlite if self.database.engine.dialect.name == "sqlite" else postgresql
        row: dict[str, Any] = {
            "run_id": run_id,
            "repository_id": repository_id,
            "number": number,
            "lines": json.dumps(list(lines)),
            "used": json.dumps(list(used)),
            "at": self.clock(),
        }
        once = dialect.insert(proposals).values(row).on_conflict_do_nothing()
        await self.database.write(lambda c: c.execute(once))


def _is_reviewed(repository_id: Any, since: float) -> tuple[ColumnElement[bool], ...]:
    return (
        runs.c.repository_id == repository_id,
        runs.c.kind == "address_review",
        runs.c.state == "done",
        runs.c.created_at > since,
        runs.c.emptied_at.is_(None),
    )


def _is_reversal(repository_id: Any, since: float) -> tuple[ColumnElement[bool], ...]:
    return (
        runs.c.repository_id == repository_id,
        runs.c.kind.in_(REVERSALS),
        runs.c.ended_as == "pull_request",
        runs.c.created_at > since,
        runs.c.emptied_at.is_(None),
    )


def _is_decided(repository_id: Any, since: float) -> tuple[ColumnElement[bool], ...]:
    return (
        approvals.c.run_id == runs.c.id,
        runs.c.repository_id == repository_id,
        approvals.c.state.in_(("approved", "denied")),
        approvals.c.decided_by_id.is_not(None),
        approvals.c.decided_at > since,
    )


def _read_title(request: str) -> str:
    try:
        return str(json.loads(request).get("title") or "")
    except (ValueError, AttributeError):
        return ""
