"""Two servers on one PostgreSQL, through both front doors, one of them killed on the way."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count

import aiohttp
import pytest
from aiohttp import web

from app.reconcile.redelivery import NAME as DELIVERIES
from app.store.deliveries import count_states
from tests.flows.conftest import PATIENCE, UNFINISHED
from tests.flows.forked import ForkedServer

NUMBER = 20
EVERY = 2


class Doors:
    """Stands in front of both servers, and gives each delivery to the next one that is open."""

    def __init__(self):
        self.to, self.numbers, self.passed = [], count(), Counter()

    async def pass_on(self, request):
        body, session = await request.read(), self.session
        headers = {name: text for name, text in request.headers.items() if name != "Host"}
        first = next(self.numbers)
        for door in (self.to[first % 2], self.to[(first + 1) % 2]):
            try:
                async with session.post(f"{door}/webhook", data=body, headers=headers) as answer:
                    self.passed[door] += 1
                    return web.Response(status=answer.status, text=await answer.text())
            except aiohttp.ClientError:
                continue
        return web.Response(status=502)


@pytest.fixture
async def doors(aiohttp_server):
    made = Doors()
    app = web.Application()
    app.router.add_post("/webhook", made.pass_on)
    made.url = str((await aiohttp_server(app)).make_url("/webhook"))
    async with aiohttp.ClientSession() as made.session:
        yield made


async def rows(place, query):
    database = place.database()
    return await database.read(lambda c: [tuple(row) for row in c.exec_driver_sql(query)])


async def wait_for_ends(place, number):
    """Wait until so many runs are there, and all are over."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await place.runs()
            if len(found) >= number and not {run.state for run in found} & UNFINISHED:
                return found
            await asyncio.sleep(0.2)


async def test_both_share_the_work_and_each_thing_is_done_once(make_place, postgresql, doors):
    """eve may label but not write, so that each run is short; it ends with one visible word."""
    shared = {
        "FETTLE_DATABASE_URL": postgresql.database(),
        "FETTLE_SWEEP_SECONDS": str(EVERY),
    }
    async with make_place(**shared, FETTLE_WORKER="one") as place:
        one, github = place.server, place.github
        more = {**shared, "FETTLE_WORKER": "two"}
        two = ForkedServer(one.data.parent / "two", one.github_url, one.model_url, more=more)
        two.webhook_secret = one.webhook_secret
        await two.start(place.app)
        try:
            doors.to = [one.url, two.url]
            github.world.apps[place.app.app_id].webhook_url = doors.url
            issues = [await place.file(f"Issue {each}", "See there.") for each in range(NUMBER)]
            for start in range(0, NUMBER, 10):
                if start == NUMBER - 10:
                    await two.kill()
                together = issues[start : start + 10]
                await asyncio.gather(*(place.label("eve", issue=issue) for issue in together))
            await two.start(place.app)
            found = await wait_for_ends(place, NUMBER)
            await github.webhooks.wait_until_settled()

            assert Counter(run.number for run in found) == Counter(i.number for i in issues)
            assert {run.state for run in found} == {"refused"}
            assert {len(issue.comments) for issue in issues} == {1}, "each is told once"
            assert min(doors.passed[door] for door in doors.to) > NUMBER / 6
            worked = "SELECT DISTINCT executor_id FROM dbos.workflow_status WHERE name = 'run'"
            assert dict.fromkeys(await rows(place, worked)).keys() == {("one",), ("two",)}
            await each_pass_is_made_once(place)
        finally:
            await two.stop()


async def each_pass_is_made_once(place):
    """See that the sweep of deliveries is made once each time that the clock says so."""
    table, like = "dbos.workflow_status", f"'sched-{DELIVERIES}-%%'"
    looks = f"SELECT workflow_uuid FROM {table} WHERE workflow_uuid LIKE {like}"
    before, seen = len(await rows(place, looks)), len(list_first_pages(place))
    await asyncio.sleep(4 * EVERY)
    passes, asked = len(await rows(place, looks)) - before, len(list_first_pages(place)) - seen
    assert 2 <= passes <= 5
    assert passes - 1 <= asked <= passes + 1
    database = place.database()
    found = await database.read(count_states)
    assert found.get("received", 0) == found.get("failed", 0) == 0
    made = [each for each in place.github.requests if each.method == "POST"]
    labels = Counter(each.answer for each in made if each.path.endswith("/labels"))
    assert not labels or max(labels.values()) == 1, "no label is made twice"


def list_first_pages(place):
    """Return the first pages of GitHub's log that were asked for: one in each pass."""
    asked = [each.path for each in place.github.requests if each.method == "GET"]
    return [p for p in asked if "/app/hook/deliveries?" in p and "cursor=" not in p]
