"""A look whether anything is queued, far cheaper than the engine's own poll, before each poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LONGEST_SECONDS = 30.0
"""After which the engine polls in any case."""


class QueueWatch(threading.Event):
    """The stop event of a queue's thread, which waits on it from one poll to the next.

    The wait ends once something is queued, by whichever process, and that is looked for as often
    as the engine would poll: nothing begins later, and a server at rest does without the polls.
    """

    def __init__(self, is_queued: Callable[[], bool]) -> None:
        super().__init__()
        self._is_queued = is_queued

    def wait(self, timeout: float | None = None) -> bool:
        """Return whether it is set; if not, it is time to poll. Looks every `timeout` seconds."""
        until = time.monotonic() + LONGEST_SECONDS
        while not super().wait(timeout):
            if self._is_queued() or time.monotonic() >= until:
                return False
        return True
