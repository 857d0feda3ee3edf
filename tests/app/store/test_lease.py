"""A silent worker is fenced off: what it writes when it comes back is not taken."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text

from agents.errors import TransientError
from app.store.database import Database
from app.store.lease import Lease, find_silent_since
from app.store.process_lock import Claim
from app.store.runs.runs import Runs
from tests.fakes.requests import build_resolve_issue
from tests.patience import PATIENCE


@asynccontextmanager
async def begin_lease(url, name, silent=60.0):
    """Take a name, and yield the lease of its worker and its way to the database."""
    claim, database = Claim(url, name, patience=0), Database(url)
    await claim.take()
    lease = Lease(claim, name, silent_seconds=silent)
    await lease.begin()
    database.fence_with(lease.require)
    yield lease, database
    await claim.release()
    database.close()


async def fence_off(lease, name):
    async with asyncio.timeout(PATIENCE):
        while not await lease.fence_off(name):
            await asyncio.sleep(0.05)


async def test_who_comes_back_writes_nothing(postgresql_url):
    """The first is stopped, not dead: it holds its lock, and its connections are open."""
    async with (
        begin_lease(postgresql_url, "one") as (one, ones),
        begin_lease(postgresql_url, "two", silent=0.0) as (two, twos),
    ):
        await Runs(ones).create("r1", build_resolve_issue())
        assert await one.renew()
        assert "one" in await two.list_silent()
        await fence_off(two, "one")
        with pytest.raises(TransientError, match="another one has its runs"):
            await Runs(ones).create("r2", build_resolve_issue())
        assert await Runs(twos).list_unfinished() == ["r1"]
        assert not await one.renew()
        await two.forget("one")
        assert "one" not in await two.list_silent()
        with pytest.raises(TransientError):
            await Runs(ones).create("r2", build_resolve_issue())


async def test_who_renews_in_time_is_left_alone(postgresql_url):
    async with (
        begin_lease(postgresql_url, "one") as (one, _),
        begin_lease(postgresql_url, "two") as (two, _),
    ):
        assert "one" not in await two.list_silent()
        assert not await two.fence_off("one")
        assert await one.renew()


async def test_a_write_under_way_ends_before_its_worker_is_fenced_off(postgresql_url):
    async with (
        begin_lease(postgresql_url, "one") as (_, ones),
        begin_lease(postgresql_url, "two", silent=0.0) as (two, _),
    ):
        begun, go, order = asyncio.Event(), asyncio.Event(), []
        loop = asyncio.get_running_loop()

        def write(connection):
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go.wait(), loop).result(PATIENCE)
            order.append("written")

        async def fence():
            await fence_off(two, "one")
            order.append("fenced")

        writing = asyncio.create_task(ones.write(write))
        await begun.wait()
        fencing = asyncio.create_task(fence())
        await asyncio.sleep(0.3)
        go.set()
        await asyncio.gather(writing, fencing)
        assert order == ["written", "fenced"]


async def test_people_hear_of_a_run_whose_worker_is_silent(postgresql_url):
    async with begin_lease(postgresql_url, "one") as (one, ones):
        runs = Runs(ones)
        await runs.create("r1", build_resolve_issue())
        await runs.record_start("r1", "one")
        assert await find_silent_since(ones, "r1") is None
        await one.end()
        assert await find_silent_since(ones, "r1") is not None
        assert await runs.moved_at("r1") is None
        await runs.record_start("r1", "two")
        assert await runs.moved_at("r1") is not None
        assert await find_silent_since(ones, "r1") is None


async def test_a_database_that_takes_no_writes_for_now_ends_no_lease(postgresql_url):
    async with begin_lease(postgresql_url, "one") as (one, _):
        held = one._connection
        held.execute(text("SET default_transaction_read_only = on"))
        assert await one.renew()
        held.execute(text("SET default_transaction_read_only = off"))
        assert await one.renew()


async def test_a_connection_that_is_gone_ends_the_lease(postgresql_url):
    async with begin_lease(postgresql_url, "one") as (one, ones):
        backend = one._connection.scalar(text("SELECT pg_backend_pid()"))
        await ones.write(lambda c: c.execute(text(f"SELECT pg_terminate_backend({backend})")))
        assert not await one.renew()
