"""kill -9 while an update is let out: nothing is pushed, said or asked twice, or left out."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.flows.address.reviewed import (
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)
from tests.flows.conftest import PATIENCE
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

CHANCE = re.compile(
    r"run=\S+|<sub>.*|[0-9a-f]{10,40}|(?:issuecomment-|discussion_r|pullrequestreview-)\d+|:\d{5}|calc-\d+"
)
EVERY = script(
    sort(["t1", "t3"], [("t2", "question")]),
    make_changes(
        edit("range(len(prices))", "range(0, len(prices))"),
        edit("'euro', 'cent'", "'euro', 'cents'", path="words.py"),
    ),
    word_update(
        ("t1", "fixed", 1),
        ("t3", "fixed", 2),
        commits=[("Begin at nought", ("calc.py",)), ("Say cents", ("words.py",))],
    ),
)

RUNS = {
    "at odd moments": {
        "before the push": ("before", "git-receive-pack", b""),
        "before the first reply": ("before", r"/replies$", b""),
        "after a thread is resolved": ("after", r"/graphql$", b"resolveReviewThread"),
        "after a reviewer is asked again": ("after", r"/requested_reviewers$", b""),
    },
    "at even moments": {
        "after the push": ("after", "git-receive-pack", b""),
        "after the first reply": ("after", r"/replies$", b""),
        "before the second reply": ("before", r"/replies$", b""),
        "after the last reply": ("after", r"/replies$", b""),
        "after the summary": ("after", r"/issues/\d+/comments$", b"key=ledger"),
    },
}
"""The moments of a run, in the order in which it comes to them; what was done is not done again."""


async def end_state(at):
    """Return all that people are left with, less what differs from run to run."""
    said = [r for thread in at.pull.threads for r in thread.remarks]
    return {
        "verdicts": at.verdicts(),
        "said": [CHANCE.sub("", remark.body) for remark in said],
        "comments": [CHANCE.sub("", body) for body in at.place.comments()],
        "reviews": len(at.pull.reviews),
        "asked": [each.login for each in at.pull.requested],
        "pushes": at.pushes(),
        "branches": await at.place.branches(),
        "commits": await at.place.commits(at.pull),
    }


async def review(at):
    await at.review(
        "mara",
        "",
        ("calc.py", 11, "Begin at nought."),
        ("calc.py", 17, "Why in percent?"),
        ("words.py", 1, "They are cents."),
    )


@pytest.fixture(scope="module")
def undisturbed():
    """Where the end of a run without a kill is kept, once it is known."""
    return {}


async def expected_end(share_place, undisturbed):
    if not undisturbed:
        async with open_reviewed(share_place, EVERY) as at:
            await review(at)
            await at.all_over()
            undisturbed.update(await end_state(at))
            undisturbed["answers"] = len(at.place.model.requests)
    return undisturbed


def kill_at(at, moment):
    """Have the server killed at the next such request; return an event that tells when it was."""
    when, path, words = moment
    killed = asyncio.Event()

    async def hook(request):
        if words in await request.read() and not killed.is_set():
            await at.place.server.kill()
            killed.set()

    at.github.faults.clear()
    getattr(at.github.faults, f"call_{when}")("POST", path, hook, times=1000)
    return killed


@pytest.mark.parametrize("moments", RUNS.values(), ids=RUNS.keys())
async def test_kills_while_it_is_let_out_change_nothing(share_place, undisturbed, moments):
    expected = dict(await expected_end(share_place, undisturbed))
    answers = expected.pop("answers")
    async with open_reviewed(share_place, EVERY) as at:
        for number, (name, moment) in enumerate(moments.items()):
            killed = kill_at(at, moment)
            if number:
                await at.place.server.start(at.place.app)
            else:
                await review(at)
            try:
                async with asyncio.timeout(PATIENCE):
                    await killed.wait()
            except TimeoutError:
                pytest.fail(f"It did not come to this moment: {name}")
        at.github.faults.clear()
        await at.place.server.start(at.place.app)
        assert await at.all_over() == ["comment"]

        assert await end_state(at) == expected
        assert len(at.place.model.requests) == answers, "an answer was paid twice"
