"""What the pages cost: open streams, the first byte of a long run, and how soon news are there.

    python tests/bench/pages.py [--streams 100] [--seconds 20] [--turns 400]

The pages are served by a process of their own over an SQLite database, and asked by this one,
which also stores the turns. The floor of the first byte is the style sheet, which nothing is
computed for.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

import aiohttp

from app.git import Mirrors
from app.pages.page_context import PageContext
from app.pages.server import PageAddress, open_pages
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.pages.logins import PageLogins
from app.store.runs import Runs, StoredJournal
from tests.app.cli.runs.runs_scene import answer, call, prompt, results
from tests.app.github.approvals.test_action_text import REQUEST
from tests.bench.turns.processes import cpu_of, pss_of

LONG = "0000-long"
PEOPLE_STREAMS = 8
"""As many as one person may have open."""
MOST_MEMORY, MOST_CPU, MOST_FIRST, MOST_NEWS = 30.0, 0.02, 30.0, 300.0
"""MiB and the part of a core for all streams; milliseconds."""


async def serve(folder: Path) -> None:
    """Serve the pages until standard input ends."""
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    mirrors = Mirrors(folder / "mirrors", group=-1)
    ground = PageContext(database, Redactor([]), mirrors, day_budget_usd=100, run_budget_usd=20)
    async with open_pages(ground, PageAddress("127.0.0.1", 0)) as opened:
        print(opened.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def fill(database: Database, streams: int, turns: int) -> None:
    """Store a run for each stream, and a long one."""
    await asyncio.to_thread(database.migrate)
    runs = Runs(database)
    for number in range(streams):
        await runs.create(f"{number + 1:04}-run", REQUEST)
        await runs.record_stage(f"{number + 1:04}-run", "stage/implement/1")
    await runs.create(LONG, REQUEST)
    journal = StoredJournal(database, LONG)
    for number in range(turns):
        said = (prompt("Do it."), answer(call(command="ls")), results("calc.py\n" * 40))
        await journal.append("implement/1", number, said[number % 3])


@asynccontextmanager
async def log_in(database: Database, url: str, name: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a browser in which somebody is logged in."""
    jar = aiohttp.CookieJar(unsafe=True)  # the address has no name
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as session:
        code = await PageLogins(database).make_code(name)
        form = {"code": code, "next": "/runs/none"}
        await session.post(f"{url}/login", data=form, headers={"Origin": url})
        yield session


async def time_first_bytes(session: aiohttp.ClientSession, url: str) -> list[float]:
    """Return milliseconds until each of some answers began."""
    taken = []
    for _ in range(30):
        began = time.perf_counter()
        async with session.get(url) as got:
            await got.content.readany()
            taken.append(1_000 * (time.perf_counter() - began))
    return taken


async def time_news(database: Database, streams: list[aiohttp.ClientResponse]) -> list[float]:
    """Return milliseconds from a stored turn to the event about it, run after run."""
    taken = []
    for number, stream in enumerate(streams[:30]):
        await stream.content.readuntil(b"\n\n")  # how it stood when the stream began
        await asyncio.sleep(0.037)  # at another moment each time
        journal = StoredJournal(database, f"{number + 1:04}-run")
        await journal.append("implement/1", 0, results("x"))
        stored = time.perf_counter()
        await stream.content.readuntil(b"\n\n")
        taken.append(1_000 * (time.perf_counter() - stored))
    return taken


async def measure(folder: Path, wanted: argparse.Namespace) -> bool:
    """Print each figure beside what is wanted; return whether all are met."""
    database = Database(f"sqlite:///{folder / 'fettle.db'}")
    await fill(database, wanted.streams, wanted.turns)
    command = [sys.executable, __file__, "--serve", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = (await asyncio.to_thread(process.stdout.readline)).decode().strip()
        try:
            return await _ask(database, url, process.pid, wanted)
        finally:
            process.kill()


async def _ask(database: Database, url: str, pid: int, wanted: argparse.Namespace) -> bool:
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(log_in(database, url, "ada"))
        floor = median(await time_first_bytes(session, f"{url}/static/style.css"))
        first = await time_first_bytes(session, f"{url}/runs/{LONG}")
        stage = await time_first_bytes(session, f"{url}/runs/{LONG}/stages/implement/1")
        before, streams = pss_of(pid), []
        for number in range(wanted.streams):
            if number % PEOPLE_STREAMS == 0:
                session = await stack.enter_async_context(log_in(database, url, f"p{number}"))
            path = f"{url}/runs/{number + 1:04}-run/events"
            streams.append(await stack.enter_async_context(session.get(path)))
        news = await time_news(database, streams)
        used, began = cpu_of(pid), time.monotonic()
        await asyncio.sleep(wanted.seconds)
        part = (cpu_of(pid) - used).own / (time.monotonic() - began)
        memory = pss_of(pid) - before
    print(f"first byte of the style sheet: {floor:.1f} ms")
    rows = (
        (f"first byte of a run of {wanted.turns} turns, ms", median(first), MOST_FIRST),
        ("first byte of its newest turns, ms", median(stage), MOST_FIRST),
        ("from a stored turn to its event, ms (the worst of 30)", max(news), MOST_NEWS),
        (f"memory of {wanted.streams} streams, MiB", memory, MOST_MEMORY),
        ("their part of a core, %", 100 * part, 100 * MOST_CPU),
    )
    for name, found, most in rows:
        print(f"{name}: {found:.1f}, wanted at most {most:.0f}")
    return all(found <= most for _, found, most in rows)


def main() -> int:
    """Measure; or serve, for the process that measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.serve:
        asyncio.run(serve(wanted.serve))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if asyncio.run(measure(Path(folder), wanted)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
