"""Bounds on what strangers may hold at the door: connections, heads that never end, bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

HEAD_SECONDS = 10.0
"""From the connection, or from the last answer on it, to the end of a request's head."""
SMALL = 256 * 1024
"""Bytes. Nearly all deliveries are smaller, and for these a quarter of the room is kept."""


class Connections:
    """The open connections: so many at most, and none that waits long for somebody's head.

    Where one too many comes, the one that has waited longest without asking for anything goes.
    """

    def __init__(self, most: int, *, head_seconds: float = HEAD_SECONDS) -> None:
        self._most = most
        self._head_seconds = head_seconds
        self._waiting: dict[asyncio.BaseTransport, float] = {}
        """Since when, by the loop's clock; who has waited longest stands first."""
        self._sweep: asyncio.TimerHandle | None = None
        self._open: set[asyncio.BaseTransport] = set()

    def enter(self, transport: asyncio.Transport) -> None:
        """Let a connection in, or end it where all others are being answered."""
        if len(self._open) >= self._most and self._waiting:
            oldest = next(iter(self._waiting))
            self.leave(oldest)
            _abort(oldest)
        if len(self._open) >= self._most:
            transport.abort()
            return
        self._open.add(transport)
        self._await_head(transport)

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """Forget a connection that has ended."""
        self._open.discard(transport)
        self._waiting.pop(transport, None)

    @web.middleware
    async def watch(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Note that a whole head has come, and, after the answer, that the next may."""
        transport = request.transport
        if transport is not None:
            self._waiting.pop(transport, None)
        try:
            return await handler(request)
        finally:
            if transport in self._open:
                self._await_head(transport)

    def _await_head(self, transport: asyncio.BaseTransport) -> None:
        loop = asyncio.get_running_loop()
        self._waiting[transport] = loop.time()
        if self._sweep is None:
            self._sweep = loop.call_later(self._head_seconds, self._end_slow)

    def _end_slow(self) -> None:
        """End those that waited too long; come again when the next of them will have.

        One timer for all: one for each request would cost the door a twentieth of its speed.
        """
        loop = asyncio.get_running_loop()
        for transport, since in list(self._waiting.items()):
            left = since + self._head_seconds - loop.time()
            if left > 0:
                self._sweep = loop.call_later(left, self._end_slow)
                return
            self._waiting.pop(transport, None)
            _abort(transport)
        self._sweep = None


def _abort(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.Transport):
        transport.abort()


class _Counted(asyncio.Protocol):
    """The library's protocol of one connection, which is counted for as long as it is open."""

    def __init__(self, inner: asyncio.Protocol, connections: Connections) -> None:
        self._inner = inner
        self._connections = connections
        self._transport: asyncio.BaseTransport | None = None
        self.data_received = inner.data_received  # type: ignore[method-assign] # for each packet
        self.eof_received = inner.eof_received  # type: ignore[method-assign] # the same
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign] # the same
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign] # the same

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to count it, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)
        self._connections.enter(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End to count it."""
        assert self._transport is not None
        self._connections.leave(self._transport)
        self._inner.connection_lost(exc)


class BoundedRunner(web.AppRunner):
    """The library's runner, whose connections are bounded."""

    def __init__(self, application: web.Application, connections: Connections, **more: Any) -> None:
        application.middlewares.append(connections.watch)
        super().__init__(application, **more)
        self._connections = connections

    @property
    def server(self) -> Callable[[], asyncio.Protocol] | None:  # type: ignore[override] # a site calls it
        """Return what makes the protocol of a new connection."""
        made = super().server
        return None if made is None else lambda: _Counted(made(), self._connections)


class BodyRoom:
    """Room in memory for the bodies of all requests together, in bytes.

    What is held is counted, not what is announced: whoever would take the room has to send it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], bool]]:
        """Give the room for one body, by a function that takes more, and back all of it at the end.

        The function tells whether there was room; what is no longer small leaves some to others.
        """
        mine = 0

        def take(size: int) -> bool:
            nonlocal mine
            most = self._most if mine + size <= SMALL else self._most * 3 // 4
            if self._held + size > most:
                return False
            mine += size
            self._held += size
            return True

        try:
            yield take
        finally:
            self._held -= mine
