"""What only a run under way can hear reaches it, and a label has one run."""

from __future__ import annotations

import json

import lz4.frame
import pytest

from agents.run import Outcome
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from app.webhooks.dispatcher import NOBODY
from app.webhooks.receiver import Delivery


def remark(**changes):
    return {
        "action": "created",
        "comment": {
            "id": 5,
            "body": "Mind the tests.",
            "user": {"login": "maintainer", "id": 8, "type": "User"},
            "html_url": "https://github.com/octo/hello/issues/1#issuecomment-5",
        },
        **changes,
    }


@pytest.fixture
def tell(inbox, sender):
    """Put a delivery about issue 1 into the inbox."""

    async def insert_delivery(ident, event, **changes):
        payload = {**sender.payload(), **changes}
        payload["issue"] = {**payload["issue"], "number": 1}
        body = json.dumps(payload).encode()
        action = payload["action"]
        await inbox.store(Delivery(ident, event, action, 1, f"h{ident}", body))

    return insert_delivery


async def test_a_remark_that_no_run_could_hear_goes_no_further(
    dispatcher, tell, engine, database, states
):
    await tell("d1", "issue_comment", **remark())
    await tell("d2", "issues", action="unlabeled")
    await tell("d3", "issues", action="closed")
    await dispatcher.dispatch_batch()

    assert engine.taken == []
    assert [(state, note) for _, state, note in await states()] == [("ignored", NOBODY)] * 3
    kept = "SELECT body FROM deliveries"
    bodies = await database.read(lambda c: [row[0] for row in c.exec_driver_sql(kept)])
    assert [lz4.frame.decompress(body) for body in bodies] == [b""] * 3  # people's talk is theirs


async def test_a_command_goes_on_whether_a_run_is_under_way_or_not(dispatcher, tell, engine):
    said = {**remark()["comment"], "body": "/bot status"}
    await tell("d1", "issue_comment", **remark(comment=said))
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 1


async def test_a_remark_reaches_the_run_that_is_under_way(dispatcher, tell, take, engine, database):
    await tell("d1", "issues", action="labeled")
    await tell("d2", "issue_comment", **remark())
    await dispatcher.dispatch_batch()
    [(run_id, _), (ident, _)] = engine.taken
    assert ident > run_id  # by that the desk knows that it was said to this run
    await Runs(database).record_end(run_id, Outcome(kind="failed", text="x"))
    await tell("d3", "issue_comment", **remark())
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 2


async def live(database):
    query = "SELECT id FROM runs WHERE state = 'queued' ORDER BY id"
    ids = await database.read(lambda c: [row[0] for row in c.exec_driver_sql(query)])
    cancelled = [each for each in ids if await StoredSteers(database).cancel_of(each)]
    return ids, cancelled


async def test_a_label_that_comes_twice_is_one_run(dispatcher, tell, take, database):
    """Redelivered under its id, or put in twice before anybody dispatched it."""
    for _ in range(2):
        await tell("d1", "issues", action="labeled")
        await dispatcher.dispatch_batch()
    ids, cancelled = await live(database)
    assert (len(ids), cancelled) == (1, [])


async def test_a_label_put_on_again_has_it_asked_whether_the_run_before_is_to_end(
    dispatcher, tell, take, engine, database
):
    """Who has put it on may be anybody who may label: nothing ends before GitHub was asked."""
    await tell("d1", "issues", action="labeled")
    await tell("d3", "issues", action="labeled", sender={"login": "bob", "id": 9, "type": "User"})
    await tell("d2", "issues", action="unlabeled")
    await dispatcher.dispatch_batch()
    (first, second), cancelled = await live(database)
    assert cancelled == []
    assert [ident for ident, _ in engine.taken[:3]] == [first, second, f"{second}-anew"]
    assert engine.taken[-1][0] > second  # the desk finds the label on, and leaves it alone
