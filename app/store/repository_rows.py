"""Find and delete all rows about one repository, in parts.

Payloads of deliveries are searched one by one, in reader threads: done under the writer's lock, the
search would block every other write until its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import lz4.frame
from sqlalchemy import ColumnElement, Connection, delete, func, or_, select

from app.store.audit import forget_acts
from app.store.database import Database
from app.store.encryption.columns import cipher_of
from app.store.engine_tables import OF_A_RUN, engine_table
from app.store.runs.lanes import LIVE
from app.store.tables import (
    alert_looks,
    boards,
    deliveries,
    ended_pulls,
    flaky_tests,
    found_setups,
    installations,
    missed,
    repositories,
    runs,
)

ROWS_AT_ONCE = 500
RUNS_AT_ONCE = 10
"""Runs deleted in one transaction: each may have megabytes, overwritten under the lock."""
OF_A_REPOSITORY = (alert_looks, boards, ended_pulls, flaky_tests, found_setups, missed)
"""Tables that hold something of a repository, apart from its runs."""
WITH_INPUTS = ("workflow_status", "workflow_input")

RowPart = tuple[list[Any], str | None]
"""The finds, and the row after which to continue; None at the end."""
Match = Callable[[bytes], Any]
"""Returns what is wanted of a payload or a request; None for one that is about something else."""


# --- which ones ---------------------------------------------------------------------------------


def list_unreachable(connection: Connection, before: float) -> list[int]:
    """Return the repositories lost before `before` (unix seconds), without a run under way.

    A suspended installation keeps its repositories; they count as lost while there are runs of them
    to delete.
    """
    joined = repositories.join(
        installations, installations.c.id == repositories.c.installation_id, isouter=True
    )
    here = runs.c.repository_id == repositories.c.id
    kept = select(runs.c.id).where(here).exists()
    late = or_(
        repositories.c.removed_at < before,
        installations.c.removed_at < before,
        (installations.c.suspended_at < before) & kept,
    )
    query = select(repositories.c.id).select_from(joined)
    query = query.where(late, ~select(runs.c.id).where(here, LIVE).exists())
    return list(connection.scalars(query.order_by(repositories.c.id)))


async def ids_of(database: Database, full_name: str) -> set[int]:
    """Return the ids of repositories that have, or had, this name.

    Some of them are known from deliveries alone.
    """
    name = full_name.lower()
    known = select(repositories.c.id).where(func.lower(repositories.c.full_name) == name)
    worked = select(runs.c.repository_id).where(func.lower(runs.c.repository) == name)
    rows = await database.read(lambda c: [*c.scalars(known), *c.scalars(worked)])
    told = await _read_all(
        database, lambda c, last: _deliveries(c, last, lambda body: _find_repository_id(body, name))
    )
    return {ident for ident in (*rows, *(found for _, found in told)) if ident}


def live_of(connection: Connection, ids: Collection[int]) -> list[str]:
    """Return the unfinished runs of these repositories."""
    query = select(runs.c.id).where(runs.c.repository_id.in_(ids), LIVE)
    return list(connection.scalars(query.order_by(runs.c.id)))


# --- what is about them -------------------------------------------------------------------------


async def told_about(database: Database, ids: Collection[int]) -> list[str]:
    """Return the ids of deliveries about these repositories."""
    found = await _read_all(
        database, lambda c, last: _deliveries(c, last, lambda body: _names(body, ids))
    )
    return [ident for ident, _ in found]


async def conducted_about(database: Database, ids: Collection[int]) -> list[str]:
    """Return the ids by which the engine knows work on them: runs, commands, notifications."""
    found: set[str] = set()
    for name in WITH_INPUTS:
        found |= set(await _read_all(database, partial(_read_conducted, name, ids)))
    return sorted(found)


async def _read_all(database: Database, look: Callable[[Connection, str], RowPart]) -> list[Any]:
    found: list[Any] = []
    last: str | None = ""
    while last is not None:
        part, last = await database.read(_read_part_after(last, look))
        found += part
    return found


def _read_part_after(
    last: str, look: Callable[[Connection, str], RowPart]
) -> Callable[[Connection], RowPart]:
    return lambda connection: look(connection, last)


def _deliveries(connection: Connection, last: str, match: Match) -> RowPart:
    query = select(deliveries.c.id, deliveries.c.body).where(deliveries.c.id > last)
    rows = connection.execute(query.order_by(deliveries.c.id).limit(ROWS_AT_ONCE)).all()
    matched = ((row.id, match(lz4.frame.decompress(row.body))) for row in rows)
    return [(ident, what) for ident, what in matched if what is not None], _next_key(rows)


def _read_conducted(name: str, ids: Collection[int], connection: Connection, last: str) -> RowPart:
    cipher = cipher_of(connection.dialect)
    if (table := engine_table(connection, name)) is None:
        return [], None
    key, inputs = table.c.workflow_uuid, table.c.inputs
    query = select(key, inputs).where(key > last, key.not_like("sched-%"))
    rows = connection.execute(query.order_by(key).limit(ROWS_AT_ONCE)).all()
    texts = ((row[0], cipher.decrypt(row[1])) for row in rows if row[1])
    about = (key for key, text in texts if _names(text.encode("utf-8", "surrogatepass"), ids))
    return list(about), _next_key(rows)


def _next_key(rows: Sequence[Any]) -> str | None:
    return rows[-1][0] if len(rows) == ROWS_AT_ONCE else None


def _find_repository_id(body: bytes, name: str) -> int | None:
    """Return the id of the repository of this name that a payload is about."""
    if name.encode() not in body.lower():
        return None
    with suppress(ValueError, RecursionError, AttributeError):
        repository = json.loads(body).get("repository")
        if str(repository.get("full_name", "")).lower() == name:
            return int(repository["id"])
    return None


def _names(text: bytes, ids: Collection[int]) -> bool | None:
    """Tell whether a payload or a request is about one of these repositories; None if not."""
    if not any(str(each).encode() in text for each in ids):
        return None
    with suppress(ValueError, RecursionError):
        return None if ids_in(json.loads(text)).isdisjoint(ids) else True
    return None


def ids_in(value: Any) -> set[int]:
    """Return the ids of the repositories that a payload, or a stored request, is about."""
    if isinstance(value, Mapping):
        if isinstance(arguments := value.get("args"), list):
            return {ident for each in arguments for ident in ids_in(each)}
        if "request" in value and "repository" not in value:
            return ids_in(value["request"])
        found = [value.get("repository")]
        for name in ("repositories", "repositories_added", "repositories_removed"):
            found += value[name] if isinstance(value.get(name), list) else []
        idents = (each.get("id") for each in found if isinstance(each, Mapping))
        return {ident for ident in idents if type(ident) is int}
    return set()


# --- deleting -----------------------------------------------------------------------------------


def some_runs(connection: Connection, ids: Collection[int], *, live: bool) -> list[str]:
    """Return the next runs of these repositories; `live`: unfinished runs too."""
    these: list[ColumnElement[bool]] = [runs.c.repository_id.in_(ids)]
    if not live:
        these.append(~LIVE)
    query = select(runs.c.id).where(*these).order_by(runs.c.id).limit(RUNS_AT_ONCE)
    return list(connection.scalars(query))


def delete_runs(connection: Connection, run_ids: Collection[str]) -> None:
    """Delete these runs and every row that refers to them."""
    delete_conducted(connection, run_ids)
    connection.execute(delete(runs).where(runs.c.id.in_(run_ids)))


def delete_conducted(connection: Connection, conducted: Collection[str]) -> None:
    """Delete the engine's rows of these ids."""
    for name in OF_A_RUN:
        if conducted and (table := engine_table(connection, name)) is not None:
            connection.execute(delete(table).where(table.c.workflow_uuid.in_(conducted)))


def delete_deliveries(connection: Connection, told: Collection[str]) -> None:
    """Delete these deliveries."""
    connection.execute(delete(deliveries).where(deliveries.c.id.in_(told)))


def delete_books(connection: Connection, ids: Collection[int]) -> None:
    """Delete what is known of these repositories; the rows of reachable ones stay."""
    forget_acts(connection, ids)
    for table in OF_A_REPOSITORY:
        connection.execute(delete(table).where(table.c.repository_id.in_(ids)))
    gone = (repositories.c.id.in_(ids), repositories.c.removed_at.is_not(None))
    connection.execute(delete(repositories).where(*gone))


def delete_installations(connection: Connection, before: float) -> None:
    """Delete installations removed before `before` (unix seconds) that have no repository left."""
    left = select(repositories.c.installation_id)
    over = (installations.c.removed_at < before, installations.c.id.not_in(left))
    connection.execute(delete(installations).where(*over))


def split_ids(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the ids in parts, each small enough for one transaction."""
    for start in range(0, len(ids), ROWS_AT_ONCE):
        yield ids[start : start + ROWS_AT_ONCE]
