"""Attempts at one answer of a model, with growing pauses between them."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from agents.errors import TransientError

T = TypeVar("T")
log = logging.getLogger(__name__)
LONGEST_WAIT = 20.0  # seconds inside a call; for longer the run had better be put back


@dataclass(frozen=True)
class Retries:
    """How often to try, and the first pause in seconds: each next one is twice as long."""

    tries: int = 4
    backoff: float = 1.0

    async def repeat(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return what `ask` returns in the end; a server that names a pause gets it.

        Raises the last TransientError, and one that asks for a longer pause than this call has.
        """
        for attempt in range(1, self.tries):
            try:
                return await ask()
            except TransientError as error:
                pause = error.retry_after
                if pause is None:
                    pause = self.backoff * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
                if pause > LONGEST_WAIT:
                    raise
                log.info("model call failed, again in %.1f s: %s", pause, error)
                await asyncio.sleep(pause)
        return await ask()
