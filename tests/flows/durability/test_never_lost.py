"""Nothing is lost: killed and refusing at random, a server ends each of 40 requests once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import aiohttp
import pytest
from aiohttp import web

from app.store.deliveries import count_states
from tests.flows.conftest import UNFINISHED
from tests.patience import PATIENCE

NUMBER, SEED = 40, 11
KILLS = 3


class Weather:
    """Stands between GitHub and the server: lets through, refuses, loses answers; by its dice."""

    def __init__(self, seed):
        self._dice = random.Random(seed)
        self.fair = False
        self.seen = Counter()
        self.to = ""
        self.session = None

    async def pass_on(self, request):
        body = await request.read()
        luck = 1.0 if self.fair else self._dice.random()
        if luck < 0.2:
            self.seen["refused"] += 1
            return web.Response(status=self._dice.choice([500, 502, 503]))
        if luck < 0.3:
            self.seen["never came"] += 1
            await asyncio.sleep(2)  # longer than GitHub waits
        headers = {name: text for name, text in request.headers.items() if name != "Host"}
        try:
            async with self.session.post(self.to, data=body, headers=headers) as answer:
                status, text = answer.status, await answer.text()
        except aiohttp.ClientError:  # the server is down
            self.seen["down"] += 1
            return web.Response(status=502)
        if luck < 0.45:
            self.seen["answer lost"] += 1
            await asyncio.sleep(2)
        self.seen["passed"] += 1
        return web.Response(status=status, text=text)


@pytest.fixture
async def weather(aiohttp_server):
    made = Weather(SEED)
    app = web.Application()
    app.router.add_post("/webhook", made.pass_on)
    made.url = str((await aiohttp_server(app)).make_url("/webhook"))
    async with aiohttp.ClientSession() as made.session:
        yield made


async def kill_again_and_again(place, dice):
    for _ in range(KILLS):
        await asyncio.sleep(dice.uniform(0.2, 1.2))
        await place.server.kill()
        await asyncio.sleep(dice.uniform(0.0, 0.5))
        await place.server.start(place.app)


async def test_each_of_many_requests_ends_in_one_run(make_place, weather, clock):
    """eve may label but not write, so that each run is short; it ends with one visible word."""
    async with make_place(FETTLE_SWEEP_SECONDS="2") as place:
        github, dice = place.github, random.Random(SEED)
        issues = [await place.file(f"Issue {each}", "See the title.") for each in range(NUMBER)]
        weather.to = f"{place.server.url}/webhook"
        github.world.apps[place.app.app_id].webhook_url = weather.url
        github.webhooks.timeout = 1.0
        killing = asyncio.create_task(kill_again_and_again(place, dice))
        for start in range(0, NUMBER, 10):
            together = issues[start : start + 10]
            await asyncio.gather(*(place.label("eve", issue=issue) for issue in together))
        await killing
        weather.fair = True
        found = await all_refused(place)

        first = [d for d in github.webhooks.log if _labels(d) and not d.redelivery]
        assert len(first) == NUMBER
        lost = sum(not delivery.ok for delivery in first)
        print(f"{lost} of {NUMBER} failed the first time; {dict(weather.seen)}; {clock():.0f} s")
        assert lost > NUMBER / 10
        assert Counter(run.number for run in found) == Counter(i.number for i in issues)
        assert {len(issue.comments) for issue in issues} == {1}, "each is told once how it ended"
        again = Counter(d.guid for d in github.webhooks.log if d.redelivery)
        assert max(again.values()) <= 8, "no storm"
        await nothing_more_is_asked_for(place)


async def all_refused(place):
    """Wait until every run is over; return them."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await place.runs()
            if len(found) >= NUMBER and not {run.state for run in found} & UNFINISHED:
                break
            await asyncio.sleep(0.3)
    assert {run.state for run in found} == {"refused"}
    return found


async def nothing_more_is_asked_for(place):
    """Wait until the last delivery has arrived (Fettle's own comments are told of, too), and see
    that two more looks find nothing to do."""
    log = place.github.webhooks.log
    database = place.database()
    query = "SELECT count(*) FROM missed WHERE state = 'failed'"
    async with asyncio.timeout(PATIENCE):
        while await database.read(lambda c: c.exec_driver_sql(query).scalar()):
            await asyncio.sleep(0.2)
        before, looks = len(log), len(_looks(place))
        while len(_looks(place)) < looks + 2:
            await asyncio.sleep(0.1)
    assert len(log) == before
    assert (await database.read(count_states)).get("failed", 0) == 0
    assert (await place.server.numbers())["fettle_inbox_depth"] == 0


def _labels(delivery):
    return delivery.event == "issues" and b'"action":"labeled"' in delivery.payload[:40]


def _looks(place):
    return [each for each in place.github.requests if "/app/hook/deliveries" in each.path]
