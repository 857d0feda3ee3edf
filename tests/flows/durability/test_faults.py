"""A machine or a database in trouble in the middle of a run: it waits, says so, and goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import contextmanager

import psycopg
import pytest

from app.demo.server_process import make_passable
from tests.flows.conftest import CHECKED
from tests.flows.forked import ForkedServer
from tests.patience import PATIENCE

SMALL = 700
"""Megabytes of the disk that gets full."""
ROLE = "narrow"
LINES = 60
"""Of the log, at most, for a trouble of some seconds."""


class SmallDisk(ForkedServer):
    """A server whose data folder is a disk of its own."""

    mounted = False

    async def start(self, app):
        make_passable(self.data)
        if not self.mounted:
            options = ("-t", "tmpfs", "-o", f"size={SMALL}m,mode=711", "tmpfs", str(self.data))
            asked = subprocess.run(["mount", *options], capture_output=True, check=False)
            if asked.returncode:
                pytest.skip("no disk can be mounted here")
            self.mounted = True
        await super().start(app)

    async def stop(self):
        await super().stop()
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.data)], check=True)
            self.mounted = False

    @property
    def ballast(self):
        return self.data / "ballast"

    def fill(self):
        """Leave not a byte on the disk."""
        with self.ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 1_000_000):
                    pass
            except OSError:
                return


@contextmanager
def at_answer(place, *numbers):
    """Yield, by number of the model's answer, what is set before it; it waits for a moment."""
    reached = {number: asyncio.Event() for number in numbers}

    async def note(asked):
        if asked.number in reached and not reached[asked.number].is_set():
            reached[asked.number].set()
            await asyncio.sleep(0.5)  # so that the trouble is there before the answer

    place.model.on_request(note)
    yield reached


async def see_in_log(server, words):
    for _ in range(1_000):
        if words in server.log.read_text():
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"{words} not in:\n{server.log.read_text()}")


def require_untroubled(place):
    """Look whether the log and what people read is free of what helps nobody."""
    log = place.server.log.read_text()
    assert "Traceback" not in log
    assert len(log.splitlines()) < LINES, log
    said = "\n".join([*place.comments(), *(pull.issue.body for pull in place.pulls())])
    assert str(place.server.data) not in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk")
async def test_a_full_disk_holds_a_run_up_and_no_more(make_place):
    more = {"FETTLE_DISK_RESERVE_MB": "1", "FETTLE_LOG_LEVEL": "info"}
    async with make_place(CHECKED, kind=SmallDisk, **more) as place:
        with at_answer(place, 4) as reached:
            await place.label()
            await asyncio.wait_for(reached[4].wait(), PATIENCE)
            place.server.fill()
            await see_in_log(place.server, "full")
            other = await place.file("Another", "It adds wrong.")
            delivery = (await place.label(issue=other))[-1]
            place.server.ballast.unlink()
            if not delivery.ok:  # it was not kept, so it was not taken
                assert (await place.redeliver(delivery)).ok
            await place.all_done(2)
            assert len(place.pulls()) == 2
            require_untroubled(place)


@contextmanager
def narrow_role(postgresql):
    """Yield an address of a new database, for a user whose connections can be counted."""
    with psycopg.connect(postgresql.url("postgres"), autocommit=True) as connection:
        name = postgresql.database().rpartition("/")[2]
        connection.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{postgresql.password}'")
        connection.execute(f"ALTER DATABASE {name} OWNER TO {ROLE}")
        try:
            yield connection, postgresql.url(name).replace("//fettle:", f"//{ROLE}:")
        finally:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"DROP DATABASE {name} (FORCE)")
            connection.execute(f"DROP ROLE {ROLE}")


CLOSE_ALL_BUT_THE_LEASE = f"""
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE usename = '{ROLE}' AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')
"""


async def test_a_database_that_takes_nothing_holds_a_run_up_and_no_more(make_place, postgresql):
    with narrow_role(postgresql) as (connection, url):
        async with make_place(CHECKED, FETTLE_DATABASE_URL=url, FETTLE_LOG_LEVEL="info") as place:
            with at_answer(place, 4, 6) as reached:
                await place.label()
                await asyncio.wait_for(reached[4].wait(), PATIENCE)
                connection.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 0")
                connection.execute(CLOSE_ALL_BUT_THE_LEASE)
                await see_in_log(place.server, "takes no more connections")
                connection.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")

                await asyncio.wait_for(reached[6].wait(), PATIENCE)
                connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
                connection.execute("SELECT pg_reload_conf()")
                await see_in_log(place.server, "read-only")
                connection.execute("SET default_transaction_read_only = off")
                connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
                connection.execute("SELECT pg_reload_conf()")
                await place.all_done(1)
            assert len(place.pulls()) == 1
            require_untroubled(place)
            await place.server.stop()
