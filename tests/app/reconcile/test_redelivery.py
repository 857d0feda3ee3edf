"""The sweep: what GitHub could not deliver is delivered again, once, slowly, by one process."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from aiohttp import web
from sqlalchemy import select, update

from app.github.transport import app_deliveries
from app.github.transport.app_deliveries import AppDeliveries
from app.reconcile import redelivery as module
from app.reconcile.redelivery import FailedDeliveries
from app.store.schedule_leases import Sweeps
from app.store.tables import missed
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import Delivery
from tests.app.github.conftest import LABEL, key, scene, signer
from tests.patience import PATIENCE

__all__ = ["key", "scene", "signer"]  # fixtures, shared with the tests of the client


class ScriptedReceiver:
    """Takes webhooks, or answers what it is told to."""

    def __init__(self):
        self.status = 202
        self.came = []

    async def take(self, request):
        await request.read()
        self.came.append(request.headers["X-GitHub-Delivery"])
        return web.Response(status=self.status)


@pytest.fixture
async def receiver(scene, aiohttp_server):
    made = ScriptedReceiver()
    app = web.Application()
    app.router.add_post("/webhook", made.take)
    url = str((await aiohttp_server(app)).make_url("/webhook"))
    await scene.server.set_webhook(scene.app.app_id, url, "s3cret")
    return made


@pytest.fixture
def sweeper(scene, database):
    """Return a function that makes a process's sweep."""

    def make(holder="one", *, every=600.0):
        async def sleep(seconds):
            scene.slept.append(seconds)

        return FailedDeliveries(
            AppDeliveries(scene.github.app),
            Sweeps(database, holder),
            every=every,
            spacing=1.0,
            clock=scene.github.app.jwt.get_time,
            sleep=sleep,
        )

    return make


async def lose(scene, receiver, number, status=500):
    """Have so many labels put on that the receiver does not take; return their GUIDs in order."""
    guids = []
    for each in range(number):
        mallory, bob = scene.people["mallory"], scene.people["bob"]
        receiver.status = 202
        issue = await scene.server.create_issue(scene.repository, mallory, f"Lost {each}")
        receiver.status = status
        [delivery] = await scene.server.label_issue(scene.repository, issue.number, LABEL, bob)
        guids.append(delivery.guid)
    receiver.status = 202
    receiver.came.clear()
    return guids


def count_asked(scene):
    return len(scene.calls("POST", "/attempts"))


def count_listed(scene):
    return len(scene.calls("GET", "/hook/deliveries"))


async def states(database):
    query = "SELECT state, count(*) FROM missed GROUP BY state"
    return dict(await database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)]))


async def settle(scene):
    await scene.server.webhooks.wait_until_settled()


async def test_what_failed_is_delivered_again_in_its_order_and_once(scene, receiver, sweeper):
    guids = await lose(scene, receiver, 3)
    sweep = sweeper()
    await sweep.run()
    await settle(scene)
    assert receiver.came == guids
    assert scene.slept == [1.0, 1.0]
    await sweep.run()
    await sweeper("another").run()
    await settle(scene)
    assert (count_asked(scene), receiver.came) == (3, guids)


async def test_what_arrived_or_asks_for_nothing_is_left_alone(scene, receiver, sweeper, database):
    await lose(scene, receiver, 1, status=202)
    await scene.server.create_issue(scene.repository, scene.people["bob"], "Just so")
    await scene.server.close_issue(scene.repository, 1, scene.people["bob"])
    receiver.status = 500  # nothing comes of an issue that was opened again
    await scene.server.reopen_issue(scene.repository, 1, scene.people["bob"])
    await sweeper().run()
    assert count_asked(scene) == 0
    assert await states(database) == {}


async def test_what_is_in_the_inbox_has_arrived_whatever_github_believes(
    scene, receiver, sweeper, database
):
    [guid] = await lose(scene, receiver, 1)
    await Inbox(database, limit=9).store(Delivery(guid, "issues", "labeled", 1, "d", b"{}"))
    await sweeper().run()
    assert count_asked(scene) == 0
    assert await states(database) == {"arrived": 1}


async def test_what_somebody_had_delivered_again_is_not_asked_for(scene, receiver, sweeper):
    await lose(scene, receiver, 2)
    for failed in [each for each in scene.server.webhooks.log if not each.ok]:
        scene.server.webhooks.redeliver(failed)
    await settle(scene)
    await sweeper().run()
    assert count_asked(scene) == 0


async def test_one_that_fails_on_and_on_is_asked_for_ever_more_rarely(
    scene, receiver, sweeper, database
):
    await lose(scene, receiver, 1)
    receiver.status = 503
    sweep, pauses = sweeper(every=600.0), []
    for number in range(1, 6):
        await sweep.run()
        await settle(scene)
        await sweep.run()  # not due yet
        assert count_asked(scene) == number
        due = await database.read(lambda c: c.scalar(select(missed.c.next_at)))
        pauses.append(due - time.time())
        await database.write(lambda c: c.execute(update(missed).values(next_at=0.0)))
    assert pauses == pytest.approx([540, 1080, 1620, 1620, 1620], abs=20)
    receiver.status = 202
    await sweep.run()
    await settle(scene)
    await sweep.run()
    assert await states(database) == {"arrived": 1}


async def test_a_pass_asks_for_so_many_and_the_next_for_the_rest(
    scene, receiver, sweeper, monkeypatch
):
    monkeypatch.setattr(module, "MOST", 2)
    guids = await lose(scene, receiver, 3)
    await sweeper().run()
    await settle(scene)
    assert receiver.came == guids[:2]
    await sweeper().run()
    await settle(scene)
    assert receiver.came == guids


async def test_a_long_log_is_read_over_several_passes_and_then_only_what_is_new(
    scene, receiver, sweeper, monkeypatch
):
    monkeypatch.setattr(app_deliveries, "PER_PAGE", 2)
    monkeypatch.setattr(module, "PAGES", 3)
    monkeypatch.setattr(module, "OVERLAP", -1.0)  # all of it happened within this second
    guids = await lose(scene, receiver, 8)  # with the issues that were opened, 16 and the ping
    while count_asked(scene) < 8:
        before = count_listed(scene)
        await sweeper().run()  # each time a process that has just started
        await settle(scene)
        assert 0 < count_listed(scene) - before <= 3
    assert sorted(receiver.came) == sorted(guids)
    for _ in range(6):
        await sweeper().run()
    before = count_listed(scene)
    await asyncio.sleep(1.1)
    await sweeper().run()
    assert count_listed(scene) - before == 1
    assert count_asked(scene) == 8


async def test_a_cursor_that_github_no_longer_knows_begins_anew(
    scene, receiver, sweeper, monkeypatch, database
):
    await lose(scene, receiver, 2)
    sweep = sweeper()
    async with Sweeps(database, "one").turn("deliveries", 1):
        pass
    change = "UPDATE sweeps SET cursor = 'v1_bad', top = 5"
    await database.write(lambda c: c.exec_driver_sql(change))
    await sweep.run()
    assert count_asked(scene) == 2


async def test_beyond_githubs_window_nothing_is_asked_for(scene, receiver, sweeper):
    await lose(scene, receiver, 1)
    scene.server.advance_clock(timedelta(days=4))
    await sweeper().run()
    await sweeper().run()  # the first one has learnt what GitHub's clock says
    assert count_asked(scene) == 0


async def test_one_that_github_will_not_deliver_stops_no_other(scene, receiver, sweeper, database):
    guids = await lose(scene, receiver, 2)
    scene.server.faults.status("POST", "/attempts$", 404, times=4)
    await sweeper().run()
    await settle(scene)
    assert receiver.came == guids[1:]
    await sweeper().run()
    assert await states(database) == {"gone": 1, "arrived": 1}


@pytest.mark.parametrize("path", ["/attempts$", "/deliveries$"])
async def test_a_limit_ends_the_pass_and_the_next_one_goes_on(scene, receiver, sweeper, path):
    guids = await lose(scene, receiver, 3)
    scene.server.faults.rate_limit("*", path, retry_after=60)
    sweep = sweeper(every=0.0)
    await sweep.run()
    await settle(scene)
    assert receiver.came == []
    assert scene.slept == []  # it did not wait with its turn held
    await sweep.run()
    await settle(scene)
    assert sorted(receiver.came) == sorted(guids)


async def test_only_one_process_sweeps_at_a_time(scene, receiver, sweeper, database):
    await lose(scene, receiver, 1)
    async with Sweeps(database, "one").turn("deliveries", 60) as held:
        assert held
        await sweeper("two").run()
        assert count_asked(scene) == count_listed(scene) == 0
        async with Sweeps(database, "one").turn("deliveries", 60) as again:
            assert again  # it was killed and is back
    await sweeper("two").run()
    assert count_asked(scene) == 1


async def test_who_dies_in_its_turn_loses_it_with_time(database):
    one, two = Sweeps(database, "one"), Sweeps(database, "two")
    lasting, short = one.turn("deliveries", 3600), one.turn("deliveries", 0.01)
    assert await lasting.__aenter__()
    async with two.turn("deliveries", 1) as held:
        assert not held
    assert await short.__aenter__()
    taken = False
    async with asyncio.timeout(PATIENCE):
        while not taken:
            async with two.turn("deliveries", 1) as taken:
                await asyncio.sleep(0.01)
    await short.__aexit__(None, None, None)
    await lasting.__aexit__(None, None, None)


async def test_two_passes_in_one_process_are_one(scene, receiver, sweeper):
    await lose(scene, receiver, 2)
    sweep = sweeper()
    await asyncio.gather(*(sweep.run() for _ in range(5)))
    assert count_asked(scene) == 2
    assert count_listed(scene) == 1


async def test_the_memory_of_old_ones_goes_with_githubs(scene, receiver, sweeper, database):
    await lose(scene, receiver, 1)
    await sweeper().run()
    await settle(scene)
    scene.server.advance_clock(timedelta(days=5))
    await sweeper().run()
    await sweeper().run()
    assert await states(database) == {}
