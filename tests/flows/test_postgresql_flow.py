"""The whole of Fettle on PostgreSQL, through the front door, killed on the way."""


async def test_a_run_on_postgresql_survives_a_kill(make_place, postgresql):
    async with make_place(FETTLE_DATABASE_URL=postgresql.database()) as place:
        assert not (place.server.data / "fettle.db").exists()
        await place.label()
        await place.until(lambda: len(place.model.requests) == 6)
        in_flight = sum(not asked.answered for asked in place.model.requests)
        await place.kill_and_restart()
        outcome = await place.ended()

        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 2
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert len(place.model.requests) - 16 <= in_flight
        assert not (place.server.data / "fettle.db").exists()
        assert postgresql.password not in place.server.log.read_text()
