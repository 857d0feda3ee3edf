"""The guard that becomes a command only while Fettle is alive to end it, and only with limits set.

bubblewrap ties its processes to Fettle's only once everything is set up (PR_SET_PDEATHSIG,
prctl(2)). Killed in those milliseconds, Fettle would leave a command behind that nobody ends. So
bubblewrap starts a guard, a shell that sets its own limits and asks first. With the question the
kernel tells Fettle the guard's process id (SCM_CREDENTIALS, unix(7)), by which it is put into a
control group. The guard becomes the command when Fettle's answer comes; when Fettle is gone, the
line is closed and the guard ends. Where only pipes lead to the guard, as in a container, it asks
with the first byte of its output.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager

from agents.errors import FettleError
from app.sandbox.output_buffer import OutputSink
from app.sandbox.port import ResourceLimits

READY = b"\0"
"""The first byte that a guard writes to its output, where pipes alone lead to it."""

_PIPE_GUARD = "printf '\\000' && read -r go && exec \"$@\" </dev/null"
_ASK = "printf '\\000' >&0 && read -r go"
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_BLOCK = 512  # bytes in which every `sh` counts the size of a file


class Lifeline:
    """Fettle's end of the line to a guard; `hold` gets the guard's process id before the answer.

    `hold` may wait for the kernel, so it is called on `threads`, if there are any.
    """

    def __init__(self, hold: Callable[[int], None], threads: Executor | None) -> None:
        self._hold = hold
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._ours, self._guards = socket.socketpair()
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._ours.setblocking(False)
        self._loop.add_reader(self._ours.fileno(), self._on_ask)
        self._heard = asyncio.Event()
        self._answered: Future[None] = Future()
        self.begun = False
        self.fault: Exception | None = None
        """Why Fettle refused the command's start, if it did."""

    @property
    def guard_end(self) -> int:
        """Return the descriptor to start the guard with as its input."""
        return self._guards.fileno()

    def _on_ask(self) -> None:
        self._loop.remove_reader(self._ours.fileno())
        if self._threads is None:
            self._answer()
            self._answered.set_result(None)
        else:
            self._answered = self._threads.submit(self._answer)
        self._heard.set()

    def _answer(self) -> None:
        try:
            data, extra, *_ = self._ours.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
            if data:
                self._hold(_CREDENTIALS.unpack(extra[0][2])[0])
                self.begun = True  # before it is: it may end before this thread goes on
                self._ours.send(b"\n")
        except (OSError, FettleError) as error:
            self.begun, self.fault = False, error
            self._ours.shutdown(socket.SHUT_RDWR)

    async def wait_begun(self) -> None:
        """Wait until the guard has asked and was answered."""
        await self._heard.wait()
        await asyncio.wrap_future(self._answered)

    def release_guard_end(self) -> None:
        """Close our copy of the guard's end: from then on `send` fails once the command is gone."""
        self._guards.close()

    async def send(self, data: bytes) -> None:
        """Write bytes to the input of a command. Raises OSError when the command is gone."""
        await self._loop.sock_sendall(self._ours, data)

    def close(self) -> None:
        """Close both ends, of which a guard that still asks hears."""
        self._loop.remove_reader(self._ours.fileno())
        self._guards.close()
        if self._heard.is_set():  # not under the hands of a thread that still answers
            self._answered.add_done_callback(lambda _: self._ours.close())
        else:
            self._ours.close()


@contextmanager
def open_lifeline(hold: Callable[[int], None], threads: Executor | None) -> Iterator[Lifeline]:
    """Yield a lifeline that is closed at the end, and with the end of this process."""
    line = Lifeline(hold, threads)
    try:
        yield line
    finally:
        line.close()


def build_guard(
    argv: tuple[str, ...], limits: ResourceLimits, data: int | None, *, keep_stdin: bool = False
) -> list[str]:
    """Return the command line of a guard that sets limits and asks before it becomes `argv`.

    RLIMIT_NPROC counts the processes of one user namespace, and so of one sandbox, since Linux
    5.14 ("Reimplement RLIMIT_NPROC on top of ucounts"). `data` are the bytes of RLIMIT_DATA for
    each process. With `keep_stdin` the line stays the command's input, which otherwise has none.
    """
    script = [
        "ulimit -c 0",
        f"ulimit -f {_clamp(limits.fsize, resource.RLIMIT_FSIZE) // _BLOCK}",
        f"ulimit -n {_clamp(limits.nofile, resource.RLIMIT_NOFILE)}",
        f"ulimit -t {_clamp(limits.cpu, resource.RLIMIT_CPU)}",
        _limit_processes(_clamp(limits.nproc, resource.RLIMIT_NPROC)),
    ]
    if limits.memory is not None:
        script.append(f"ulimit -v {_clamp(limits.memory, resource.RLIMIT_AS) // 1024}")
    if data is not None:
        script.append(f"ulimit -d {_clamp(data, resource.RLIMIT_DATA) // 1024}")
    begin = 'exec "$@"' if keep_stdin else 'exec "$@" </dev/null'
    return ["/bin/sh", "-c", " && ".join([*script, _ASK, begin]), "sh", *argv]


def _limit_processes(most: int) -> str:
    """Return what sets this limit: shells do not agree on its letter."""
    return f"{{ ulimit -p {most} 2>/dev/null || ulimit -u {most}; }}"


def _clamp(wanted: int, kind: int) -> int:
    """Return the limit, or Fettle's own hard limit where that is lower (getrlimit(2))."""
    most = resource.getrlimit(kind)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


class HandshakeSink:
    """Takes a guard's READY byte out of the output, and answers it."""

    def __init__(self, out: OutputSink, answer: int | None = None) -> None:
        self._out = out
        self._answer = answer
        self.begun = False

    def feed(self, data: bytes) -> bool:
        """Keep all but a READY at the start; return False when the command must be stopped."""
        if not self.begun and data.startswith(READY):
            self.begun = True
            data = data[1:]
            if self._answer is not None:
                os.write(self._answer, b"go\n")
        return self._out.feed(data) if data else True


def build_pipe_guard(argv: tuple[str, ...]) -> list[str]:
    """Return the command line of a guard that asks by its output before it becomes `argv`.

    The guard reads the answer from its input; when Fettle is gone, it ends instead.
    """
    return ["sh", "-c", _PIPE_GUARD, "sh", *argv]


@contextmanager
def open_handshake(out: OutputSink) -> Iterator[tuple[HandshakeSink, int]]:
    """Yield the sink that answers a guard, and the descriptor that the guard reads from."""
    guards, ours = os.pipe2(os.O_CLOEXEC)
    try:
        yield HandshakeSink(out, ours), guards
    finally:
        os.close(guards)
        os.close(ours)
