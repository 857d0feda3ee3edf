"""What only PostgreSQL has: several processes at one store. The rest runs on both databases."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from agents.errors import ConfigError
from app.config.settings import load_settings
from app.runs.engine import Engine
from app.store.database import Database
from app.store.deliveries import Mark, count_states, list_waiting, mark
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery
from tests.patience import PATIENCE


@pytest.fixture
def stores(postgresql_url):
    """Two processes' views of one store."""
    both = [Database(postgresql_url) for _ in range(2)]
    yield both
    for each in both:
        each.close()


def delivery(name, body=None):
    return Delivery(
        id=name,
        event="issues",
        action="labeled",
        installation_id=2**40,
        digest=body or name,
        body=b'{"nul": "\\u0000"}\0',
    )


async def test_a_delivery_is_stored_once_whichever_process_it_reaches(stores):
    inboxes = [Inbox(store, limit=1000) for store in stores]
    for inbox in inboxes:
        await inbox.open()
    same = [inbox.store(delivery(f"{n}")) for n in range(40) for inbox in inboxes]
    claims = await asyncio.gather(*same)
    assert claims.count("stored") == 40
    assert claims.count("duplicate") == 40
    assert await inboxes[0].store(delivery("another", body="0")) == "duplicate"
    assert await stores[0].read(count_states) == {"received": 40}
    rows = await stores[1].read(lambda c: list_waiting(c, limit=100))
    assert {row.body for row in rows} == {b'{"nul": "\\u0000"}\0'}


async def test_a_failed_delivery_waits_again_when_it_is_sent_again(stores):
    inbox = Inbox(stores[0], limit=10)
    await inbox.store(delivery("1"))
    [first] = await stores[0].read(lambda c: list_waiting(c, limit=10))
    await stores[1].write(lambda c: mark(c, [Mark("1", "failed", "why\n")]))
    assert await inbox.store(delivery("1")) == "again"
    [second] = await stores[0].read(lambda c: list_waiting(c, limit=10))
    assert second.run_id == first.run_id


def test_two_processes_that_start_together_migrate_once(postgresql):
    url = postgresql.database().replace("postgresql:", "postgresql+psycopg:")
    code = "import sys; from app.store.database import Database; Database(sys.argv[1]).migrate()"
    both = [
        subprocess.Popen([sys.executable, "-c", code, url], env=environment()) for _ in range(2)
    ]
    assert [process.wait(PATIENCE) for process in both] == [0, 0]


def environment():
    return {"PYTHONPATH": str(Path(__file__).parents[3])}


@pytest.fixture
def worker(postgresql_url, tmp_path):
    """Start workers, each with a folder of its own: `worker(name)` returns process and folder."""
    running = []

    def begin(name):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        script = Path(__file__).with_name("engine_process.py")
        command = [sys.executable, script, postgresql_url, folder, name]
        running.append(subprocess.Popen(command, env=environment()))
        return running[-1], folder / "notes"

    yield begin
    for process in running:
        process.kill()
        process.wait()


def wait_for_note(notes, text):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if notes.exists() and text in notes.read_text():
            return True
        time.sleep(0.05)
    return False


def test_a_killed_worker_finds_its_run_again_and_nobody_else_touched_it(worker, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "slow").touch()
    killed, notes = worker("one")
    assert wait_for_note(notes, "begin 2")
    killed.kill()
    killed.wait()
    (tmp_path / "one" / "slow").unlink()

    other, others = worker("two")
    assert other.wait(PATIENCE) == 0
    assert others.read_text().endswith("result [1, 2, 3]\n")
    assert notes.read_text() == "begin 1\nend 1\nbegin 2\n"

    again, _ = worker("one")
    assert again.wait(PATIENCE) == 0
    assert notes.read_text().splitlines()[3:] == [
        *("begin 2", "end 2", "begin 3", "end 3", "result [1, 2, 3]"),
    ]


def test_the_url_of_an_operator_is_given_the_driver_that_is_there(postgresql):
    given = postgresql.database()
    settings = load_settings({"FETTLE_DATABASE_URL": given}, serving=False)
    database = Database(settings.database)
    database.migrate()
    database.close()
    assert postgresql.password not in repr(settings)


async def test_a_password_is_in_no_message(postgresql, postgresql_url):
    async def idle(run_id, request, steps):
        return run_id

    made = {"executor": "one"}
    first, second = (Engine(postgresql_url, **made) for _ in range(2))
    second._claim._patience = 0
    await first.launch(idle)
    try:
        with pytest.raises(ConfigError) as raised:
            await second.launch(idle)
        assert postgresql.password not in str(raised.value)
    finally:
        await first.drain(0)


async def test_a_worker_that_stops_while_it_takes_over_stops_cleanly(stores, postgresql_url):
    async def conduct(run_id, request, steps):
        return None

    def count(connection):
        return connection.scalar(text("SELECT count(*) FROM workers"))

    rows = [{"name": f"gone-{n}"} for n in range(200)]
    stopped = text(
        "INSERT INTO workers (name, session, host, started, seen) VALUES (:name, 's', 'h', 0, 0)"
    )
    await stores[0].write(lambda c: c.execute(stopped, rows))
    engine = Engine(postgresql_url, executor="one")
    await engine.launch(conduct)
    while await stores[0].read(count) > len(rows) - 5:
        await asyncio.sleep(0.001)
    await engine.drain(1)

    assert await stores[0].read(count) > 1, "all were taken over before: nothing is proved"
    await asyncio.to_thread(str)  # the loop's threads are there for whoever comes after


async def test_a_worker_opens_no_more_connections_than_it_was_given(stores, postgresql_url):
    most = 0

    async def conduct(run_id, request, steps):
        async def work():
            nonlocal most
            query = text(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'dbos_transact'"
            )
            most = max(most, await stores[0].read(lambda c: c.scalar(query)))
            return most

        for number in range(3):
            await steps.step(f"stage/work/{number}", work)

    engine = Engine(postgresql_url, executor="one", connections=8)
    await engine.launch(conduct)
    for number in range(40):
        await engine.enqueue(f"{number:02}", f"{number}", {})
    for number in range(40):
        await engine.result(f"{number:02}")
    await engine.drain(1)
    assert 4 < most <= 8
