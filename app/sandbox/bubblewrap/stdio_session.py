"""Step 8: a conversation with a program in the sandbox: lines in, lines out, within bounds."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.parent_watch import Lifeline
from app.sandbox.port import SandboxCommand
from app.sandbox.process_group import ProcessExit, run_group

LONGEST_LINE = 4_000_000
MOST_BYTES = 64_000_000
"""What a program may say in all; after that it is not listened to any more."""

START_SECONDS = 10.0


class StdioSession:
    """A program that is spoken to; made by `talking`. It is the sink of what that program says."""

    def __init__(self, line: Lifeline) -> None:
        self._line_in = line
        self._said = asyncio.StreamReader(LONGEST_LINE)
        self._left = MOST_BYTES
        self._unread = 0

    def feed(self, data: bytes) -> bool:
        """Keep it until it is read; False when nobody keeps up with it."""
        self._unread += len(data)
        self._said.feed_data(data)
        return self._unread <= 2 * LONGEST_LINE

    def end(self, _: object) -> None:
        """Tell who listens that it has ended."""
        self._said.feed_eof()

    async def send(self, line: bytes) -> None:
        """Write a line to its stdin. Raises OSError when it is gone."""
        await self._line_in.send(line + b"\n")

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of its stdout, until it ends or says more than anyone should."""
        while self._left > 0 and (line := await self._line()):
            self._left -= len(line)
            self._unread -= len(line)
            yield line.rstrip(b"\r\n")

    async def _line(self) -> bytes:
        try:
            return await self._said.readline()
        except ValueError:  # longer than LONGEST_LINE
            return b""


@asynccontextmanager
async def talking(sandbox: Bubblewrap, command: SandboxCommand) -> AsyncIterator[StdioSession]:
    """Start the program; at the end it is killed, with all that it started.

    Raises OSError when it does not start; the text is what it complained about.
    """
    async with sandbox.way_in(command, talking=True) as way:
        talk, complaints = StdioSession(way.line), HeadTailBuffer(4_000, sys.maxsize)
        running = asyncio.create_task(
            run_group(
                way.argv,
                environment=way.environment,
                timeout=None,
                out=talk,
                err=complaints,
                stdin=way.line.guard_end,
                pass_fds=way.fds,
                watch=way.watch,
                lowered=way.lowered,
            )
        )
        running.add_done_callback(talk.end)
        try:
            if not await _begun(way.line, running):
                raise OSError(complaints.text().strip()[-500:] or "it does not start")
            yield talk
        finally:
            running.cancel()
            await asyncio.wait({running})


async def _begun(line: Lifeline, running: asyncio.Future[ProcessExit]) -> bool:
    """Wait until the program may run; False when it never got as far."""
    beginning = asyncio.ensure_future(line.wait_begun())
    either: set[asyncio.Future[Any]] = {beginning, running}
    await asyncio.wait(either, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    beginning.cancel()
    return line.begun
