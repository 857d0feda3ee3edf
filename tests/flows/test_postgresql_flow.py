"""The whole of Fettle on PostgreSQL, through the front door, killed on the way."""

from __future__ import annotations

import asyncio

from app.store.database import Database
from app.store.runs import Runs
from app.store.turns import StoredJournal


async def test_a_run_on_postgresql_survives_a_kill(make_place, postgresql):
    async with make_place(FETTLE_DATABASE_URL=postgresql.database()) as place:
        killed = asyncio.Event()

        async def kill(asked):
            if asked.number == 6:
                await place.server.kill()
                killed.set()

        place.model.on_request(kill)
        await place.label()
        await asyncio.wait_for(killed.wait(), 30)
        await place.server.start(place.app)
        outcome = await place.ended()

        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 2
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert len(place.model.requests) == await answers(place) + 1  # the one at the kill
        assert not (place.server.data / "fettle.db").exists()
        assert postgresql.password not in place.server.log.read_text()


async def answers(place):
    """Return how many answers the run's journal holds."""
    database = Database(place.server.database_url)
    place.databases.append(database)
    run_id, _ = await Runs(database).latest()
    return (await StoredJournal(database, run_id).spent())[2]
