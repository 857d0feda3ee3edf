"""Three workers on one PostgreSQL: whoever has the run is killed or stopped, its folder lost."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack

from sqlalchemy import select

from app.store.tables import runs
from tests.flows.forked import ForkedServer
from tests.patience import PATIENCE

NAMES = ("one", "two", "three")


async def holder(place, servers):
    """Return the worker that has the run."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await place.database().read(lambda c: c.scalar(select(runs.c.holder)))
            if found is not None and servers[found].running:
                return found
            await asyncio.sleep(0.05)


def lose_folders(server):
    """Take away what a machine has beside the database."""
    for name in ("mirrors", "runs", "setups"):
        shutil.rmtree(server.data / name, ignore_errors=True)


class Worker(ForkedServer):
    """A server that knows whether it was told to go."""

    running = False

    async def start(self, app):
        await super().start(app)
        self.running = True


async def test_whoever_is_lost_the_run_ends_as_if_nothing_had_happened(make_place, postgresql):
    async with make_place(FETTLE_DATABASE_URL=postgresql.database()) as place:
        await place.label()
        await place.ends("pull_request")
        expected, answers = await place.end_state(), len(place.model.requests)

    shared = {"FETTLE_DATABASE_URL": postgresql.database()}
    more = {**shared, "FETTLE_WORKER": "one"}
    async with make_place(kind=Worker, **more) as place, AsyncExitStack() as stack:
        one = place.server
        servers = {"one": one}
        for name in NAMES[1:]:
            more = {**shared, "FETTLE_WORKER": name}
            folder = one.data.parent / name
            made = Worker(folder, one.github_url, one.model_url, more=more)
            made.webhook_secret = one.webhook_secret
            stack.push_async_callback(made.stop)
            await made.start(place.app)
            servers[name] = made
        disturbed = []
        reached = {number: asyncio.Event() for number in (2, 4, 6)}

        async def note(asked):
            answered = sum(each.answered for each in place.model.requests)
            for number, event in reached.items():
                if answered == number - 1 and not event.is_set():
                    disturbed.append(asked)
                    event.set()
                    await asyncio.sleep(0.5)  # so that it is cut off before it is answered

        place.model.on_request(note)
        await place.label()
        for number, how in ((2, "kill"), (4, "stop"), (6, "kill")):
            await asyncio.wait_for(reached[number].wait(), PATIENCE)
            name = await holder(place, servers)
            servers[name].running = False
            await getattr(servers[name], how)()
            lose_folders(servers[name])
            if how == "kill":
                await servers[name].start(place.app)
        await place.ends("pull_request")

        assert await place.end_state() == expected
        repeated = len(place.model.requests) - answers
        assert repeated <= len(disturbed), "an answer that was there was asked for again"
        said = [servers[name].log.read_text() for name in NAMES]
        assert any("worker taken over" in each for each in said)
