"""SIGTERM in the middle of a run: the server drains and exits well, and the next one goes on."""

from __future__ import annotations

import asyncio

from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.conftest import SCRIPT


def in_a_model_call(place, stop):
    async def hook(asked):
        if asked.number == 5:
            stop()
            await asyncio.sleep(1.0)  # the answer comes while the server drains

    place.model.on_request(hook)


def in_a_command(place, stop):
    async def watch():
        await place.wait_until(lambda: any(place.server.data.glob("runs/*/*/notes.txt")))
        stop()

    return asyncio.create_task(watch())


def in_the_push(place, stop):
    async def hook(_request):
        stop()
        await asyncio.sleep(0.5)

    place.github.faults.call_before("POST", "git-receive-pack", hook)


MOMENTS = [in_a_model_call, in_a_command, in_the_push]
"""In the order in which a run comes to them."""


async def test_a_server_that_is_stopped_goes_on_after_its_restart(make_place):
    async with make_place(script=SCRIPT) as place:
        for number, moment in enumerate(MOMENTS):
            stopping = []
            watching = moment(
                place, lambda to=stopping: to.append(asyncio.create_task(place.server.stop()))
            )
            if number:
                await place.server.start(place.app)
            else:
                await place.label()
            await place.wait_until(lambda to=stopping: to)
            await stopping[0]

            assert place.server.process.returncode == 0
            assert watching is None or watching.done()
            log = place.server.log.read_text()
            assert log.count("draining") == number + 1
            assert "Traceback" not in log
            assert "run ended" not in log
            done_since = log.rpartition("draining")[2].count("step done")
            assert done_since <= 1, "the step at work came to its end, and another one began"

        await place.server.start(place.app)
        outcome = await place.wait_for_end()
        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 2
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert await answers(place) == len(place.model.requests), "an answer was paid twice"


async def answers(place):
    """Return how many answers the run's journal holds."""
    database = place.database()
    run_id, _ = await Runs(database).latest()
    return (await StoredJournal(database, run_id).sum_usage())[2]
