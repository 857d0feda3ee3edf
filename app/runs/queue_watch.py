"""A look whether anything is queued, far cheaper than the engine's own poll, before each poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import Connection, Engine, Table, literal, select
from sqlalchemy.exc import SQLAlchemyError

LONGEST_SECONDS = 30.0
"""After which the engine polls in any case."""
REST_SECONDS = 1.0
"""From one look to the next while nothing is queued."""


class QueueWatch(threading.Event):
    """The stop event of a queue's thread, which waits on it from one poll to the next.

    The wait ends at once when this process queues something, and at the next look when another
    has. While something is queued, it may wait for its lane: then the engine polls as it would
    without a watch. A server at rest does without the polls.
    """

    def __init__(self, is_queued: Callable[[], bool], *, rest: float = REST_SECONDS) -> None:
        super().__init__()
        self._is_queued, self._rest = is_queued, rest
        self._rung, self._held = threading.Event(), False

    def set(self) -> None:
        """End the wait for good."""
        super().set()
        self._rung.set()

    def ring(self) -> None:
        """Say that something is queued now."""
        self._rung.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether it is set; if not, it is time to poll."""
        until = time.monotonic() + LONGEST_SECONDS
        while not self.is_set():
            rung = self._rung.wait(timeout if self._held else self._rest)
            if self.is_set():
                break
            self._rung.clear()  # before the look, which sees whatever was queued before the ring
            self._held = rung or self._is_queued()
            if self._held or time.monotonic() >= until:
                return False
        return True


class QueueLook:
    """Tells whether the queue holds anything, by the engine's table of all runs.

    It keeps one connection, without transactions: at each look, taking one from the pool and
    beginning a transaction would cost more than the query.
    """

    def __init__(self, engine: Engine, status: Table, queue: str) -> None:
        waiting = status.c.queue_name == queue, status.c.status == "ENQUEUED"
        self._query = select(literal(1)).where(*waiting).limit(1)
        self._engine = engine
        self._connection: Connection | None = None

    def __call__(self) -> bool:
        """Return whether something is queued, or whether that cannot be said."""
        try:
            if self._connection is None:
                connected = self._engine.connect()
                self._connection = connected.execution_options(isolation_level="AUTOCOMMIT")
            return self._connection.execute(self._query).first() is not None
        except SQLAlchemyError:
            self.close()
            return True  # the poll tells what is wrong with the database

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            with suppress(SQLAlchemyError):
                self._connection.close()
            self._connection = None
