"""Forgotten on PostgreSQL, beside the server; what is killed there: test_three_workers.py."""

from __future__ import annotations

from tests.flows.approvals.test_approval_commands import questions
from tests.flows.durability.test_kept import FILES, ISSUE, fettle, story


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
