"""The sessions of past runs, for whoever wants to go through what their models called."""

from __future__ import annotations

from sqlalchemy import select

from app.store.database import Database
from app.store.tables import runs, turns


async def recorded_sessions(
    database: Database, run_id: str | None = None, *, most: int = 500
) -> list[tuple[str, str]]:
    """Return run and session of each conversation, those of the newest runs first.

    `run_id` picks those of one run.
    """
    query = (
        select(turns.c.run_id, turns.c.session)
        .join(runs, runs.c.id == turns.c.run_id)
        .group_by(turns.c.run_id, turns.c.session, runs.c.created_at)
        .order_by(runs.c.created_at.desc(), turns.c.run_id, turns.c.session)
        .limit(most)
    )
    if run_id is not None:
        query = query.where(turns.c.run_id == run_id)
    rows = await database.read(lambda c: c.execute(query).all())
    return [(row.run_id, row.session) for row in rows]
