"""The operator has reviews addressed from the command line, beside the server that is at work."""

from __future__ import annotations

import json

import pytest

from tests.flows.address.reviewed import (
    edit,
    make_changes,
    open_reviewed,
    script,
    sort,
    word_update,
)
from tests.flows.forked import call_fettle
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

CHANGE = edit("range(len(prices))", "range(0, len(prices))")
ONE = script(sort(["t1"]), make_changes(CHANGE), word_update(("t1", "fixed", 1)))


async def fettle(place, *arguments):
    """Run the command as the server's operator; return its exit code and what it printed."""
    return await call_fettle(*arguments, environment=place.server.environment(place.app))


async def test_a_review_that_nobody_delivered_is_addressed_on_command(share_place):
    async with open_reviewed(share_place, ONE, listening=False) as at:
        before = at.pull.head_sha
        await at.review("mara", "", ("calc.py", 11, "Begin at nought."))
        named = f"{at.repository.full_name}#{at.pull.issue.number}"

        code, out, err = await fettle(at.place, "address", named, "--json")

        assert code == 0, err
        told = json.loads(out)
        assert told["state"] == "done"
        assert "1 thread: 1 fixed; 100 % answered" in told["outcome"]["text"]
        assert len(await at.list_commits(before)) == 1
        assert at.verdicts() == {"calc.py:11": (["fixed"], True)}


@pytest.mark.parametrize("verb", ["address", "update"])
async def test_what_is_no_pull_request_is_said_before_anything_is_done(share_place, verb):
    async with open_reviewed(share_place, ONE) as at:
        code, out, err = await fettle(at.place, verb, "nothing-of-the-kind")

        assert (code, out) == (2, "")
        assert "is no pull request" in err
        assert "Traceback" not in err
