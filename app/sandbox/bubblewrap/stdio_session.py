"""A conversation with a program in the sandbox, line by line and within bounds, as for MCP."""

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
MOST_LINES = 16
"""Lines of the longest that a program may write in all; nothing after as many bytes is read."""

START_SECONDS = 10.0


class StdioSession:
    """A running program that is sent lines and whose lines are read; the sink of its output."""

    def __init__(self, line: Lifeline, longest: int) -> None:
        self._lifeline = line
        self._longest = longest
        self._output = asyncio.StreamReader(longest)
        self._left = MOST_LINES * longest
        self._unread = 0

    def feed(self, data: bytes) -> bool:
        """Keep the bytes until they are read; return False when too many are unread."""
        self._unread += len(data)
        self._output.feed_data(data)
        return self._unread <= 2 * self._longest

    def end(self, _: object) -> None:
        """End `read_lines`: the program has ended."""
        self._output.feed_eof()

    async def send(self, line: bytes) -> None:
        """Write a line to the program's stdin. Raises OSError when the program is gone."""
        await self._lifeline.send(line + b"\n")

    async def read_lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of the program's stdout, until it ends or passes a bound."""
        while self._left > 0 and (line := await self._read_line()):
            self._left -= len(line)
            self._unread -= len(line)
            yield line.rstrip(b"\r\n")

    async def _read_line(self) -> bytes:
        try:
            return await self._output.readline()
        except ValueError:  # too long
            return b""


@asynccontextmanager
async def open_session(
    sandbox: Bubblewrap, command: SandboxCommand, *, longest: int = LONGEST_LINE
) -> AsyncIterator[StdioSession]:
    """Start a program and yield the session; at the end kill it, with all that it started.

    `longest`: bytes of a line. Raises OSError with what the program wrote to stderr, if it does
    not start.
    """
    async with sandbox.prepare(command, keep_stdin=True) as launch:
        session, complaints = (
            StdioSession(launch.lifeline, longest),
            HeadTailBuffer(4_000, sys.maxsize),
        )
        running = asyncio.create_task(
            run_group(
                launch.argv,
                environment=launch.environment,
                timeout=None,
                out=session,
                err=complaints,
                stdin=launch.lifeline.guard_end,
                pass_fds=launch.fds,
                watch=launch.watch,
                launcher=launch.launcher,
            )
        )
        running.add_done_callback(session.end)
        try:
            if not await _wait_until_begun(launch.lifeline, running):
                raise OSError(complaints.text().strip()[-500:] or "it does not start")
            launch.lifeline.release_guard_end()
            yield session
        finally:
            running.cancel()
            await asyncio.wait({running})


async def _wait_until_begun(line: Lifeline, running: asyncio.Future[ProcessExit]) -> bool:
    """Wait until the program may run; return False when it never got as far."""
    beginning = asyncio.ensure_future(line.wait_begun())
    either: set[asyncio.Future[Any]] = {beginning, running}
    await asyncio.wait(either, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    beginning.cancel()
    return line.begun
