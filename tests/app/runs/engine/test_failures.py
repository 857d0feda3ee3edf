"""Whatever goes wrong in a step or with a run ends that run and frees its lane."""

from __future__ import annotations

import asyncio
import base64
import pickle
from pathlib import Path

import pytest

from agents.errors import TransientError
from app.runs.durable_steps import STEP_ATTEMPTS, StepBroken
from tests.app.runs.engine.conftest import Failing, Recorder, change, patience, wait_until


async def test_a_transient_error_is_tried_again(start, sqlite_url):
    failing = Failing(TransientError("busy"), TransientError("busy", retry_after=0.3))
    engine = await start(sqlite_url, failing)
    await engine.enqueue("run", "lane", {})
    async with patience():
        assert await engine.result("run") == "done"
    _, second, third = failing.tries
    assert third - second >= 0.3


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
    record = Recorder(held={"stage/work/1"})
    engine = await start(store_url, record)
    for run_id in ("1", "2", "3"):
        await engine.enqueue(run_id, "lane", {"lane": "lane"})
    spoil = "UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '2'"
    assert change(store_url, spoil) == 1
    record.held.clear()
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
    record = Recorder(held={"stage/work/1"})
    engine = await start(sqlite_url, record)
    for run_id in ("1", "2"):
        await engine.enqueue(run_id, "lane", {"lane": "lane"})
    trap = base64.b64encode(pickle.dumps(Trap(tmp_path / "sprung"))).decode()
    for spoil in (
        "UPDATE workflow_input SET inputs = :trap WHERE workflow_uuid = '2'",
        "UPDATE workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = '2'",
    ):
        assert change(sqlite_url, spoil, trap=trap) == 1
    record.held.clear()
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
    record = Recorder("stage/work/1", "stage/work/2", held={"stage/work/2"})
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
