"""The buffers that keep a command's output within bounds, however much the command writes."""

from __future__ import annotations

import os
from collections import deque
from typing import Protocol


class OutputSink(Protocol):
    """Takes output piece by piece."""

    def feed(self, data: bytes) -> bool:
        """Keep what is wanted of the bytes; return False when the command must be stopped."""
        ...


class FullBuffer:
    """Keeps up to `limit` bytes of output; whoever writes more is stopped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> bool:
        """Keep the bytes; return False once the limit is passed."""
        self._size += len(data)
        if self._size > self._limit:
            return False
        self._pieces.append(data)
        return True

    def data(self) -> bytes:
        """Return all bytes kept."""
        return b"".join(self._pieces)


class HeadTailBuffer:
    """Keeps `keep` bytes, half from the start and half from the end; stops beyond `flood` bytes."""

    def __init__(self, keep: int, flood: int) -> None:
        self._room = keep // 2
        self._flood = flood
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0

    def feed(self, data: bytes) -> bool:
        """Keep what belongs to head or tail; return False beyond `flood` bytes."""
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
        """Return head and tail, with a line in between that counts the bytes left out."""
        tail = b"".join(self._tail)
        left_out = max(0, len(tail) - self._room) + self._size - len(self._head) - self._tail_size
        if left_out:
            tail = tail[max(0, len(tail) - self._room) :]
            note = f"\n[... {left_out} bytes left out ...]\n".encode()
            return (bytes(self._head) + note + tail).decode("utf-8", "replace")
        return (bytes(self._head) + tail).decode("utf-8", "replace")


class FileSink:
    """Writes up to `limit` bytes of output to a descriptor; whoever writes more is stopped."""

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = fd
        self._left = limit

    def feed(self, data: bytes) -> bool:
        """Write the bytes; return False once the limit is passed."""
        self._left -= len(data)
        if self._left < 0:
            return False
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        return True
