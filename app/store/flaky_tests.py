"""Which tests each run saw fail now and then, for later runs and for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from agents.ports import FlakySighting, FlakyTest
from app.store.database import Database
from app.store.tables import flaky_tests

RUNS_KEPT = 200  # of one repository, the newest
NAMES_KEPT = 100  # of one run

_SEEN = TypeAdapter(list[FlakySighting])


@dataclass(frozen=True)
class StoredFlakyTests:
    """The port `FlakyTests`: the table `flaky_tests`, with one row for each run that saw any."""

    database: Database
    run_id: str
    repository_id: int
    clock: Callable[[], float] = time.time

    async def list_known(self) -> Sequence[FlakyTest]:
        """Return what other runs than this one saw, the newest first."""
        return await self.database.read(
            lambda c: read_flaky(c, {self.repository_id}, besides=self.run_id)
        )

    async def note(self, seen: Sequence[FlakySighting]) -> None:
        """Remember what this run saw; the same again changes nothing."""
        await self.database.write(lambda c: self._write(c, seen))

    def _write(self, connection: Connection, seen: Sequence[FlakySighting]) -> None:
        mine = select(flaky_tests.c.seen).where(flaky_tests.c.run_id == self.run_id)
        before = connection.scalar(mine)
        known = {(each.command, each.name): each for each in _SEEN.validate_json(before or "[]")}
        for each in seen:
            there = known.get((each.command, each.name))
            if there is None or each.unchanged:
                known[each.command, each.name] = each
        text = _SEEN.dump_json(list(known.values())[:NAMES_KEPT]).decode()
        row = {"run_id": self.run_id, "repository_id": self.repository_id}
        said = {"seen": text, "at": self.clock()}
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        insert = dialect.insert(flaky_tests).values({**row, **said})
        connection.execute(insert.on_conflict_do_update(index_elements=["run_id"], set_=said))
        here = flaky_tests.c.repository_id == self.repository_id
        newest = select(flaky_tests.c.run_id).where(here).order_by(flaky_tests.c.at.desc())
        old: list[str] = list(connection.scalars(newest.offset(RUNS_KEPT)))
        connection.execute(delete(flaky_tests).where(flaky_tests.c.run_id.in_(old)))


def read_flaky(
    connection: Connection, repository_ids: Collection[int], *, besides: str = ""
) -> list[FlakyTest]:
    """Return what the runs on these repositories saw, but for one run's; the newest first."""
    query = select(flaky_tests).where(
        flaky_tests.c.repository_id.in_(repository_ids), flaky_tests.c.run_id != besides
    )
    found: dict[tuple[str, str], FlakyTest] = {}
    for row in connection.execute(query.order_by(flaky_tests.c.at.desc())):
        for each in _SEEN.validate_json(row.seen):
            key = each.command, each.name
            found[key] = _add(found.get(key), each, row)
    return list(found.values())


def forget_flaky(connection: Connection, repository_ids: Collection[int]) -> int:
    """Delete what the runs on these repositories saw; return of how many runs."""
    these = flaky_tests.c.repository_id.in_(repository_ids)
    return connection.execute(delete(flaky_tests).where(these)).rowcount


def _add(known: FlakyTest | None, seen: FlakySighting, row: Row[Any]) -> FlakyTest:
    return FlakyTest(
        command=seen.command,
        name=seen.name,
        runs=(known.runs if known else 0) + 1,
        unchanged=(known.unchanged if known else 0) + seen.unchanged,
        last_at=known.last_at if known else row.at,
    )
