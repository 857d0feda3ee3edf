"""Step 8: a conversation with a program in the sandbox: lines in, lines out, within bounds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents.errors import TransientError
from app.sandbox.base import Command
from app.sandbox.bubblewrap import Bubblewrap, WayIn
from app.sandbox.lifeline import Lifeline
from app.sandbox.output import HeadTail

LONGEST_LINE = 4_000_000
MOST_BYTES = 64_000_000
"""What a program may say in all; after that it is not listened to any more."""

START_SECONDS = 10.0


class Talk:
    """A program that is spoken to; made by `talking`."""

    def __init__(self, process: asyncio.subprocess.Process, line: Lifeline) -> None:
        self._process = process
        self._line_in = line
        self._said = HeadTail(4_000, MOST_BYTES)
        self._left = MOST_BYTES

    @property
    def complaints(self) -> str:
        """Return head and tail of what it wrote to stderr."""
        return self._said.text()

    async def send(self, line: bytes) -> None:
        """Write a line to its stdin. Raises OSError when it is gone."""
        await self._line_in.send(line + b"\n")

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of its stdout, until it ends or says more than anyone should."""
        while self._left > 0 and (line := await self._line()):
            self._left -= len(line)
            yield line.rstrip(b"\r\n")

    async def _line(self) -> bytes:
        assert self._process.stdout
        try:
            return await self._process.stdout.readline()
        except ValueError:  # longer than LONGEST_LINE
            return b""

    async def begin(self) -> bool:
        """Let it run; False when it never got as far."""
        try:
            async with asyncio.timeout(START_SECONDS):
                return await self._line_in.wait_begun()
        except TimeoutError:
            return False

    async def listen(self) -> None:
        """Keep what it complains about, until it ends."""
        assert self._process.stderr
        while data := await self._process.stderr.read(65_536):
            self._said.feed(data)


@asynccontextmanager
async def talking(sandbox: Bubblewrap, command: Command) -> AsyncIterator[Talk]:
    """Start the program; at the end it is killed, with all that it started.

    Raises OSError when it does not start; the text is what it complained about.
    """
    async with sandbox.way_in(command, talking=True) as way:
        process = await asyncio.create_subprocess_exec(
            *way.argv,
            stdin=way.line.guard_end,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            env=dict(way.environment),
            cwd="/",
            pass_fds=tuple(way.fds),
            start_new_session=True,
        )
        talk = Talk(process, way.line)
        beside = [asyncio.create_task(talk.listen()), asyncio.create_task(_bound(process, way))]
        try:
            if not await talk.begin():
                raise OSError(talk.complaints.strip()[-500:] or "it does not start")
            yield talk
        finally:
            _kill(process)
            for each in beside:
                each.cancel()
            await asyncio.shield(process.communicate())  # with a full pipe it would never end


async def _bound(process: asyncio.subprocess.Process, way: WayIn) -> None:
    """End it when it takes more memory or disk than it may."""
    with contextlib.suppress(TransientError):
        await way.watch()
    _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
