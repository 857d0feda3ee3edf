"""A run that is cancelled ends as cancelled, wherever it stands."""

from __future__ import annotations

import asyncio

from agents.run import Outcome
from handlers.access.issues import Refusal
from tests.app.runs.conductor.conftest import make_asking, state
from tests.patience import PATIENCE


async def cancel(machine, run_id="0001-run", via="comment"):
    assert await machine.steers.insert(run_id, "key", kind="cancel", via=via, by="mara", by_id=3)
    await machine.look()


async def test_a_run_that_is_cancelled_in_the_queue_never_begins(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.queue.submit("0002-run", wish)
    await cancel(machine, "0002-run", via="label")
    machine.admission = Refusal(rule="label-on", text="It was taken off.")
    await machine.decide(waiting)

    outcome = await machine.end("0002-run")
    assert outcome.kind == "cancelled"
    assert outcome.text == "`mara` took the label off before the work began."
    assert await state(machine, "0002-run") == "cancelled"


async def test_a_run_that_is_cancelled_while_it_works_stops_at_once(machine, wish):
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            stopped.set()

    machine.works = [work]
    await machine.queue.submit("0001-run", wish)
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        await cancel(machine)
        await stopped.wait()
    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` cancelled the run")
    assert machine.ends == [outcome]


async def test_a_run_that_is_cancelled_while_it_waits_ends_as_cancelled(machine, wish):
    """Also when the label, which was taken off for it, makes the request stand no longer."""
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    machine.given[0].admission = Refusal(rule="label-on", text="It was taken off.")
    await cancel(machine, via="label")

    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` took the label off")
    assert (await machine.approvals.get(waiting.id)).state == "void"


async def test_a_cancel_between_two_processes_does_not_mix_up_the_history(machine, wish):
    """The access check of the first process is on record, and stays what it was."""
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await machine.engine.drain(0)
    await cancel(machine)
    await machine.restart()

    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` cancelled the run")


async def test_a_run_that_was_cancelled_stays_so(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await cancel(machine)
    outcome = await machine.end()
    await machine.queue.submit("0001-run", wish)  # its label's delivery comes once more

    assert Outcome.model_validate(await machine.engine.result("0001-run")) == outcome
    assert (
        await machine.steers.insert("0001-run", "late", kind="go", via="comment", by="x") is False
    )
