"""Runs go on where they stood, after a drain as after a kill."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from agents.errors import TransientError
from tests.app.runs.engine.conftest import NEVER, Failing, Recorder, patience, wait_until
from tests.patience import PATIENCE


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

    engine = await start(store_url, conduct)
    await engine.enqueue("talks", "a", {"talks": True})
    await engine.enqueue("works", "b", {"talks": False})
    await wait_until(lambda: len(begun) == 2)
    engine.pool.gate.clear()
    await engine.enqueue("waits", "c", {"talks": False})  # at the gate
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


async def test_a_second_drain_waits_for_nothing(start, sqlite_url, monkeypatch):
    monkeypatch.setattr("app.runs.engine.LET_GO_SECONDS", NEVER)
    engine = await start(sqlite_url, Recorder())
    await engine.drain(0)
    async with patience():
        await engine.drain(NEVER)


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
                Path(__file__).parents[1] / "engine_process.py",
                store_url,
                tmp_path,
                "one",
            ],
            env={"PYTHONPATH": str(Path(__file__).parents[4])},
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
