"""The queue: places by fairness, people who hear where they stand, runs that wait as rows."""

from __future__ import annotations

import asyncio
import errno
import time
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text

from agents.errors import TransientError
from app.runs.durable_steps import LetGo
from app.runs.engine import Engine
from app.runs.queue import RunQueue
from app.store.database import Database
from app.store.runs import QueuedRun, RunPlaces, Runs, StoredSteers
from app.store.runs.places import PATIENT_SECONDS, order_fairly
from tests.fakes.requests import build_remediate_alert, build_resolve_issue
from tests.patience import PATIENCE

NOW = 1_000_000.0


def make_queued(ident, installation, since=0.0, **more):
    return QueuedRun(id=ident, installation_id=installation, since=NOW - 60 + since, **more)


def order(*runs, **at_work):
    return [
        each.id for each in order_fairly(runs, {int(k[1:]): n for k, n in at_work.items()}, NOW)
    ]


def test_who_has_least_at_work_is_next_then_who_waits_longest():
    many = [make_queued(f"a{n}", 1, n) for n in range(4)]
    assert order(*many, make_queued("b0", 2, 9)) == ["a0", "b0", "a1", "a2", "a3"]
    assert order(*many, make_queued("b0", 2, 9), _1=1) == ["b0", "a0", "a1", "a2", "a3"]
    assert order(*many, make_queued("b0", 2, 8), make_queued("b1", 2, 9), _1=2)[:2] == ["b0", "b1"]


def test_what_people_wait_for_comes_before_what_the_clock_found():
    alert = make_queued("alert", 1, -10, unasked=True)
    assert order(alert, make_queued("label", 2), _2=5) == ["label", "alert"]


def test_what_the_clock_found_has_its_turn_after_an_hour():
    alert = make_queued("alert", 1, -PATIENT_SECONDS, unasked=True)
    assert order(alert, make_queued("label", 1)) == ["alert", "label"]


class Machine:
    """A queue on a real engine, whose runs do one stage, wait where told to, and do another."""

    def __init__(self, url, name="one", **places):
        self.database = Database(url)
        self.runs, self.steers = Runs(self.database), StoredSteers(self.database)
        self.engine = Engine(url, executor=name, put_off=self.runs.put_off, retry_seconds=0.01)
        self.places = RunPlaces(self.database, name, **{"places": 2, **places})
        self.queue = RunQueue(self.database, self.engine, self.places, tell=self.tell)
        self.name, self.waits, self.decided = name, set(), set()
        self.hold, self.began, self.told = asyncio.Event(), [], []
        self.hold.set()
        self.refused, self.failing, self.away = set(), [], []

    async def conduct(self, run_id, request, steps):
        if not await self.places.holds(run_id):
            raise LetGo
        await self.runs.record_start(run_id, self.name)

        async def work(number):
            self.began.append((run_id, number))
            await self.runs.record_stage(run_id, f"stage/work/{number}")
            await self.hold.wait()
            if self.away:
                raise self.away[0]
            return number

        async def is_decided():
            if run_id not in self.decided:
                await self.runs.record_parked(run_id, "answer", heard=0)
            return run_id in self.decided

        await steps.step("stage/work/1", lambda: work(1))
        if run_id in self.waits:
            await steps.wait("answer/1", is_decided)
            await steps.step("stage/work/2", lambda: work(2))
        await self.database.write(
            lambda c: c.execute(text("UPDATE runs SET state='done' WHERE id=:id"), {"id": run_id})
        )
        return run_id

    async def tell(self, run_id, request, place, seconds):
        if self.failing and run_id == "2":
            raise self.failing.pop()
        self.told.append((run_id, place))
        return run_id not in self.refused

    async def ask(self, ident, number=None, installation=None, request=None):
        """Queue a request for a run."""
        wish = request or build_resolve_issue(number=number or int(ident))
        if installation:
            wish = wish.model_copy(update={"installation_id": installation})
        await self.queue.submit(ident, wish)

    async def states(self):
        query = text("SELECT id, state FROM runs ORDER BY id")
        return dict(await self.database.read(lambda c: c.execute(query).all()))

    async def wait_for(self, **states):
        """Wait until the runs are in these states; `_1="done"` is the run 1."""
        wanted = {name[1:]: state for name, state in states.items()}
        async with asyncio.timeout(PATIENCE):
            while wanted.items() - (await self.states()).items():
                await asyncio.sleep(0.02)

    async def wait_until(self, true):
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.01)

    @asynccontextmanager
    async def no_pause_between_looks(self):
        async def ring():
            while True:
                self.queue.ring()
                await asyncio.sleep(0.05)

        ringing = asyncio.create_task(ring())
        try:
            yield
        finally:
            ringing.cancel()


@asynccontextmanager
async def at_work(url, **more):
    machine = Machine(url, **more)
    await machine.engine.launch(machine.conduct, freed=machine.queue.ring)
    queueing = asyncio.create_task(machine.queue.run())
    try:
        yield machine
    finally:
        queueing.cancel()
        await machine.engine.drain(0)
        machine.database.close()


async def test_as_many_are_at_work_as_there_are_places(store_url):
    async with at_work(store_url) as machine:
        machine.hold.clear()
        for ident in ("1", "2", "3"):
            await machine.ask(ident)
        await machine.wait_for(_1="running", _2="running", _3="queued")
        await machine.wait_until(lambda: len(machine.began) == 2)
        machine.hold.set()
        await machine.wait_for(_1="done", _2="done", _3="done")
    assert sorted(machine.began) == [("1", 1), ("2", 1), ("3", 1)]


async def test_a_run_waits_for_the_one_before_it_on_the_same_issue(sqlite_url):
    async with at_work(sqlite_url) as machine:
        machine.waits = {"1"}
        await machine.ask("1", number=7)
        await machine.ask("2", number=7)
        await machine.wait_for(_1="parked")
        await machine.ask("3", number=8)
        await machine.wait_for(_3="done")
        assert (await machine.states())["2"] == "queued"
        assert machine.told == [], "it waits for no place"
        machine.decided.add("1")
        await machine.steers.insert("1", "key", kind="go", via="comment", by="mara", by_id=3)
        await machine.wait_for(_1="done", _2="done")


async def test_people_hear_where_they_stand_and_refused_runs_need_no_place(sqlite_url):
    async with at_work(sqlite_url, places=1) as machine:
        machine.hold.clear()
        machine.refused, machine.failing = {"4"}, [TransientError("GitHub is away")]
        await machine.ask("1")
        await machine.wait_for(_1="running")
        for ident in ("2", "3", "4"):
            await machine.ask(ident)
        await machine.wait_for(_4="running")  # it ends, beside the one that has the place
        assert {("3", 2), ("4", 3)} <= set(machine.told)
        machine.hold.set()
        await machine.wait_for(_1="done", _2="done", _3="done", _4="done")


async def test_a_cancelled_run_ends_without_a_place(sqlite_url):
    async with at_work(sqlite_url, places=1) as machine:
        machine.hold.clear()
        await machine.ask("1")
        await machine.wait_for(_1="running")
        await machine.ask("2")
        await machine.steers.insert("2", "key", kind="cancel", via="comment", by="mara", by_id=3)
        machine.queue.ring()
        await machine.wait_for(_2="running")
        machine.hold.set()
        await machine.wait_for(_1="done", _2="done")


async def test_one_installation_leaves_a_place_to_others_and_its_alerts_come_last(sqlite_url):
    async with at_work(sqlite_url, places=2) as machine:
        row = (
            "INSERT INTO installations (id, account_id, account, url, permissions, since,"
            " synced_at) VALUES (:id, :id, 'octo', '', '{}', 0, 0)"
        )
        for ident in (1, 2):
            await machine.database.write(lambda c, n=ident: c.execute(text(row), {"id": n}))
        machine.hold.clear()
        alert = build_remediate_alert(via="alert")
        await machine.ask("0", request=alert.model_copy(update={"installation_id": 1}))
        await machine.wait_for(_0="running")
        for ident in ("1", "2"):
            await machine.ask(ident, installation=1)
        await machine.ask("3", installation=2)
        await machine.wait_for(_3="running")
        assert list((await machine.states()).values()).count("running") == 2
        machine.hold.set()
        await machine.wait_for(_1="done", _2="done", _3="done")


async def test_a_run_that_waits_is_a_row_and_goes_on_where_it_stands(store_url):
    async with at_work(store_url, places=1) as machine:
        machine.waits = {"1", "2"}
        for ident in ("1", "2"):
            await machine.ask(ident)
        await machine.wait_for(_1="parked", _2="parked")
        await machine.wait_until(lambda: not machine.engine.is_conducting())
    began = machine.began
    async with at_work(store_url, name="two") as machine:  # another worker, after a restart
        machine.waits, machine.decided = {"1", "2"}, {"1"}
        await machine.ask("3")
        await machine.wait_for(_3="done")
        assert not machine.engine.is_conducting()
        await machine.steers.insert("1", "key", kind="go", via="comment", by="mara", by_id=3)
        await machine.wait_for(_1="done", _2="parked")
    assert began == [("1", 1), ("2", 1)]
    assert machine.began == [("3", 1), ("1", 2)]


async def test_a_run_that_is_woken_too_early_waits_on(sqlite_url):
    async with at_work(sqlite_url) as machine:
        machine.waits = {"1"}
        await machine.ask("1")
        await machine.wait_for(_1="parked")
        later = "UPDATE runs SET wake_at = :at WHERE id = '1'"
        await machine.database.write(lambda c: c.execute(text(later), {"at": time.time() - 1}))
        machine.queue.ring()
        async with asyncio.timeout(PATIENCE):
            while await machine.runs.moved_at("1") is None and not await _parked_anew(machine):
                await asyncio.sleep(0.01)
        machine.decided.add("1")
        await machine.steers.insert("1", "key", kind="go", via="comment", by="mara", by_id=3)
        await machine.wait_for(_1="done")
    assert machine.began == [("1", 1), ("1", 2)]


async def _parked_anew(machine):
    query = text("SELECT state = 'parked' AND wake_at IS NULL FROM runs")
    return await machine.database.read(lambda c: c.scalar(query))


@pytest.mark.parametrize("graceful", [True, False], ids=["stopped", "killed between two writes"])
async def test_what_was_at_work_goes_on_after_a_restart(sqlite_url, graceful):
    async with at_work(sqlite_url) as machine:
        machine.hold.clear()
        for ident in ("1", "2"):
            await machine.ask(ident)
        await machine.wait_until(lambda: len(machine.began) == 2)
        if not graceful:  # it has a place, and the engine has not heard of it
            await machine.ask("3")
            machine.engine.pool.gate.clear()
            row = "UPDATE runs SET state = 'running', holder = 'one' WHERE id = '3'"
            await machine.database.write(lambda c: c.execute(text(row)))
    async with at_work(sqlite_url) as machine:
        await machine.wait_for(_1="done", _2="done", **({} if graceful else {"_3": "done"}))


@pytest.mark.parametrize(
    "trouble",
    [TransientError("could not resolve host"), OSError(errno.ENOSPC, "No space left on device")],
    ids=["lost DNS", "full disk"],
)
async def test_what_a_run_needs_is_away_and_it_waits_and_goes_on(sqlite_url, monkeypatch, trouble):
    monkeypatch.setattr("app.runs.durable_steps.STEP_ATTEMPTS", 2)
    monkeypatch.setattr("app.store.runs.runs.FIRST_PAUSE", 0.0)
    async with at_work(sqlite_url) as machine:
        machine.away = [trouble]
        await machine.ask("1")
        async with machine.no_pause_between_looks():
            await machine.wait_until(lambda: len(machine.began) > 4)  # put off more than once
            machine.away.clear()
            await machine.wait_for(_1="done")


async def test_a_run_that_was_put_off_tries_once_each_time_that_it_wakes(sqlite_url, monkeypatch):
    """An answer that breaks off is paid each time, and a trouble of hours has many times."""
    monkeypatch.setattr("app.runs.durable_steps.STEP_ATTEMPTS", 4)
    async with at_work(sqlite_url) as machine:
        machine.away = [TransientError("the answer broke off before its end")]
        await machine.ask("1")
        for attempts in (4, 5, 6):
            await machine.wait_for(_1="parked")
            assert len(machine.began) == attempts
            row = text("UPDATE runs SET state = 'queued', wake_at = NULL WHERE id = '1'")
            await machine.database.write(lambda c, row=row: c.execute(row))
            machine.queue.ring()
            await machine.wait_until(lambda a=attempts: len(machine.began) > a)


async def test_after_a_day_without_it_the_run_gives_up(database):
    runs = Runs(database)
    await runs.create("1", build_resolve_issue())
    assert await runs.put_off("1") == 60
    for seconds, pause in ((300, 300), (5000, 900), (90_000, None)):
        row = f"UPDATE runs SET state = 'running', put_off_at = {time.time() - seconds}"
        await database.write(lambda c, row=row: c.execute(text(row)))
        found = await runs.put_off("1")
        assert found == pause if pause is None else found == pytest.approx(pause, abs=5)
    await runs.record_stage("1", "stage/next/1")  # it got somewhere
    assert await runs.put_off("1") == 60
    assert await runs.put_off("a command") is None


async def test_what_a_newer_version_asked_for_is_left_to_its_workers(store_url):
    async with at_work(store_url) as machine:
        newer = build_resolve_issue(number=1).model_copy(update={"kind": "of_tomorrow"})
        await machine.ask("1", request=newer)
        await machine.ask("2")
        await machine.wait_for(_1="queued", _2="done")
        assert machine.began == [("2", 1)]
        known = text("UPDATE runs SET kind = 'resolve_issue'")
        await machine.database.write(lambda c: c.execute(known))
        machine.queue.ring()
        await machine.wait_for(_1="done")
