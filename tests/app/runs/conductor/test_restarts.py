"""Runs that a process left unfinished, or that the engine gave up, end where people see it."""

from __future__ import annotations

import asyncio

import pytest

from agents.run import Outcome
from app.runs.conductor import MOST_STARTS
from app.runs.reaper import Reaper
from tests.patience import PATIENCE


async def test_a_history_that_newer_code_cannot_follow_is_shown_as_failed(machine, wish):
    asked = asyncio.Event()

    async def hang():
        asked.set()
        await asyncio.sleep(60)

    machine.works = [hang]
    await machine.queue.submit("0001-run", wish)
    await machine.queue.submit("0002-run", wish)
    await asyncio.wait_for(asked.wait(), PATIENCE)
    await machine.engine.drain(0)
    await machine.sql(
        "UPDATE operation_outputs SET function_name = 'access/0' WHERE function_name = 'access/1'"
    )
    await machine.restart()
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert machine.ends[0] == outcome
    assert (await machine.end("0002-run")).text == "done"


async def test_a_run_that_ended_just_before_the_kill_stays_as_it_ended(machine, wish):
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    await machine.engine.result("0001-run")
    await machine.engine.drain(0)
    await machine.sql("UPDATE workflow_status SET status = 'PENDING', completed_at = NULL")
    await machine.restart()
    async with asyncio.timeout(PATIENCE):
        again = await machine.engine.result("0001-run")
    assert Outcome.model_validate(again) == outcome
    assert len(machine.given) == 1, "the report was touched again"


async def queue_behind_another(machine, wish):
    """Queue a run while another holds its lane; return the event that lets that one end."""
    begun, over = asyncio.Event(), asyncio.Event()

    async def hold():
        begun.set()
        await over.wait()
        return "held"

    machine.works = [hold]
    await machine.queue.submit("0001-run", wish)
    await asyncio.wait_for(begun.wait(), PATIENCE)
    await machine.queue.submit("0002-run", wish)
    return over


async def lose(machine, wish, spoil):
    """Have the engine give up a run that it does not hand to anybody any more."""
    over = await queue_behind_another(machine, wish)
    await machine.sql(spoil)
    over.set()
    await machine.end("0001-run")
    async with asyncio.timeout(PATIENCE):
        while not await machine.engine.find_ended(["0002-run"]):
            await asyncio.sleep(0.02)
    assert await machine.runs.outcome("0002-run") is None


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            "UPDATE workflow_status SET status = 'CANCELLED' WHERE workflow_uuid = '0002-run'",
            "cancelled by the operator",
        ),
        ("UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '0002-run'", "`0002-run`"),
    ],
    ids=["cancelled", "a request that cannot be read"],
)
async def test_what_the_engine_gave_up_is_shown_as_failed(machine, wish, spoil, says):
    await lose(machine, wish, spoil)
    await machine.conductor.end_lost(machine.engine.find_ended)
    outcome = await machine.end("0002-run")
    assert outcome.kind == "failed"
    assert says in outcome.text
    assert machine.ends[-1] == outcome
    before = len(machine.given)
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert len(machine.given) == before


async def test_a_lost_run_whose_report_fails_is_ended_all_the_same(machine, wish):
    await lose(machine, wish, "UPDATE workflow_input SET inputs = '{' WHERE inputs LIKE '%0002%'")
    await machine.sql("UPDATE runs SET request = '{' WHERE id = '0002-run'")
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert (await machine.end("0002-run")).kind == "failed"


async def test_upkeep_finds_what_was_lost_by_itself(machine, wish):
    keeping = asyncio.create_task(Reaper(machine.conductor, machine.engine, look_seconds=0.1).run())
    over = await queue_behind_another(machine, wish)
    await machine.sql("UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '0002-run'")
    over.set()
    assert (await machine.end("0002-run")).kind == "failed"
    keeping.cancel()


async def test_a_run_that_brings_the_process_down_again_and_again_is_put_aside(machine, wish):
    await machine.runs.create("0001-run", wish)
    for _ in range(MOST_STARTS):
        await machine.runs.record_start("0001-run")
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert "stopped again and again" in outcome.text
    assert machine.ends == [outcome]
    assert all(given.rested == 0 for given in machine.given)
    await machine.queue.submit("0002-run", wish)
    assert (await machine.end("0002-run")).text == "done"
