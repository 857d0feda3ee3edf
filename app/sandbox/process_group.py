"""A process group that is started, read within bounds, and ended with all that belongs to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from agents.ports import CommandResult
from app.sandbox.child_process import ChildProcess
from app.sandbox.output_buffer import OutputSink
from app.sandbox.privilege_drop import UnprivilegedLauncher

_PIECE = 256 * 1024
_LAST_BREATH = 1.0
"""Seconds in which what was killed below the process lets go of the output: then it is gone."""

ExitReason = Literal["exit", "timeout", "output", "watch"]
WatchGroup = Callable[[], Coroutine[object, object, None]]

FLOOD = 64 * 1024 * 1024
"""Bytes of output after which a command is stopped."""

TIMED_OUT = 124
"""The exit code of a command whose time was up, as timeout(1) gives it."""

_ENDED_BY_LIMIT = {128 + signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGXFSZ}


@dataclass(frozen=True)
class ProcessExit:
    """How a process ended; `code` is negative when a signal ended it."""

    code: int
    why: ExitReason


def build_result(
    ended: ProcessExit, output: str, seconds: float, *, memory: bool = False, disk: bool = False
) -> CommandResult:
    """Return the result of a command that took `seconds`.

    `memory` and `disk` tell that the command used up what it may have.
    """
    if memory or disk or ended.why == "watch":
        why: Literal["memory", "disk"] = "memory" if memory else "disk"
        return CommandResult(128 + signal.SIGKILL, why, output, seconds)
    if ended.why == "timeout":
        return CommandResult(TIMED_OUT, "timeout", output, seconds)
    if ended.why == "output":
        return CommandResult(128 + signal.SIGKILL, "output", output, seconds)
    code = ended.code if ended.code >= 0 else 128 - ended.code
    return CommandResult(code, "killed" if code in _ENDED_BY_LIMIT else "exit", output, seconds)


def make_memory_file(name: str, data: bytes) -> int:
    """Return a descriptor of a file in memory (memfd_create(2)); the caller closes it."""
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
    timeout: float | None,
    out: OutputSink,
    err: OutputSink | None = None,
    stdin: int | None = None,
    pass_fds: Sequence[int] = (),
    watch: WatchGroup | None = None,
    launcher: UnprivilegedLauncher | None = None,
) -> ProcessExit:
    """Run `argv` in a session of its own, in `/`, until it and its output end.

    `timeout` is in seconds. Without `err` both streams go to `out`. When `watch` returns, the
    group is killed; what `watch` raises is raised here. Raises TransientError when no process can
    be started. Call it on a thread that lives as long as the process: the kernel ends a sandbox
    together with the thread that started it (PR_SET_PDEATHSIG, prctl(2)).
    """
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(_open_reader(out))]
        if err is not None:
            readers.append(stack.enter_context(_open_reader(err)))
        child = ChildProcess(
            argv,
            environment=environment,
            stdin=stdin,
            stdout=readers[0].write_end,
            stderr=readers[-1].write_end,
            pass_fds=pass_fds,
            launcher=launcher,
        )
        for reader in readers:
            reader.start()
        return await _finish(child, [reader.done for reader in readers], watch, timeout)


async def _finish(
    child: ChildProcess,
    reads: list[asyncio.Future[bool]],
    watch: WatchGroup | None,
    timeout: float | None,
) -> ProcessExit:
    over = _Completion(child, reads)
    watching = None if watch is None else asyncio.ensure_future(watch())
    if watching is not None:
        watching.add_done_callback(over.end_by_watch)
    why: ExitReason | None = None
    try:
        async with asyncio.timeout(timeout):
            why = await over.why
    except TimeoutError:
        why = "timeout"
    finally:
        if watching is not None:
            watching.cancel()
        if why == "exit":
            code = await child.wait()
        else:  # not after a clean end: then the number may already be somebody else's
            _kill(child.pid)
            code = await child.wait()
            await asyncio.wait(reads, timeout=_LAST_BREATH)
    return ProcessExit(code, why)


class _Completion:
    """The reason for the end: process and output have ended, or the first thing that went wrong.

    Callbacks instead of a coroutine: each turn of the event loop delays the command's end.
    """

    def __init__(self, child: ChildProcess, reads: list[asyncio.Future[bool]]) -> None:
        self.why: asyncio.Future[ExitReason] = asyncio.get_running_loop().create_future()
        self._running = {child.ended, *reads}
        for read in reads:
            read.add_done_callback(self._on_output_end)
        child.ended.add_done_callback(self._on_end)

    def _on_output_end(self, read: asyncio.Future[bool]) -> None:
        if not read.cancelled() and not read.result():
            self._settle("output")
        self._on_end(read)

    def _on_end(self, which: asyncio.Future[bool] | asyncio.Future[int]) -> None:
        self._running.discard(which)
        if not self._running:
            self._settle("exit")

    def end_by_watch(self, watching: asyncio.Future[None]) -> None:
        """Take the end of the watch for that of the process, or pass on what it raised."""
        if watching.cancelled() or self.why.done():
            return
        if error := watching.exception():
            self.why.set_exception(error)
        else:
            self.why.set_result("watch")

    def _settle(self, why: ExitReason) -> None:
        if not self.why.done():
            self.why.set_result(why)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class _PipeReader:
    """A pipe whose output goes to a sink; it ends for the reader when Fettle closes it."""

    def __init__(self, sink: OutputSink) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._fd, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.fchmod(self.write_end, 0o666)  # another user opens it by the name /dev/stderr
        os.set_blocking(self._fd, False)
        self.done: asyncio.Future[bool] = self._loop.create_future()

    def start(self) -> None:
        """Read from now on; `done` is True at the end of the output, False for a flood."""
        self._close_write_end()
        self._loop.add_reader(self._fd, self._on_ready)

    def _on_ready(self) -> None:
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
def _open_reader(sink: OutputSink) -> Iterator[_PipeReader]:
    reader = _PipeReader(sink)
    try:
        yield reader
    finally:
        reader.close()
