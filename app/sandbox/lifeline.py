"""No command begins unless we are alive to end it.

bubblewrap ties its processes to ours only once it has set everything up. Killed in those
milliseconds, we would leave a command behind that nobody ends. So what bubblewrap starts is a
guard, which asks first: it says that it is there, and begins when our answer comes. When we are
gone, the pipe is closed, and it goes as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from app.sandbox.output import Sink

_READY = b"\0"
_GUARD = "printf '\\000' && read -r go && exec \"$@\" </dev/null"


class Lifeline:
    """One end of the pipe that a guard listens to, and the sink that hears it ask."""

    def __init__(self, out: Sink) -> None:
        self._out = out
        self.guard_end, self._ours = os.pipe2(os.O_CLOEXEC)
        self.begun = False

    def guarded(self, argv: tuple[str, ...]) -> list[str]:
        """Return the command line that asks before it becomes `argv`."""
        return ["/bin/sh", "-c", _GUARD, "sh", *argv]

    def feed(self, data: bytes) -> bool:
        """Answer the guard's first byte; all else is output."""
        if not self.begun and data.startswith(_READY):
            self.begun = True
            os.write(self._ours, b"go\n")
            data = data[1:]
        return self._out.feed(data) if data else True

    def close(self) -> None:
        """Let go of both ends."""
        os.close(self.guard_end)
        os.close(self._ours)


@contextmanager
def lifeline(out: Sink) -> Iterator[Lifeline]:
    """Give a lifeline whose pipe is open only for as long as we are there."""
    line = Lifeline(out)
    try:
        yield line
    finally:
        line.close()
