"""A thousand kinds of bad input: no 500, no crash, no growth, and what follows is served."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.app.webhooks.mutations import Case, cases
from tests.patience import PATIENCE
from tests.referees.conftest import packages

__all__ = ["packages"]  # a fixture, shared with the referees

NUMBER, SEED = 1000, 20_261
AT_ONCE = 6
MUTE = {"cut_off", "lengths", "broken_chunks", "doubled_headers"}
"""Kinds that may leave the server waiting for more, so that no answer comes."""
MOMENT = 1.0
GROWTH_MB = 120
"""Bodies of up to 12 MB are on their way at once, and a parsed one takes several times as much."""
GOOD = {200, 202, 204}
REFUSED = {400, 401, 411, 413, 415, 417}


@dataclass
class Server:
    """The process, and the file with what it took."""

    process: asyncio.subprocess.Process
    port: int
    folder: Path

    def memory(self):
        """Return the megabytes that it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024

    def rows(self):
        with sqlite3.connect(self.folder / "fettle.db") as connection:
            found = connection.execute("SELECT state, note FROM deliveries").fetchall()
        connection.close()
        return found

    async def send(self, case):
        """Return the status of the answer; None when none came."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            with suppress(ConnectionError):
                await self._write(writer, case)
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(
                    MOMENT if case.why.partition(": ")[2] in MUTE else PATIENCE
                ):
                    return await _status(reader)
            with suppress(ConnectionError, OSError):
                writer.write_eof()  # it waits for more
                async with asyncio.timeout(30):
                    return await _status(reader)
        finally:
            writer.close()
        return None

    async def _write(self, writer, case):
        whole = case.bytes()
        step = len(whole) // case.pieces + 1
        for start in range(0, len(whole), step):
            writer.write(whole[start : start + step])
            await writer.drain()
            if case.pieces > 1:
                await asyncio.sleep(0.02)


async def _status(reader):
    """Return the status of the answer; a 100 says that there is one to come."""
    status = 100
    while status == 100:
        line = await reader.readline()
        if not line:
            return None
        if line.strip():
            status = int(line.split()[1])
    return status


@pytest.fixture
async def server(tmp_path):
    script = Path(__file__).with_name("bad_input_server.py")
    with (tmp_path / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, script, tmp_path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env={"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": os.defpath},
        )
    port = int(await process.stdout.readline())
    yield Server(process, port, tmp_path)
    process.stdin.close()
    await process.stdout.read()
    await process.wait()


def list_recorded(packages):
    index = packages / "webhooks-examples" / "api.github.com" / "index.json"
    for event in json.loads(index.read_text("utf-8")):
        for payload in event["examples"]:
            yield event["name"], payload


async def all_sent(server, every):
    """Send them, some at a time; return the status of each."""
    statuses = {}
    waiting = iter(enumerate(every))

    async def send_some():
        for number, case in waiting:
            statuses[number] = await server.send(case)

    await asyncio.gather(*(send_some() for _ in range(AT_ONCE)))
    return [statuses[number] for number in range(len(every))]


async def test_a_thousand_kinds_of_bad_input_do_no_harm(server, packages):
    payloads = list(list_recorded(packages))
    every = list(cases(payloads, NUMBER, SEED))
    await all_sent(server, list(cases(payloads, 100, SEED - 1)))  # what it needs once
    before, began = server.memory(), time.monotonic()
    statuses = await all_sent(server, every)
    seconds, grown = time.monotonic() - began, server.memory() - before

    told = Counter(statuses)
    print(f"{NUMBER} in {seconds:.1f} s, {grown:+.1f} MB; {dict(told.most_common())}")
    wrong = [
        f"{status} {case.why} {case.bytes()[:300]!r}"
        for case, status in zip(every, statuses, strict=True)
        if status not in GOOD | REFUSED | {None}
    ]
    assert not wrong, "\n".join(wrong)
    silent = Counter(
        c.why.partition(": ")[2] for c, s in zip(every, statuses, strict=True) if s is None
    )
    assert set(silent) <= MUTE, silent
    assert min(told[202], told[204], told[400], told[401]) > 20, "they do not get far enough"
    assert grown < GROWTH_MB
    await well_afterwards(server, payloads)


async def well_afterwards(server, payloads):
    """What came in was dispatched, nothing broke, and the next delivery is taken."""
    assert server.process.returncode is None
    async with asyncio.timeout(20):
        while any(state == "received" for state, _ in server.rows()):
            await asyncio.sleep(0.1)
    states = Counter(state for state, _ in server.rows())
    print(dict(states))
    assert set(states) == {"dispatched", "ignored", "failed"}
    kinds = {note.partition(":")[0] for state, note in server.rows() if state == "failed"}
    assert kinds == {"ValidationError"}, kinds
    payload = next(p for event, p in payloads if event == "issues" and p["action"] == "labeled")
    payload = payload | {"installation": {"id": 7}, "label": {"name": "bot:resolve"}}
    assert await server.send(Case(b"issues", json.dumps(payload).encode())) == 202
    log = (server.folder / "log").read_text()
    assert "Traceback" not in log, log[-3000:]
