"""The engine on a real DBOS: once per run, one at a time in a lane, going on after anything."""

from __future__ import annotations

import asyncio
import base64
import logging
import pickle
import subprocess
import sys
import time
from collections import Counter
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from agents.errors import ConfigError, TransientError
from app.runs.durable_steps import STEP_ATTEMPTS, StepBroken, StepGivenUp
from app.runs.engine import Engine
from tests.patience import PATIENCE

NEVER = 10 * PATIENCE


@pytest.fixture
async def start():
    """Launch engines one after another; what is still up at the end is let go."""
    running = []

    async def launch(url, conduct, **more):
        settings = {"executor": "one", "stages_at_once": 4, "retry_seconds": 0.01, **more}
        engine = Engine(url, **settings)
        await engine.launch(conduct)
        running.append(engine)
        return engine

    yield launch
    for engine in running:
        await engine.drain(0)


@asynccontextmanager
async def patience():
    async with asyncio.timeout(PATIENCE):
        yield


async def wait_until(true):
    async with patience():
        while not true():
            await asyncio.sleep(0.01)


def change(url, statement, **values):
    """Change a row of the engine's tables behind its back."""
    engine = create_engine(url)
    if engine.dialect.name == "postgresql":
        statement = statement.replace("UPDATE ", "UPDATE dbos.")
    used = {name: value for name, value in values.items() if f":{name}" in statement}
    with engine.begin() as connection:
        changed = connection.execute(text(statement), used).rowcount
    engine.dispose()
    return changed


class Recorder:
    """Conducts runs of some steps, and remembers what began when."""

    def __init__(self, *steps, seconds=0.0):
        self.steps = steps or ("stage/work/1",)
        self.seconds = seconds
        self.began = []
        self.now = Counter()
        self.most = Counter()
        self.together = 0

    async def __call__(self, run_id, request, steps):
        for name in self.steps:
            await steps.step(name, lambda name=name: self.work(run_id, request, name))
        return run_id

    async def work(self, run_id, request, name):
        lane = request["lane"]
        self.began.append((run_id, name))
        self.now[lane] += 1
        self.most[lane] = max(self.most[lane], self.now[lane])
        self.together = max(self.together, self.now.total())
        await asyncio.sleep(self.seconds)
        self.now[lane] -= 1
        return name


# --- the queue ----------------------------------------------------------------------------------


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


async def test_a_lane_has_one_run_at_a_time_and_lanes_do_not_wait_for_each_other(start, store_url):
    record = Recorder(seconds=0.05)
    engine = await start(store_url, record, stages_at_once=100)
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


async def test_stages_share_the_places_and_the_short_steps_do_not(start, sqlite_url):
    stages = Recorder("stage/work/1", seconds=0.1)
    checks = Recorder("access/1", seconds=0.1)

    async def conduct(run_id, request, steps):
        await checks(run_id, request, steps)
        await stages(run_id, request, steps)

    engine = await start(sqlite_url, conduct, stages_at_once=2)
    for number in range(6):
        await engine.enqueue(f"{number}", f"{number}", {"lane": f"{number}"})
    async with patience():
        for number in range(6):
            await engine.result(f"{number}")
    assert stages.together == 2
    assert checks.together > 2


async def test_a_second_process_of_the_same_name_is_refused(start, store_url):
    await start(store_url, Recorder())
    second = Engine(store_url, executor="one", stages_at_once=1)
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


# --- what goes wrong in a step ------------------------------------------------------------------


class Failing:
    """Conducts a run with one step that raises these errors first, and keeps what came of it."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.tries = []
        self.raised = None

    async def __call__(self, run_id, request, steps):
        try:
            return await steps.step("stage/work/1", self.work)
        except (StepBroken, StepGivenUp) as error:
            self.raised = error
            return f"{type(error).__name__}: {error}"

    async def work(self):
        self.tries.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return "done"


async def test_a_transient_error_is_tried_again(start, sqlite_url):
    failing = Failing(TransientError("busy"), TransientError("busy", retry_after=0.3))
    engine = await start(sqlite_url, failing)
    await engine.enqueue("run", "lane", {})
    async with patience():
        assert await engine.result("run") == "done"
    first, second, third = failing.tries
    assert second - first < 0.2
    assert 0.3 <= third - second < 0.6


async def test_a_transient_error_that_stays_gives_up_with_its_reason(start, store_url):
    failing = Failing(*[TransientError(f"busy {n}") for n in range(1, 10)])
    engine = await start(store_url, failing)
    await engine.enqueue("run", "lane", {})
    async with patience():
        assert await engine.result("run") == f"StepGivenUp: busy {STEP_ATTEMPTS}"
    assert len(failing.tries) == STEP_ATTEMPTS


async def test_a_mistake_of_ours_ends_the_step_at_once_and_frees_the_lane(start, store_url):
    failing = Failing(KeyError("secret"))
    engine = await start(store_url, failing)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    async with patience():
        assert await engine.result("1") == "StepBroken: KeyError"
        assert await engine.result("2") == "done"
    assert len(failing.tries) == 2


async def test_steps_inside_steps_are_refused(start, sqlite_url):
    async def conduct(run_id, request, steps):
        async def inner():
            return 1

        async def outer():
            return await steps.step("stage/inner/1", inner)

        with pytest.raises(StepBroken, match="RuntimeError"):
            await steps.step("stage/outer/1", outer)
        return "refused"

    engine = await start(sqlite_url, conduct)
    await engine.enqueue("run", "lane", {})
    async with patience():
        assert await engine.result("run") == "refused"


# --- what goes wrong with a run -----------------------------------------------------------------


async def test_a_run_that_cannot_be_conducted_is_known_as_ended_and_frees_the_lane(
    start, store_url
):
    async def conduct(run_id, request, steps):
        if run_id == "1":
            raise ValueError("no")
        return run_id

    engine = await start(store_url, conduct)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    async with patience():
        assert await engine.result("2") == "2"
        with pytest.raises(StepBroken, match="ValueError"):
            await engine.result("1")
    assert await engine.find_ended(["1", "2", "3"]) == {"1": "ERROR", "2": "SUCCESS"}


async def test_a_request_that_cannot_be_read_ends_its_run_and_frees_the_lane(start, store_url):
    record = Recorder(seconds=0.5)
    engine = await start(store_url, record)
    for run_id in ("1", "2", "3"):
        await engine.enqueue(run_id, "lane", {"lane": "lane"})
    spoil = "UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '2'"
    assert change(store_url, spoil) == 1
    async with patience():
        assert await engine.result("3") == "3"
    assert await engine.find_ended(["2"]) == {"2": "ERROR"}
    assert [run_id for run_id, _ in record.began] == ["1", "3"]


class Trap:
    """A pickle of it touches a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


async def test_a_stored_value_is_never_executed(start, sqlite_url, tmp_path):
    record = Recorder(seconds=0.3)
    engine = await start(sqlite_url, record)
    for run_id in ("1", "2"):
        await engine.enqueue(run_id, "lane", {"lane": "lane"})
    trap = base64.b64encode(pickle.dumps(Trap(tmp_path / "sprung"))).decode()
    for spoil in (
        "UPDATE workflow_input SET inputs = :trap WHERE workflow_uuid = '2'",
        "UPDATE workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = '2'",
    ):
        assert change(sqlite_url, spoil, trap=trap) == 1
    async with patience():
        while not await engine.find_ended(["2"]):
            await asyncio.sleep(0.05)
    assert await engine.find_ended(["2"]) == {"2": "ERROR"}
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE operation_outputs SET output = '{' WHERE function_name = 'stage/work/1'",
        "UPDATE operation_outputs SET function_name = 'stage/old/1'",
    ],
    ids=["cannot be decoded", "does not fit the pipeline"],
)
async def test_a_history_that_cannot_be_followed_is_an_error_that_can_be_caught(
    start, store_url, spoil
):
    record = Recorder("stage/work/1", "stage/work/2", seconds=0.3)
    engine = await start(store_url, record)
    await engine.enqueue("1", "lane", {"lane": "lane"})
    await engine.enqueue("2", "lane", {"lane": "lane"})
    await wait_until(lambda: len(record.began) == 2)
    await engine.drain(0)
    assert change(store_url, spoil) == 1

    async def conduct(run_id, request, steps):
        try:
            return await Recorder(*record.steps)(run_id, request, steps)
        except Exception as error:  # noqa: BLE001 as the runner does
            return f"caught {type(error).__name__}"

    engine = await start(store_url, conduct)
    async with patience():
        assert (await engine.result("1")).startswith("caught ")
        assert await engine.result("2") == "2"


# --- waiting for people -------------------------------------------------------------------------


class Deciding:
    """Conducts runs of two stages with a wait between, which is over once it is decided."""

    def __init__(self):
        self.decided = set()
        self.looks = Counter()
        self.stages = []
        self.failing = []

    async def __call__(self, run_id, request, steps):
        async def stage(number):
            self.stages.append((run_id, number))

        async def is_over():
            self.looks[run_id] += 1
            if self.failing:
                raise self.failing.pop()
            return run_id in self.decided

        await steps.step("stage/a/1", lambda: stage(1))
        try:
            await steps.wait("approval/a/1/1", is_over)
        except StepBroken as error:
            return f"StepBroken: {error}"
        await steps.step("stage/a/1~1", lambda: stage(2))
        return run_id


async def test_a_waiting_run_holds_no_place_and_goes_on_when_it_is_woken(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding, stages_at_once=1)
    for run_id in ("1", "2", "3"):
        await engine.enqueue(run_id, run_id, {})
    await wait_until(lambda: len(engine.pool.waiting) == 3)
    assert engine.pool.working == set()
    deciding.decided.add("2")
    engine.wake("2")
    engine.wake("unknown")
    async with patience():
        assert await engine.result("2") == "2"
    assert set(engine.pool.waiting) == {"1", "3"}
    assert deciding.looks == {"1": 1, "2": 2, "3": 1}


async def test_a_run_that_is_woken_too_early_goes_on_waiting(start, sqlite_url):
    deciding = Deciding()
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    engine.wake("1")
    await wait_until(lambda: deciding.looks["1"] == 2)
    await asyncio.sleep(0.1)
    assert set(engine.pool.waiting) == {"1"}


async def test_nobody_has_to_wake_a_run_that_looks_now_and_then(start, sqlite_url):
    deciding = Deciding()
    engine = await start(sqlite_url, deciding, look_seconds=0.1)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: deciding.looks["1"] > 2)
    deciding.decided.add("1")
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_drain_leaves_waiting_runs_as_if_nothing_had_been(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    for _ in range(3):
        await wait_until(engine.pool.waiting.keys().__len__)
        async with patience():
            await engine.drain(NEVER)
        engine = await start(store_url, deciding)
    await wait_until(lambda: engine.pool.waiting)
    deciding.decided |= {"1", "2"}
    engine.wake("1")
    async with patience():
        assert await engine.result("1") == "1"
        assert await engine.result("2") == "2"
    assert deciding.stages == [("1", 1), ("1", 2), ("2", 1), ("2", 2)]


async def test_what_was_decided_once_is_not_asked_again(start, store_url):
    deciding = Deciding()
    deciding.decided.add("1")
    second = Recorder("stage/b/1", seconds=60)

    async def conduct(run_id, request, steps):
        await deciding(run_id, request, steps)
        return await second(run_id, {"lane": "a"}, steps)

    engine = await start(store_url, conduct)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: second.began)
    await engine.drain(0)
    deciding.decided.clear()
    second.seconds = 0
    engine = await start(store_url, conduct)
    async with patience():
        assert await engine.result("1") == "1"
    assert deciding.looks == {"1": 1}
    assert deciding.stages == [("1", 1), ("1", 2)]


async def test_a_decision_during_the_shutdown_is_found_after_it(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    engine.pool.gate.clear()
    deciding.decided.add("1")
    engine.wake("1")
    await engine.drain(1)
    assert deciding.stages == [("1", 1)]
    engine = await start(store_url, deciding)
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_database_that_is_away_ends_no_waiting(start, sqlite_url):
    deciding = Deciding()
    deciding.failing = [TransientError("The database is away")]
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: deciding.looks["1"] == 1)
    deciding.decided.add("1")
    engine.wake("1")
    async with patience():
        assert await engine.result("1") == "1"


async def test_a_mistake_of_ours_while_waiting_ends_it_and_frees_the_lane(start, sqlite_url):
    deciding = Deciding()
    deciding.failing = [KeyError("secret")]
    deciding.decided.add("2")
    engine = await start(sqlite_url, deciding)
    await engine.enqueue("1", "lane", {})
    await engine.enqueue("2", "lane", {})
    async with patience():
        assert await engine.result("1") == "StepBroken: KeyError"
        assert await engine.result("2") == "2"


async def test_any_number_of_restarts_is_survived(start, store_url):
    deciding = Deciding()
    engine = await start(store_url, deciding)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: engine.pool.waiting)
    await engine.drain(0)
    many = "UPDATE workflow_status SET recovery_attempts = 5000 WHERE workflow_uuid = '1'"
    assert change(store_url, many) == 1
    deciding.decided.add("1")
    engine = await start(store_url, deciding)
    async with patience():
        assert await engine.result("1") == "1"


# --- shutdown and restart -----------------------------------------------------------------------


async def test_a_drain_waits_for_steps_lets_boundaries_go_and_begins_nothing(start, store_url):
    begun, finished = [], []

    async def conduct(run_id, request, steps):
        async def first():
            begun.append((run_id, 1))
            if request["talks"]:
                while True:
                    await steps.boundary()
                    await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)
            finished.append((run_id, 1))
            return 1

        async def second():
            begun.append((run_id, 2))
            return 2

        return [await steps.step("stage/a/1", first), await steps.step("stage/b/1", second)]

    engine = await start(store_url, conduct, stages_at_once=2)
    await engine.enqueue("talks", "a", {"talks": True})
    await engine.enqueue("works", "b", {"talks": False})
    await wait_until(lambda: len(begun) == 2)
    await engine.enqueue("waits", "c", {"talks": False})  # for a place, then at the gate
    await wait_until(lambda: len(engine._conducting) == 3)
    async with patience():
        await engine.drain(NEVER)
    assert sorted(begun) == [("talks", 1), ("works", 1)]
    assert finished == [("works", 1)]

    begun.clear()

    async def conduct_again(run_id, request, steps):
        return await conduct(run_id, {"talks": False}, steps)

    engine = await start(store_url, conduct_again)
    async with patience():
        assert await engine.result("works") == [1, 2]
        assert await engine.result("talks") == [1, 2]
        assert await engine.result("waits") == [1, 2]
    assert sorted(begun) == [
        *(("talks", 1), ("talks", 2)),
        *(("waits", 1), ("waits", 2)),
        ("works", 2),
    ]


async def test_a_drain_waits_neither_for_a_retry_nor_longer_than_its_grace(start, sqlite_url):
    patient = Failing(TransientError("later", retry_after=NEVER))
    endless = Recorder(seconds=NEVER)

    async def conduct(run_id, request, steps):
        return await (patient if run_id == "1" else endless)(run_id, request, steps)

    engine = await start(sqlite_url, conduct)
    await engine.enqueue("1", "1", {})
    await wait_until(lambda: patient.tries)
    async with patience():
        await engine.drain(NEVER)

    engine = await start(sqlite_url, conduct)
    async with patience():
        assert await engine.result("1") == "done"
    await engine.enqueue("2", "2", {"lane": "2"})
    await wait_until(lambda: endless.began)
    began = time.monotonic()
    async with patience():
        await engine.drain(0.5)
    assert time.monotonic() - began >= 0.5


async def test_a_run_that_is_let_go_can_still_clean_up_with_threads(start, sqlite_url):
    cleaned = asyncio.Event()

    async def conduct(run_id, request, steps):
        try:
            await steps.step("stage/a/1", lambda: asyncio.sleep(60))
        finally:
            assert await asyncio.to_thread(int, "1") == 1
            cleaned.set()

    engine = await start(sqlite_url, conduct)
    await engine.enqueue("run", "lane", {})
    await wait_until(lambda: engine.pool.working)
    await engine.drain(0)
    assert cleaned.is_set()
    assert await asyncio.to_thread(int, "2") == 2


async def test_after_kill_9_finished_steps_are_not_done_again(store_url, tmp_path):
    (tmp_path / "slow").touch()
    notes = tmp_path / "notes"

    def begin():
        return subprocess.Popen(
            [
                sys.executable,
                Path(__file__).with_name("engine_process.py"),
                store_url,
                tmp_path,
                "one",
            ],
            env={"PYTHONPATH": str(Path(__file__).parents[3])},
            stderr=subprocess.PIPE,
        )

    with begin() as killed:
        await wait_until(lambda: notes.exists() and "begin 2" in notes.read_text())
        killed.kill()
    (tmp_path / "slow").unlink()
    with begin() as again:
        _, errors = await asyncio.to_thread(again.communicate, timeout=PATIENCE)
    assert again.returncode == 0, errors
    lines = notes.read_text().splitlines()
    assert lines[:3] == ["begin 1", "end 1", "begin 2"]
    assert lines[3:] == ["begin 2", "end 2", "begin 3", "end 3", "result [1, 2, 3]"]


# --- retention ----------------------------------------------------------------------------------


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
