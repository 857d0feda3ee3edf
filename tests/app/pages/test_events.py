"""The stream of one run: news as they are stored, an end, and bounds."""

from __future__ import annotations

import asyncio
import re

from agents.run import Outcome
from app.pages.events import ProgressWatch
from app.store.runs import RunProgress, Runs, StoredJournal
from tests.app.cli.runs.runs_scene import results
from tests.app.pages.conftest import TURNS
from tests.patience import PATIENCE

EVENTS = "/runs/0001-a/events"


async def read_event(stream):
    """Return the next event's lines."""
    async with asyncio.timeout(PATIENCE):
        return (await stream.content.readuntil(b"\n\n")).decode()


async def test_news_come_as_they_are_stored_and_an_end_ends_the_stream(pages):
    await pages.run("0001-a", *TURNS)
    async with pages.logged_in() as browser:
        _, page = await browser.get("/runs/0001-a")
        path = re.search(r'data-live="([^"]+)"', page)[1]
        async with browser.session.get(browser.url + path) as stream:
            assert stream.content_type == "text/event-stream"
            await StoredJournal(pages.database, "0001-a").append("implement/1", 4, results("x"))
            first = await read_event(stream)
            await Runs(pages.database).record_end("0001-a", Outcome(kind="comment", text="Done."))
            last = [await read_event(stream) for _ in range(2)]
            async with asyncio.timeout(PATIENCE):
                assert await stream.content.read() == b""

    assert "event: news\ndata: running" in first
    assert "event: news\ndata: done" in last[0]
    assert "event: end" in last[1]


async def test_who_comes_back_hears_only_of_what_is_new(pages):
    await pages.run("0001-a", *TURNS)
    async with pages.logged_in() as browser:
        async with browser.session.get(browser.url + EVENTS) as stream:
            ident = re.search("id: (.+)", await read_event(stream))[1]
        await Runs(pages.database).record_end("0001-a", Outcome(kind="comment", text="Done."))
        came_back = {"Last-Event-ID": ident}
        async with browser.session.get(browser.url + EVENTS, headers=came_back) as stream:
            assert "data: done" in await read_event(stream)


class BrokenOnce:
    """A history whose first look fails as no look should."""

    def __init__(self):
        self.looks = 0

    async def progress_digest(self, run_ids):
        self.looks += 1
        if self.looks == 1:
            raise ValueError("a row that cannot be read")
        return self.looks

    async def progress(self, run_ids):
        return dict.fromkeys(run_ids, RunProgress("running", 1.0, float(self.looks)))


async def test_a_look_that_fails_is_not_the_last_one():
    watch = ProgressWatch(BrokenOnce())
    watch.begin("0001-a")
    try:
        async with asyncio.timeout(PATIENCE):
            while await watch.wait("0001-a", None) is None:
                pass
    finally:
        watch.end("0001-a")


async def test_one_person_holds_few_streams(pages):
    await pages.run("0001-a")
    async with pages.logged_in() as browser:
        opened = [await browser.session.get(browser.url + EVENTS) for _ in range(9)]
        assert [each.status for each in opened] == [200] * 8 + [503]
        for each in opened:
            each.close()
        async with asyncio.timeout(PATIENCE):  # places come free once the server sees it
            while (again := await browser.session.get(browser.url + EVENTS)).status == 503:
                await asyncio.sleep(0.1)
        again.close()
