"""What is kept of a command's output: bounded memory, however much it writes."""

from __future__ import annotations

import os
from collections import deque
from typing import Protocol


class OutputSink(Protocol):
    """Takes output piece by piece."""

    def feed(self, data: bytes) -> bool:
        """Keep what is wanted of it; False when this is more than anyone should write."""
        ...


class FullBuffer:
    """Keeps everything, up to a limit that is an error to pass."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> bool:
        """Keep it; False once the limit is passed."""
        self._size += len(data)
        if self._size > self._limit:
            return False
        self._pieces.append(data)
        return True

    def data(self) -> bytes:
        """Return all of it."""
        return b"".join(self._pieces)


class HeadTailBuffer:
    """Keeps the first and the last half of `keep` bytes; more than `flood` bytes are too many."""

    def __init__(self, keep: int, flood: int) -> None:
        self._room = keep // 2
        self._flood = flood
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0

    def feed(self, data: bytes) -> bool:
        """Keep what belongs to head or tail; False once it is a flood."""
        self._size += len(data)
        free = self._room - len(self._head)
        self._head += data[:free]
        self._keep_last(data[free:])
        return self._size <= self._flood

    def _keep_last(self, data: bytes) -> None:
        if not data:
            return
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= self._room:
            self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        """Return head and tail; a line in between says how much was left out."""
        tail = b"".join(self._tail)
        left_out = max(0, len(tail) - self._room) + self._size - len(self._head) - self._tail_size
        if left_out:
            tail = tail[max(0, len(tail) - self._room) :]
            note = f"\n[... {left_out} bytes left out ...]\n".encode()
            return (bytes(self._head) + note + tail).decode("utf-8", "replace")
        return (bytes(self._head) + tail).decode("utf-8", "replace")


class FileSink:
    """Writes everything to a descriptor, up to a limit that is an error to pass."""

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._left = limit

    def feed(self, data: bytes) -> bool:
        """Write it; False once the limit is passed."""
        self._left -= len(data)
        if self._left < 0:
            return False
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        return True
