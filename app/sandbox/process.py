"""Start a process group, read it within bounds, and leave nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from app.sandbox.output import Sink

_PIECE = 256 * 1024


@dataclass(frozen=True)
class Ended:
    """How a process ended; `code` is negative when a signal ended it."""

    code: int
    why: Literal["exit", "timeout", "output"]


def memory_file(name: str, data: bytes) -> int:
    """Return a descriptor of a file that exists in memory only, ready to be read."""
    fd = os.memfd_create(name)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def run_group(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout: float,
    out: Sink,
    err: Sink | None = None,
    stdin: int | None = None,
    pass_fds: Sequence[int] = (),
) -> Ended:
    """Run `argv` in a session of its own, in `/`, until it and its output end.

    Without `err` both streams go to `out`. Call it on a thread that lives as long as the
    process: the kernel ends a sandbox together with the thread that started it.
    """
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(_reading(out))]
        if err is not None:
            readers.append(stack.enter_context(_reading(err)))
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else stdin,
            stdout=readers[0].write_end,
            stderr=readers[-1].write_end,
            env=dict(environment),
            cwd="/",
            umask=0o022,  # the sandbox's user reads what git writes into a mirror
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )
        for reader in readers:
            reader.start()
        return await _finish(process, [reader.done for reader in readers], timeout)


async def _finish(
    process: asyncio.subprocess.Process, reads: list[asyncio.Future[bool]], timeout: float
) -> Ended:
    why: Literal["exit", "timeout", "output"] | None = None
    try:
        async with asyncio.timeout(timeout):
            for read in asyncio.as_completed(reads):
                if not await read:
                    why = "output"
                    break
            else:
                await process.wait()
                why = "exit"
    except TimeoutError:
        why = "timeout"
    finally:
        if why != "exit":  # after a clean end the number may already be somebody else's
            _kill(process.pid)
        code = await asyncio.shield(process.wait())
    return Ended(code, why or "exit")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class _Reader:
    """One pipe whose output goes to a sink; a pipe of our own, so that nobody can hold it open."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._fd, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._fd, False)
        self.done: asyncio.Future[bool] = self._loop.create_future()

    def start(self) -> None:
        """Read from now on; `done` is True at the end of the output, False for a flood."""
        self._close_write_end()
        self._loop.add_reader(self._fd, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, _PIECE)
        except BlockingIOError:
            return
        if data and self._sink.feed(data):
            return
        self._loop.remove_reader(self._fd)
        if not self.done.done():
            self.done.set_result(not data)

    def _close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Stop reading."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self._close_write_end()
        self.done.cancel()


@contextmanager
def _reading(sink: Sink) -> Iterator[_Reader]:
    reader = _Reader(sink)
    try:
        yield reader
    finally:
        reader.close()
