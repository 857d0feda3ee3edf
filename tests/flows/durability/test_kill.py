"""kill -9 at ten kinds of moment: the end is the same as if nothing had happened."""

import asyncio
import random
import time

import pytest

from app.store.database import Database
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.conftest import PATIENCE, patience

UNSURE = 0.3  # seconds: asked for that short a time ago, an answer may not have arrived


def at_model_request(number):
    def plan(place, kill):
        async def hook(asked):
            if asked.number == number:
                await kill()

        place.model.on_request(hook)

    return plan


def after_model_answer(number):
    def plan(place, kill):
        async def hook(asked):
            if asked.number == number:
                await wait_for_answers(place, number)
                await kill()

        place.model.on_answered(hook)

    return plan


async def wait_for_answers(place, number):
    """Wait until the journal holds so many answers."""
    database = Database(place.server.database_url)
    place.databases.append(database)
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


MOMENTS = {
    "before the first answer": at_model_request(1),
    "after an answer, before its tools": after_model_answer(2),
    "while a submission is made": after_model_answer(3),
    "in a model call of a step": at_model_request(6),
    "in a command that changes files": in_a_command,
    "at a commit": at_a_commit,
    "before the push": before_github("POST", "git-receive-pack"),
    "after the push": after_github("POST", "git-receive-pack"),
    "before the pull request is opened": before_github("POST", r"/pulls$"),
    "after the pull request is opened": after_github("POST", r"/pulls$"),
    "after the progress comment is made": after_github("POST", r"/comments$"),
    "at a random moment (1)": at_random(1),
    "at a random moment (2)": at_random(2),
    "at a random moment (3)": at_random(3),
}


@pytest.fixture(scope="module")
def undisturbed():
    """Where the end state of a run without a kill is kept, once it is known."""
    return {}


async def expected_end(make_place, undisturbed):
    if not undisturbed:
        async with make_place() as place:
            await place.label()
            await place.wait_for_end()
            undisturbed.update(await place.end_state())
            undisturbed["answers"] = len(place.model.requests)
    return undisturbed


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
async def test_a_kill_changes_nothing(make_place, undisturbed, moment):
    expected = dict(await expected_end(make_place, undisturbed))
    answers = expected.pop("answers")
    async with make_place() as place:
        killed = asyncio.Event()
        open_questions, unsure_answers = [], []

        async def kill(unsure=0.0):
            for asked in place.model.requests:
                if not asked.answered:
                    open_questions.append(asked)
                elif time.time() - asked.at < unsure:
                    unsure_answers.append(asked)
            await place.server.kill()
            killed.set()

        watching = moment(place, kill)
        watch = asyncio.create_task(watching) if watching else None
        await place.label()
        async with asyncio.timeout(PATIENCE):
            await killed.wait()
        if watch:
            await watch
        await place.server.start(place.app)
        await place.wait_for_end()

        assert await place.end_state() == expected
        repeated = len(place.model.requests) - answers - len(open_questions)
        assert 0 <= repeated <= len(unsure_answers), "a received answer was asked for again"
