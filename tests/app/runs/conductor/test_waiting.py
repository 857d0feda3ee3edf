"""A run waits for people: through restarts, and until it is answered or given up."""

from __future__ import annotations

import asyncio

import pytest

from agents.errors import TransientError
from app.runs.wakeup import WakeupPoller
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from handlers.access.issues import Refusal
from tests.app.runs.conductor.conftest import make_asking, state
from tests.patience import PATIENCE


async def test_a_run_waits_for_a_yes_and_ends(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    assert await state(machine) == "parked"
    [given] = machine.given
    assert (given.rested, given.closed) == (1, 0)
    assert given.ports.reporter.list_events() == [
        ("stage_started", "work/1"),
        ("report_parked", "work/1"),
    ]
    await machine.decide(waiting)
    assert (await machine.end()).text == "approved by mara"
    assert given.ports.reporter.list_events()[2:] == [
        ("stage_started", "work/1"),
        ("stage_finished", "work/1"),
    ]
    assert await state(machine) == "done"


async def test_a_request_that_was_called_back_while_it_waited_does_not_go_on(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    [given] = machine.given
    given.admission = Refusal(rule="label-on", text="Nothing was done: it was taken off before.")
    await machine.decide(waiting)
    outcome = await machine.end()

    assert outcome.kind == "cancelled"  # what it committed stays
    assert "the label was taken off. What waited was not done" in outcome.text
    assert machine.works == [make_asking()]
    assert machine.ends == [outcome]
    assert await state(machine) == "cancelled"


async def test_a_request_that_may_no_longer_be_made_has_failed(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    machine.given[0].admission = Refusal(rule="asker-may-write", text="Nothing was done.")
    await machine.decide(waiting)
    outcome = await machine.end()

    assert outcome.kind == "failed"
    assert "may no longer write" in outcome.text


async def test_nothing_goes_on_while_nobody_can_say_whether_it_may(machine, wish, monkeypatch):
    monkeypatch.setattr("app.runs.lifecycle.LONGEST_PAUSE", 0.0)
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    [given] = machine.given
    admit, faults = given.admit, [TransientError("GitHub answers 502")] * 8

    async def fail_or_admit():
        if faults:
            raise faults.pop()
        return await admit()

    given.admit = fail_or_admit
    await machine.decide(waiting)

    assert (await machine.end()).text == "approved by mara"
    assert not faults


async def test_a_waiting_run_is_neither_lost_nor_forgotten(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert await state(machine) == "parked"
    await machine.decide(waiting, "denied")
    assert (await machine.end()).text == "denied by mara"


async def test_a_restart_asks_nobody_anew_and_tells_nobody_what_they_know(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    for _ in range(3):
        await machine.engine.drain(0)
        await machine.restart()
        assert await machine.wait_for_parked() == waiting
        assert machine.given[-1].ports.reporter.calls == []
    await machine.decide(waiting)
    assert (await machine.end()).text == "approved by mara"
    assert machine.given[-1].ports.reporter.list_events() == [
        ("stage_started", "work/1"),
        ("report_parked", "work/1"),
        ("stage_started", "work/1"),
        ("stage_finished", "work/1"),
    ]


async def test_a_decision_made_while_no_process_ran_is_found(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.engine.drain(0)
    await machine.approvals.decide(
        waiting.id, verdict="approved", by="ada", by_id=None, via="terminal"
    )
    await machine.restart()
    assert (await machine.end()).text == "approved by ada"


async def test_another_process_decides_and_the_run_is_woken(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waking = asyncio.create_task(
        WakeupPoller(machine.approvals, machine.engine.wake, look_seconds=0.05).run()
    )
    waiting = await machine.wait_for_parked()
    other = Database(machine.url)
    await StoredApprovals(other).decide(
        waiting.id, verdict="approved", by="ada", by_id=None, via="terminal"
    )
    other.close()
    assert (await machine.end()).text == "approved by ada"
    waking.cancel()


async def test_what_nobody_answers_ends_the_run_with_a_report(machine, wish):
    machine.works = [make_asking(days=0.5 / 86_400)]
    await machine.queue.submit("0001-run", wish)
    waking = asyncio.create_task(
        WakeupPoller(machine.approvals, machine.engine.wake, look_seconds=0.05).run()
    )
    outcome = await machine.end()
    said = "Nobody answered. `/bot retry from work/1` goes on where it stopped."
    assert (outcome.kind, outcome.text) == ("failed", said)
    assert machine.ends == [outcome]
    waking.cancel()


async def test_a_file_that_cannot_be_put_away_stops_no_run(machine, wish):
    async def refuse():
        raise OSError("busy")

    equip = machine.equip

    async def stubborn(*args):
        given = await equip(*args)
        given.rest = refuse
        return given

    machine.replace(equip=stubborn)
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.decide(await machine.wait_for_parked())
    assert (await machine.end()).text == "approved by mara"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ("UPDATE approvals SET arguments = '{'", "is damaged"),
        ("UPDATE approvals SET binding = 'x'", "is damaged"),
        ("DELETE FROM approvals", None),
        ("UPDATE workflow_input SET inputs = '{' WHERE true", "mistake of its own"),
        ("UPDATE operation_outputs SET output = '{' WHERE function_id = 1", "mistake of its own"),
        ("UPDATE operation_outputs SET output = '{' WHERE function_id = 2", "mistake of its own"),
        ("UPDATE operation_outputs SET function_name = 'a/1' WHERE true", "mistake of its own"),
    ],
    ids=[
        "the call of the approval",
        "the binding of the approval",
        "no approval at all",
        "the request",
        "the admission",
        "the record of the stage",
        "the order of steps",
    ],
)
async def test_a_history_that_broke_while_waiting_ends_the_run_and_frees_the_lane(
    machine, wish, spoil, says
):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.queue.submit("0002-run", wish)
    await machine.engine.drain(0)
    await machine.approvals.decide(
        waiting.id, verdict="approved", by="mara", by_id=3, via="comment"
    )
    await machine.sql(f"{spoil} AND workflow_uuid = '0001-run'" if "WHERE" in spoil else spoil)
    await machine.restart()
    if says is None:  # it is asked anew, and waits: nobody's yes is on record
        assert (await machine.wait_for_parked()).asking == make_asking()
        await machine.decide(await machine.wait_for_parked(), "denied")
        assert (await machine.end()).text == "denied by mara"
        return
    async with asyncio.timeout(PATIENCE):
        while (outcome := await machine.runs.outcome("0001-run")) is None:
            await machine.conductor.end_lost(machine.engine.find_ended)
            await asyncio.sleep(0.02)
    assert outcome.kind == "failed"
    assert says in outcome.text
    assert outcome in machine.ends
    assert (await machine.end("0002-run")).text == "done"
    assert await machine.approvals.list_waiting() == []
