"""After a restore: what the lost server had taken comes again, once, under the ids that it had."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest
from aiohttp import web

from app.github.transport.app_deliveries import WINDOW, AppDeliveries
from app.reconcile import after_restore as sweep_restored
from app.reconcile.after_restore import RestoreRecovery, gone_by
from app.reconcile.redelivery import FailedDeliveries
from app.store.database import Database
from app.store.restore_recovery import Recoveries, put_back
from app.store.schedule_leases import Sweeps
from app.webhooks.inbox import Inbox
from app.webhooks.receiver import ACCEPTED, Delivery
from tests.app.github.conftest import LABEL, key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures, shared with the tests of the client


class Server:
    """A door on some database, which can be another one after a restore."""

    def __init__(self):
        self.answers = True
        self.asked = []

    async def open_on(self, database):
        self.database = database
        self.inbox = Inbox(database, limit=1000)
        await self.inbox.open()

    async def take(self, request):
        guid, body = request.headers["X-GitHub-Delivery"], await request.read()
        event = request.headers["X-GitHub-Event"]
        if json.loads(body)["action"] != "labeled":
            return web.Response(status=204)
        self.asked.append(guid)
        if not self.answers:
            return web.Response(status=503)
        taken = await self.inbox.take(Delivery(guid, event, "labeled", 1, guid, body))
        return web.Response(status=202, text=f"{ACCEPTED.format(run=taken.run_id)}\n")

    async def runs(self):
        query = "SELECT id, run_id FROM deliveries ORDER BY run_id"
        rows = await self.database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)])
        return dict(rows)


@pytest.fixture
async def server(scene, aiohttp_server, database):
    made = Server()
    await made.open_on(database)
    app = web.Application()
    app.router.add_post("/webhook", made.take)
    url = str((await aiohttp_server(app)).make_url("/webhook"))
    await scene.server.set_webhook(scene.app.app_id, url, "s3cret")
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def put_back_empty(request, scene, tmp_path):
    """Return a function that returns a database which was put back as of the beginning."""
    url = f"sqlite:///{tmp_path / 'restored.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    restored = Database(url)
    restored.migrate()

    async def note(since=None):
        since = scene.github.app.jwt.get_time() - 60 if since is None else since
        await restored.write(lambda c: put_back(c, since))
        return restored

    yield note
    restored.close()


def sweep_of(scene, database, **more):
    async def sleep(seconds):
        scene.slept.append(seconds)

    log, clock = AppDeliveries(scene.github.app), scene.github.app.jwt.get_time
    recovering = RestoreRecovery(log, Recoveries(database), clock=clock)
    return FailedDeliveries(
        *(log, Sweeps(database, "one")),
        **{"every": 600.0, "spacing": 1.0, "clock": clock, "sleep": sleep} | more,
        recovering=recovering,
    )


async def labels(scene, number):
    """Have so many labels put on; return what GitHub calls the deliveries, in order."""
    guids = []
    for each in range(number):
        issue = await scene.server.create_issue(
            scene.repository, scene.people["mallory"], f"It breaks {each}"
        )
        [delivery] = await scene.server.label_issue(
            scene.repository, issue.number, LABEL, scene.people["bob"]
        )
        guids.append(delivery.guid)
    return guids


async def sweep_repeatedly(scene, database, times=2, **more):
    for _ in range(times):
        await sweep_of(scene, database, **more).run()
        await scene.server.webhooks.wait_until_settled()


async def test_what_the_lost_server_had_taken_comes_again_under_the_same_run_ids(
    scene, server, put_back_empty
):
    guids = await labels(scene, 3)
    before = await server.runs()
    assert list(before) == guids
    restored = await put_back_empty()
    await server.open_on(restored)
    server.asked.clear()
    await sweep_repeatedly(scene, restored)
    assert server.asked == guids
    assert await server.runs() == before
    assert scene.slept == [1.0, 1.0], "paced like all others"
    assert await Recoveries(restored).find_pending() is None
    assert await Recoveries(restored).restored_at() > 0


async def test_without_a_restore_nothing_that_arrived_is_asked_for(scene, server, database):
    await labels(scene, 2)
    server.asked.clear()
    await sweep_repeatedly(scene, database)
    assert server.asked == []


async def test_what_the_backup_holds_is_not_asked_for(scene, server, put_back_empty):
    restored = await put_back_empty()
    await server.open_on(restored)
    kept = await labels(scene, 1)
    server.asked.clear()
    await sweep_repeatedly(scene, restored)
    assert server.asked == []
    assert list(await server.runs()) == kept


async def test_cut_anywhere_it_goes_on(scene, server, put_back_empty, monkeypatch):
    guids = await labels(scene, 4)
    before, restored = await server.runs(), await put_back_empty()
    await server.open_on(restored)

    async def cancel(seconds):
        raise asyncio.CancelledError

    for _ in range(6):  # each pass is cut after the one that it asks for first
        try:
            await sweep_of(scene, restored, sleep=cancel).run()
        except asyncio.CancelledError:
            await scene.server.webhooks.wait_until_settled()
    assert await server.runs() == before
    await sweep_repeatedly(scene, restored)
    assert server.asked == [*guids, *guids], "each once by GitHub itself, and once again"
    assert await Recoveries(restored).find_pending() is None


async def test_reading_goes_on_where_it_was_cut(scene, server, put_back_empty, monkeypatch):
    await labels(scene, 5)
    restored = await put_back_empty()
    await server.open_on(restored)
    monkeypatch.setattr("app.github.transport.app_deliveries.PER_PAGE", 2)
    monkeypatch.setattr(sweep_restored, "PAGES", 1)
    recoveries, cursors = Recoveries(restored), []
    while (pending := await recoveries.find_pending()) is not None and pending.since:
        cursors.append(pending.cursor)
        log, clock = AppDeliveries(scene.github.app), scene.github.app.jwt.get_time
        await RestoreRecovery(log, recoveries, clock=clock).read()
    assert len(cursors) == len(set(cursors)) > 2
    assert await recoveries.count_missing(0) == 5


async def test_as_long_as_one_does_not_arrive_it_is_not_over(scene, server, put_back_empty):
    [guid] = await labels(scene, 1)
    restored = await put_back_empty()
    await server.open_on(restored)
    server.answers = False
    await sweep_repeatedly(scene, restored)
    assert await Recoveries(restored).find_pending() is not None
    server.answers = True
    await restored.write(lambda c: c.exec_driver_sql("UPDATE missed SET next_at = 0"))
    await sweep_repeatedly(scene, restored)
    assert list(await server.runs()) == [guid]
    assert await Recoveries(restored).find_pending() is None


async def test_an_answer_that_names_another_delivery_is_not_believed(scene, server, put_back_empty):
    [guid] = await labels(scene, 1)
    said, log = ACCEPTED.format(run=f"{'0' * 16}-somebody-elses"), scene.server.webhooks.log
    log[:] = [replace(each, response_body=said) for each in log]
    restored = await put_back_empty()
    await server.open_on(restored)
    await sweep_repeatedly(scene, restored)
    [run_id] = (await server.runs()).values()
    assert run_id.endswith(f"-{guid}")
    assert not run_id.startswith("0" * 16)


async def test_a_second_restore_before_the_first_was_over_asks_from_the_earlier_on(store_url):
    database = Database(store_url)
    for since in (100.0, 300.0, 200.0):
        await database.write(lambda c, at=since: put_back(c, at))
    assert (await Recoveries(database).find_pending()).since == 100.0
    await Recoveries(database).finish()
    await database.write(lambda c: c.exec_driver_sql("UPDATE sweeps SET mark = 0"))
    await database.write(lambda c: put_back(c, 400.0))
    assert (await Recoveries(database).find_pending()).since == 400.0
    database.close()


async def test_beyond_the_window_it_is_said_from_when_to_when():
    now = time.time()
    assert gone_by(now - WINDOW + 60, now) == ""
    said = gone_by(1_800_000_000.0, 1_800_000_000.0 + 4 * 86_400)
    assert said.startswith("What GitHub delivered from 2027-01-15 08:00 to 2027-01-16 08:00 UTC")
