"""Carry bytes between a sandbox and a permitted host, counted and limited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass

_PIECE = 64 * 1024
_LAST_BYTES = 10.0  # seconds


@dataclass(frozen=True)
class Caps:
    """Limits on the network use of one set-up."""

    down: int = 8 * 1024**3
    """Bytes from outside, all connections together."""
    up: int = 64 * 1024**2
    """Bytes to outside: requests are small."""
    seconds: float = 1800
    """One connection."""
    idle: float = 120
    """A connection on which nothing moves."""
    greeting: float = 15
    """Until a client has said what it wants; the same again for its TLS."""
    connections: int = 128
    """At the same time."""
    in_all: int = 20_000
    """Connections, one after the other; each leaves a line in the log."""


class Spent(Exception):
    """The set-up has used up its bytes."""


class StreamPair:
    """The reader and writer of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def close(self) -> None:
        """Close the connection, after a moment for the other side to read the rest."""
        self.writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LAST_BYTES):
                await self.writer.wait_closed()
        self.writer.transport.abort()


class Meter:
    """Counts the bytes of one set-up, or of one connection if made by `part`."""

    def __init__(self, caps: Caps, whole: Meter | None = None) -> None:
        self._caps = caps
        self._whole = whole
        self.up = 0
        self.down = 0

    def part(self) -> Meter:
        """Return a meter for one connection, which counts towards this one."""
        return Meter(self._caps, self)

    def add(self, *, up: int = 0, down: int = 0) -> None:
        """Count these bytes. Raises Spent above the limit."""
        self.up += up
        self.down += down
        if self._whole is not None:
            self._whole.add(up=up, down=down)
        elif self.up > self._caps.up or self.down > self._caps.down:
            raise Spent


async def carry(inside: StreamPair, outside: StreamPair, meter: Meter, idle: float) -> None:
    """Carry bytes both ways until the outside closes; `idle` is in seconds.

    Raises Spent, OSError, TimeoutError.
    """
    async with asyncio.timeout(idle) as patience:

        def postpone_timeout() -> None:
            patience.reschedule(asyncio.get_running_loop().time() + idle)

        async def pump_up() -> None:
            while data := await inside.reader.read(_PIECE):
                meter.add(up=len(data))
                postpone_timeout()
                outside.writer.write(data)
                await outside.writer.drain()
            if outside.writer.can_write_eof():
                outside.writer.write_eof()

        async def pump_down() -> None:
            while data := await outside.reader.read(_PIECE):
                meter.add(down=len(data))
                postpone_timeout()
                inside.writer.write(data)
                await inside.writer.drain()

        await _until_done(pump_down(), beside=pump_up())


async def _until_done(
    main: Coroutine[None, None, None], *, beside: Coroutine[None, None, None]
) -> None:
    """Run both until `main` is done or one of them fails."""
    both = [asyncio.ensure_future(each) for each in (main, beside)]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if both[1].done():
            both[1].result()
        await both[0]
    finally:
        for each in both:
            each.cancel()
        await asyncio.gather(*both, return_exceptions=True)
