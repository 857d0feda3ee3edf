"""The numbers of a repository that everybody may see, if everybody may read the repository."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from agents.run import Outcome
from app.store.tables import ended_pulls, repositories, runs, turns

OPEN_SECONDS = 30 * 86_400.0
"""Pull requests that no run has worked on for longer are not counted as open."""
MOST_RUNS = 200


@dataclass(frozen=True)
class BadgeNumbers:
    """What became of Fettle's pull requests in a repository, and what all runs there cost."""

    merged: int
    open: int
    usd: float


def read_badge(connection: Connection, name: str) -> BadgeNumbers | None:
    """Return the numbers of `owner/name`, in small letters; None unless it is known as public."""
    known = select(repositories.c.id).where(
        func.lower(repositories.c.full_name) == name,
        repositories.c.private.is_(False),
        repositories.c.removed_at.is_(None),
    )
    ident = connection.scalar(known)
    if ident is None:
        return None
    ends = select(ended_pulls.c.number, ended_pulls.c.merged)
    here = ends.where(ended_pulls.c.repository_id == ident)
    ended = {row.number: row.merged for row in connection.execute(here)}
    now = select(func.sum(turns.c.cost_usd)).join_from(turns, runs)
    of_turns = connection.scalar(now.where(runs.c.repository_id == ident))
    kept = select(func.sum(runs.c.kept_usd)).where(runs.c.repository_id == ident)
    usd = (of_turns or 0.0) + (connection.scalar(kept) or 0.0)
    left = _list_opened(connection, ident) - ended.keys()
    return BadgeNumbers(sum(ended.values()), len(left), usd)


def _list_opened(connection: Connection, ident: int) -> set[int]:
    """Return the numbers of the pull requests that runs opened or worked on lately."""
    done = (runs.c.repository_id == ident, runs.c.state == "done")
    lately = runs.c.updated_at > time.time() - OPEN_SECONDS
    query = select(runs.c.outcome).where(*done, lately).order_by(runs.c.updated_at.desc())
    texts: list[str | None] = list(connection.scalars(query.limit(MOST_RUNS)))
    found: set[int] = set()
    for text in texts:
        with suppress(ValueError):
            pull = Outcome.model_validate_json(text or "", extra="ignore").pull_request
            found |= {pull.number} if pull is not None and pull.number else set()
    return found
