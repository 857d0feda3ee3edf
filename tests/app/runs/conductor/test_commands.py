"""Commands are carried out once, beside the runs that they are about."""

from __future__ import annotations

import asyncio

from agents.errors import TransientError
from agents.requests import command_of
from app.store.runs.runs import count_by_state
from tests.app.runs.conductor.conftest import make_asking
from tests.fakes.requests import build_command
from tests.patience import PATIENCE

APPROVE = build_command(verb="approve", approval="k3f9x2")


async def test_a_command_is_carried_out_once_and_is_no_run(machine):
    await machine.queue.submit("0001-run", APPROVE)
    await machine.queue.submit("0001-run", APPROVE)
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-run") == {"decided": "approve"}
    assert machine.obeyed == [APPROVE]
    assert await machine.database.read(count_by_state) == {}


async def test_a_command_does_not_wait_for_the_run_it_is_about(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await machine.queue.submit("0002-run", APPROVE)
    async with asyncio.timeout(PATIENCE):
        await machine.engine.result("0002-run")


async def test_a_command_outlives_a_github_that_is_away_for_long(machine, monkeypatch):
    monkeypatch.setattr("app.runs.conductor.LONGEST_PAUSE", 0.01)
    machine.disobeying = [TransientError("GitHub answers 502")] * 13
    await machine.queue.submit("0001-run", APPROVE)
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-run") == {"decided": "approve"}
    assert len(machine.obeyed) == 14


async def test_a_command_may_ask_for_a_run(machine, wish):
    async def retry(command, ident):
        await machine.queue.submit(f"{ident}-again", wish)
        await machine.queue.submit(f"{ident}-again", wish)
        return {"asked": f"{ident}-again"}

    machine.replace(obey=retry)
    await machine.queue.submit("0001-c", APPROVE)
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-c") == {"asked": "0001-c-again"}
    assert (await machine.end("0001-c-again")).text == "done"
    assert await machine.database.read(count_by_state) == {"done": 1}


async def test_a_command_of_a_newer_version_waits_for_who_knows_it(machine, monkeypatch):
    monkeypatch.setattr("app.runs.conductor.LONGEST_PAUSE", 0.01)
    asked = []

    def learn(value):
        asked.append(value)
        return command_of(value if len(asked) < 3 else value | {"verb": "approve"})

    monkeypatch.setattr("app.runs.conductor.command_of", learn)
    newer = APPROVE.model_copy(update={"verb": "of_tomorrow"})
    await machine.queue.submit("0001-run", newer)
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-run") == {"decided": "approve"}
    assert [each["verb"] for each in asked] == ["of_tomorrow"] * 3
    assert machine.obeyed == [APPROVE]
