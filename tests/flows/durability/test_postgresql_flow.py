"""The whole of Fettle on PostgreSQL, through the front door, killed on the way."""

from __future__ import annotations

from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.approvals.test_approval_commands import questions
from tests.flows.durability.test_kept import FILES, ISSUE, fettle, story


async def test_a_run_on_postgresql_survives_a_kill(make_place, postgresql):
    async with make_place(FETTLE_DATABASE_URL=postgresql.database()) as place:
        await place.label_and_kill(6)
        await place.server.start(place.app)
        outcome = await place.wait_for_end()

        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 1
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert len(place.model.requests) == await answers(place) + 1  # the one at the kill
        assert not (place.server.data / "fettle.db").exists()
        assert postgresql.password not in place.server.log.read_text()


async def answers(place):
    """Return how many answers the run's journal holds."""
    database = place.database()
    run_id, _ = await Runs(database).latest()
    return (await StoredJournal(database, run_id).sum_usage())[2]


async def test_a_repository_is_forgotten_beside_a_server_on_postgresql(make_place, postgresql):
    more = {"FETTLE_DATABASE_URL": postgresql.database()}
    async with make_place(files=FILES, issue=ISSUE, script=story(), **more) as place:
        await place.label()
        await questions(place)
        await place.wait_for_parked()
        code, said = await fettle(place, "forget", "octo-org/calc", "--yes", "--cancel")
        assert code == 0, said
        assert "Forgotten: 1 runs" in said
        assert "VACUUM FULL" in said
        assert await place.runs() == []
        database = place.database()
        for table in ("deliveries", "turns", "approvals", "steers"):
            query = f"SELECT count(*) FROM {table}"
            assert await database.read(lambda c, q=query: c.exec_driver_sql(q).scalar()) == 0
        assert not (place.server.data / "mirrors" / f"{place.repository.id}.git").exists()
        await place.label_again("mara")  # it still serves
        await place.wait_for_parked()
