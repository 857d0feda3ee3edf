"""Step 8: the first byte of a command's output, by which its own side says that it begins now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from app.sandbox.output_buffer import OutputSink

READY = b"\0"
_GUARD = "printf '\\000' && read -r go && exec \"$@\" </dev/null"


class Begun:
    """Takes that byte away, and answers it; all else is output."""

    def __init__(self, out: OutputSink, answer: int | None = None) -> None:
        self._out = out
        self._answer = answer
        self.begun = False

    def feed(self, data: bytes) -> bool:
        """Keep all but the first byte."""
        if not self.begun and data.startswith(READY):
            self.begun = True
            data = data[1:]
            if self._answer is not None:
                os.write(self._answer, b"go\n")
        return self._out.feed(data) if data else True


def guarded(argv: tuple[str, ...]) -> list[str]:
    """Return the command line that asks before it becomes `argv`: when we are gone, it never does.

    It listens on its input for the answer.
    """
    return ["sh", "-c", _GUARD, "sh", *argv]


@contextmanager
def asking(out: OutputSink) -> Iterator[tuple[Begun, int]]:
    """Give the sink that answers a guard, and the descriptor that the guard listens on."""
    guards, ours = os.pipe2(os.O_CLOEXEC)
    try:
        yield Begun(out, ours), guards
    finally:
        os.close(guards)
        os.close(ours)
