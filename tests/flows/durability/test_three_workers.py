"""Workers on one PostgreSQL: whoever has the run is killed, stopped or silent, its folder lost."""

from __future__ import annotations

import asyncio
import shutil
import signal
from contextlib import AsyncExitStack, asynccontextmanager

import psycopg
from sqlalchemy import select, update

from app.cli.terminal import STOPPED
from app.commands.status import SILENT
from app.github.reporting.progress_text import MOVED
from app.store.lease import UNSEEN_SECONDS
from app.store.tables import runs, workers
from app.wiring.serve import LOST
from tests.flows.conftest import CHECKED
from tests.flows.forked import ForkedServer
from tests.flows.scripted import SHORT
from tests.patience import PATIENCE

NAMES = ("one", "two", "three")
WAITING = "waiting for the database"


def newest_holder():
    return select(runs.c.holder).order_by(runs.c.created_at.desc()).limit(1)


async def holder(place, servers):
    """Return the worker that has the newest run."""
    newest = newest_holder()
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await place.database().read(lambda c: c.scalar(newest))
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


@asynccontextmanager
async def start_several(make_place, postgresql, names):
    """Yield the place and its servers by name; GitHub's deliveries go to the first."""
    shared = {"FETTLE_DATABASE_URL": postgresql.database()}
    more = {**shared, "FETTLE_WORKER": names[0]}
    async with make_place(CHECKED, kind=Worker, **more) as place, AsyncExitStack() as stack:
        first = place.server
        servers = {names[0]: first}
        for name in names[1:]:
            more = {**shared, "FETTLE_WORKER": name}
            folder = first.data.parent / name
            made = Worker(folder, first.github_url, first.model_url, more=more)
            made.webhook_secret = first.webhook_secret
            stack.push_async_callback(made.stop)
            await made.start(place.app)
            servers[name] = made
        yield place, servers


@asynccontextmanager
async def silent_worker(place, servers, *, silent_for):
    """Yield a worker that stopped with a commit in the newest run, so long ago."""
    reached, before = asyncio.Event(), count_answered(place)

    async def note(_asked):
        if count_answered(place) == before + 6 and not reached.is_set():
            reached.set()
            await asyncio.sleep(0.5)  # so that it is silent before it is answered

    place.model.on_request(note)
    await place.label()
    await asyncio.wait_for(reached.wait(), PATIENCE)
    name = await holder(place, servers)
    silent, other, *_ = servers.pop(name), *servers.values()
    silent.process.send_signal(signal.SIGSTOP)
    try:
        hook = f"{other.url}/webhook"
        place.github.world.apps[place.app.app_id].webhook_url = hook
        its = workers.c.name == name
        earlier = update(workers).where(its).values(seen=workers.c.seen - silent_for)
        await place.database().write(lambda c: c.execute(earlier))
        yield silent
    finally:
        silent.process.send_signal(signal.SIGCONT)


def count_answered(place):
    return sum(each.answered for each in place.model.requests)


async def come_back(silent):
    """Have the worker go on: it finds its run elsewhere, and ends."""
    before = silent.log.read_text().count(LOST)
    silent.process.send_signal(signal.SIGCONT)
    assert await asyncio.wait_for(silent.process.wait(), PATIENCE) == 1
    assert silent.log.read_text().count(LOST) > before


async def restart_database(place, postgresql, servers):
    """End each connection, as a restart of the database does; and start the workers, which end."""
    name = place.server.database_url.rpartition("/")[2]
    with psycopg.connect(str(postgresql.url("postgres")), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
    for server in [each for each in servers.values() if each.running]:
        assert await asyncio.wait_for(server.process.wait(), PATIENCE) == 1
        lose_folders(server)
        await server.start(place.app)


async def test_whoever_is_lost_or_silent_the_run_ends_as_if_nothing_had_happened(
    make_place, postgresql
):
    """People are told of a silent worker, and its run ends, or goes on elsewhere."""
    async with start_several(make_place, postgresql, NAMES) as (place, servers):
        await place.label()
        await place.ends("pull_request")
        expected, answers = await read_end(place), len(place.model.requests)
        assert not [each for each in servers.values() if (each.data / "fettle.db").exists()]
        said = [each.log.read_text() for each in servers.values()]
        assert not any(postgresql.password in each for each in said)

        await place.move()
        await _lose_each(place, postgresql, servers, expected, answers)
        for server in servers.values():
            if not server.running:
                await server.start(place.app)
        await place.move()
        await _end_run_of_silent(place, servers)
        await _go_on_elsewhere(place, servers)


async def read_end(place):
    """Return all that people are left with, as in a repository of one name."""
    return repr(await place.end_state()).replace(place.repository.full_name, "octo-org/calc")


async def _lose_each(place, postgresql, servers, expected, answers):
    """Kill one worker, stop another, and end each connection of all, in the middle of a run."""
    disturbed = []
    reached = {number: asyncio.Event() for number in (2, 4, 6)}

    async def note(asked):
        for number, event in reached.items():
            if count_answered(place) == number - 1 and not event.is_set():
                disturbed.append(asked)
                event.set()
                await asyncio.sleep(0.5)  # so that it is cut off before it is answered

    place.model.on_request(note)
    await place.label()
    for number, how in ((2, "kill"), (4, "stop"), (6, "database")):
        await asyncio.wait_for(reached[number].wait(), PATIENCE)
        if how == "database":
            await restart_database(place, postgresql, servers)
            continue
        name = await holder(place, servers)
        servers[name].running = False
        await getattr(servers[name], how)()
        lose_folders(servers[name])
        if how == "kill":
            await servers[name].start(place.app)
    await place.ends("pull_request")

    assert await read_end(place) == expected
    repeated = len(place.model.requests) - answers
    assert repeated <= len(disturbed), "an answer that was there was asked for again"
    said = [servers[name].log.read_text() for name in NAMES]
    assert any("worker taken over" in each for each in said)


async def _end_run_of_silent(place, servers):
    """Have people hear of a silent worker, and end its run."""
    async with silent_worker(place, servers, silent_for=UNSEEN_SECONDS) as silent:
        await place.say("mara", "/bot status")
        told = await place.wait_for_comment(SILENT.partition("{")[0])
        assert "counts then, also `/bot cancel`" in told
        await place.say("mara", "/bot cancel")
        silent_for = update(workers).values(seen=workers.c.seen - 600)
        name = await place.database().read(lambda c: c.scalar(newest_holder()))
        await place.database().write(lambda c: c.execute(silent_for.where(workers.c.name == name)))

        assert (await place.wait_for_end()).kind == "cancelled"
        assert place.pulls() == []
        await come_back(silent)


async def _go_on_elsewhere(place, servers):
    """Have another worker take the run, and people hear of it; the silent one ends."""
    place.issue = await place.file("Sums are off", "`calc.add(2, 2)` gives 5.")
    place.model.play(SHORT)
    seen = len(place.github.requests)
    async with silent_worker(place, servers, silent_for=600) as silent:
        await place.ends("pull_request")
        [pull] = place.pulls()
        before = await place.end_state()
        await come_back(silent)

        assert await place.end_state() == before
        assert place.pulls() == [pull]
        moved = MOVED.partition("{")[0].encode()
        told = [each.body for each in place.github.requests[seen:]]
        assert any(moved in each for each in told), "people were not told"


async def test_a_server_that_loses_its_connection_stops_and_then_waits_for_it(
    make_place, postgresql
):
    """What starts it again gives up at its exit code 2, and nobody would start it any more."""
    async with start_several(make_place, postgresql, NAMES[:1]) as (place, servers):
        [server] = servers.values()
        name = server.database_url.rpartition("/")[2]
        with psycopg.connect(str(postgresql.url("postgres")), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            )
            assert await asyncio.wait_for(server.process.wait(), PATIENCE) == 1
            assert LOST in server.log.read_text()
            assert await place.runs() == []

            for back in (False, True):
                before = server.log.read_text().count(WAITING)
                starting = asyncio.create_task(server.start(place.app))
                await place.wait_until(
                    lambda b=before, s=starting: (
                        server.log.read_text().count(WAITING) > b or s.done()
                    )
                )
                assert not starting.done()
                if back:
                    connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
                    await asyncio.wait_for(starting, PATIENCE)
                else:
                    await server.stop()
                    assert server.process.returncode == STOPPED
                    await asyncio.gather(starting, return_exceptions=True)
