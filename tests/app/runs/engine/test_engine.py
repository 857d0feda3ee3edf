"""The engine on a real DBOS: once per run, one at a time in a lane, polled when something waits."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from datetime import timedelta

import pytest
from dbos._dbos import _get_dbos_instance
from dbos._workflow_commands import BACKGROUND_JOBS_THREAD_NAME
from sqlalchemy import Column, MetaData, Table, Text, create_engine, event, insert, text

from agents.errors import ConfigError
from app.runs import queue_watch
from app.runs.engine import Engine
from app.runs.queue_watch import QueueLook, QueueWatch
from tests.app.runs.engine.conftest import Recorder, change, patience, wait_until


async def test_the_same_run_id_twice_is_one_run(start, store_url):
    record = Recorder()
    engine = await start(store_url, record)
    await engine.enqueue("run", "lane", {"lane": "a"})
    await engine.enqueue("run", "lane", {"lane": "a"})
    async with patience():
        assert await engine.result("run") == "run"
    await engine.enqueue("run", "lane", {"lane": "a"})
    await asyncio.sleep(0.5)
    assert record.began == [("run", "stage/work/1")]


async def test_at_rest_nobody_looks_each_second_for_delays_and_time_limits(start, store_url):
    await start(store_url, Recorder())
    asked = []

    def note(*_):
        asked.append((threading.current_thread().name, time.monotonic()))

    listened = _get_dbos_instance()._sys_db.engine
    event.listen(listened, "before_cursor_execute", note)
    await asyncio.sleep(2.5)
    event.remove(listened, "before_cursor_execute", note)
    assert asked, "its other threads do look"
    looks = [at for name, at in asked if name == BACKGROUND_JOBS_THREAD_NAME]
    assert not looks or looks[-1] - looks[0] < 0.9, "the one at its start, and none a second later"


async def test_a_lane_has_one_run_at_a_time_and_lanes_do_not_wait_for_each_other(start, store_url):
    record = Recorder(seconds=0.05)
    engine = await start(store_url, record)
    runs = [(f"{n:04}", f"lane-{n % 4}") for n in range(20)]
    for run_id, lane in runs:  # within a second, which is all that SQLite's clock shows
        await engine.enqueue(run_id, lane, {"lane": lane})
    async with patience():
        for run_id, _ in runs:
            await engine.result(run_id)
    assert set(record.most.values()) == {1}
    assert record.together > 1
    for lane in range(4):
        order = [run_id for run_id, _ in record.began if int(run_id) % 4 == lane]
        assert order == sorted(order)


async def test_a_second_process_of_the_same_name_is_refused(start, store_url):
    await start(store_url, Recorder())
    second = Engine(store_url, executor="one")
    second._claim._patience = 0
    with pytest.raises(ConfigError, match="Another Fettle"):
        await second.launch(Recorder())


async def test_nothing_asked_is_nothing_ended(start, sqlite_url):
    engine = await start(sqlite_url, Recorder())
    await engine.enqueue("run", "lane", {"lane": "a"})
    async with patience():
        await engine.result("run")
    assert await engine.find_ended([]) == {}


async def test_a_fresh_file_is_in_wal_mode_from_the_start(start, tmp_path):
    url = f"sqlite:///{tmp_path / 'fresh.db'}"
    await start(url, Recorder())
    engine = create_engine(url)
    with engine.connect() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
    engine.dispose()


async def test_what_the_library_logs_goes_the_way_of_all_lines(start, sqlite_url):
    await start(sqlite_url, Recorder())
    library = logging.getLogger("dbos")
    assert library.propagate
    assert all(isinstance(handler, logging.NullHandler) for handler in library.handlers)


async def test_old_runs_are_forgotten_and_no_others(start, store_url):
    record = Recorder()
    engine = await start(store_url, record)
    for run_id in ("old", "new"):
        await engine.enqueue(run_id, run_id, {"lane": run_id})
        async with patience():
            await engine.result(run_id)
    record.seconds = 60
    await engine.enqueue("running", "running", {"lane": "running"})
    await wait_until(lambda: len(record.began) == 3)
    days = int((time.time() - 31 * 86_400) * 1000)
    aged = "UPDATE workflow_status SET completed_at = :at WHERE workflow_uuid = 'old'"
    assert change(store_url, aged, at=days) == 1

    assert await engine.forget(timedelta(days=30)) == 1
    assert await engine.find_ended(["old", "new", "running"]) == {"new": "SUCCESS"}
    assert await engine.forget(timedelta(days=30)) == 0


def test_the_wait_for_a_poll_ends_when_a_look_finds_something_queued():
    looks = iter([False, False, True])
    assert QueueWatch(lambda: next(looks), rest=0.001).wait(20.0) is False
    assert next(looks, "no look is left") == "no look is left"


def test_it_ends_at_once_when_this_process_queues_something():
    watch = QueueWatch(lambda: False, rest=3600.0)
    threading.Timer(0.05, watch.ring).start()
    assert watch.wait(3600.0) is False
    watch.ring()  # while the engine polls: the next wait ends too
    assert watch.wait(3600.0) is False


def test_what_waits_for_its_lane_is_polled_for_as_the_engine_would():
    watch = QueueWatch(lambda: True, rest=3600.0)
    watch.ring()
    assert watch.wait(3600.0) is False
    assert watch.wait(0.001) is False
    assert watch.wait(0.001) is False


def test_it_ends_at_once_when_the_thread_is_to_stop():
    watch = QueueWatch(lambda: False, rest=3600.0)
    threading.Timer(0.05, watch.set).start()
    assert watch.wait(3600.0) is True


def test_the_engine_polls_after_a_while_though_nothing_was_seen(monkeypatch):
    monkeypatch.setattr(queue_watch, "LONGEST_SECONDS", 0.0)
    assert QueueWatch(lambda: False, rest=0.001).wait(20.0) is False


def test_a_look_sees_what_others_commit_and_says_when_it_cannot_look(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'engine.db'}")
    status = Table("status", MetaData(), Column("queue_name", Text), Column("status", Text))
    look = QueueLook(engine, status, "runs")
    assert look(), "without its table it cannot tell"
    status.create(engine)
    assert not look()
    with engine.begin() as other:
        other.execute(insert(status).values(queue_name="other", status="ENQUEUED"))
    assert not look()
    with engine.begin() as other:
        other.execute(insert(status).values(queue_name="runs", status="ENQUEUED"))
    assert look()
    look.close()
    assert engine.pool.checkedout() == 0
