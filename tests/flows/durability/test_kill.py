"""kill -9 at fourteen moments of three runs: each ends as if nothing had happened."""

import asyncio
import random
import time
from contextlib import suppress

import pytest

from agents.errors import ConfigError
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.conftest import PATIENCE, SCRIPT, patience

UNSURE = 0.3  # seconds: asked for that short a time ago, an answer may not have arrived


def count_answered(place):
    """Return how many answers the model has given whole."""
    return sum(asked.answered for asked in place.model.requests)


def at_model_request(number):
    """Kill when this answer is asked for, and not there: earlier kills have some asked twice."""

    def plan(place, kill):
        async def hook(_asked):
            if count_answered(place) == number - 1:
                await kill()

        place.model.on_request(hook)

    return plan


def after_model_answer(number):
    def plan(place, kill):
        async def hook(_asked):
            if count_answered(place) == number:
                await wait_for_answers(place, number)
                await kill()

        place.model.on_answered(hook)

    return plan


async def wait_for_answers(place, number):
    """Wait until the journal holds so many answers."""
    database = place.database()
    run_id, _ = await Runs(database).latest()
    async with asyncio.timeout(PATIENCE):
        # A journal reads its run's total once: each look needs one of its own.
        while (await StoredJournal(database, run_id).sum_usage())[2] < number:
            await asyncio.sleep(0.01)


def in_a_command(place, kill):
    async def watch():
        await place.wait_until(lambda: any(place.server.data.glob("runs/*/*/notes.txt")))
        await kill()

    return watch()


def at_a_commit(place, kill):
    async def watch():
        refs = "mirrors/*.git/refs/fettle/runs/*/commits/*"
        await place.wait_until(lambda: any(place.server.data.glob(refs)))
        await kill()

    return watch()


def before_github(method, path):
    def plan(place, kill):
        async def hook(_request):
            await kill(unsure=UNSURE * patience())

        place.github.faults.call_before(method, path, hook)

    return plan


def after_github(method, path):
    def plan(place, kill):
        async def hook(_request):
            await kill(unsure=UNSURE * patience())

        place.github.faults.call_after(method, path, hook)

    return plan


def at_random(seed):
    def plan(place, kill):
        async def kill_later():
            await asyncio.sleep(random.Random(seed).uniform(0.1, 3.0))
            await kill(unsure=UNSURE * patience())

        return kill_later()

    return plan


RUNS = {
    "while it thinks, and writes": {
        "before the first answer": at_model_request(1),
        "after an answer, before its tools": after_model_answer(2),
        "while a submission is made": after_model_answer(3),
        "in a model call of a step": at_model_request(6),
        "before the push": before_github("POST", "git-receive-pack"),
        "after the pull request is opened": after_github("POST", r"/pulls$"),
    },
    "while it works, and tells": {
        "after the progress comment is made": after_github("POST", r"/comments$"),
        "in a command that changes files": in_a_command,
        "at a commit": at_a_commit,
        "after the push": after_github("POST", "git-receive-pack"),
        "before the pull request is opened": before_github("POST", r"/pulls$"),
    },
    "at random moments": {f"at a random moment ({n})": at_random(n) for n in (1, 2, 3)},
}
"""The moments of a run, in the order in which it comes to them."""


@pytest.fixture(scope="module")
def undisturbed():
    """Where the end state of a run without a kill is kept, once it is known."""
    return {}


async def expected_end(make_place, undisturbed):
    if not undisturbed:
        async with make_place(script=SCRIPT) as place:
            await place.label()
            await place.wait_for_end()
            undisturbed.update(await place.end_state())
            undisturbed["answers"] = len(place.model.requests)
    return undisturbed


class Kills:
    """The kills of a run, and what the model was asked before them."""

    def __init__(self, place):
        self.place = place
        self.seen = 0
        self.lost, self.unsure = [], []

    def plan(self, moment):
        """Have the server killed once, at this moment; return what ends when it was."""
        begun, over = asyncio.Event(), asyncio.Event()

        async def kill(unsure=0.0):
            if begun.is_set():
                return
            begun.set()
            before, self.seen = self.seen, len(self.place.model.requests)
            for asked in self.place.model.requests[before : self.seen]:
                if not asked.answered:
                    self.lost.append(asked)
                elif time.time() - asked.at < unsure:
                    self.unsure.append(asked)
            await self.place.server.kill()
            over.set()

        return asyncio.gather(*filter(None, [moment(self.place, kill), over.wait()]))


@pytest.mark.parametrize("moments", RUNS.values(), ids=RUNS.keys())
async def test_kills_change_nothing(make_place, undisturbed, moments):
    expected = dict(await expected_end(make_place, undisturbed))
    answers = expected.pop("answers")
    async with make_place(script=SCRIPT) as place:
        kills, names = Kills(place), []
        for name, moment in moments.items():
            kill = kills.plan(moment)
            if names:
                with suppress(ConfigError):  # the kill may strike before it is ready
                    await place.server.start(place.app)
            else:
                await place.label()
            names.append(name)
            try:
                async with asyncio.timeout(PATIENCE):
                    await kill
            except TimeoutError:
                pytest.fail(f"It did not come to this moment: {name}, after {names[:-1]}")
        await place.server.start(place.app)
        await place.wait_for_end()

        assert await place.end_state() == expected
        repeated = len(place.model.requests) - answers - len(kills.lost)
        assert 0 <= repeated <= len(kills.unsure), "a received answer was asked for again"
