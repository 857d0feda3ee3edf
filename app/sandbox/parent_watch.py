"""No command begins unless we are alive to end it, and its limits hold.

bubblewrap ties its processes to ours only once it has set everything up. Killed in those
milliseconds, we would leave a command behind that nobody ends. So what bubblewrap starts is a
guard, which takes on the limits and asks first. By how it asks the kernel tells us its number, so
that it can be put where the rest of the limits hold. It begins when our answer comes; when we are
gone the line is closed, and it goes as well.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager

from agents.errors import FettleError
from app.sandbox.port import ResourceLimits

_ASK = "printf '\\000' >&0 && read -r go"
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
_BLOCK = 512  # bytes in which every `sh` counts the size of a file


class Lifeline:
    """Our end of the line to a guard; `hold` gets its number before it may begin.

    That may wait for the kernel, so it is done by `threads`, if there are any.
    """

    def __init__(self, hold: Callable[[int], None], threads: Executor | None) -> None:
        self._hold = hold
        self._threads = threads
        self._loop = asyncio.get_running_loop()
        self._ours, self._guards = socket.socketpair()
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._ours.setblocking(False)
        self._loop.add_reader(self._ours.fileno(), self._asked)
        self._heard = asyncio.Event()
        self._answered: Future[None] = Future()
        self.begun = False
        self.fault: Exception | None = None
        """Why the command was not let begin, when that is our own doing."""

    @property
    def guard_end(self) -> int:
        """Return the descriptor that the guard gets as its input."""
        return self._guards.fileno()

    def _asked(self) -> None:
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
        """Wait until the guard has asked and was answered; from then on the end of it is heard."""
        await self._heard.wait()
        await asyncio.wrap_future(self._answered)
        self._guards.close()

    async def send(self, data: bytes) -> None:
        """Give a command that is talked to some input. Raises OSError when it is gone."""
        await self._loop.sock_sendall(self._ours, data)

    def close(self) -> None:
        """Let go of both ends."""
        self._loop.remove_reader(self._ours.fileno())
        self._guards.close()
        if self._heard.is_set():  # not under the hands of a thread that still answers
            self._answered.add_done_callback(lambda _: self._ours.close())
        else:
            self._ours.close()


@contextmanager
def lifeline(hold: Callable[[int], None], threads: Executor | None) -> Iterator[Lifeline]:
    """Give a lifeline that holds only for as long as we are there."""
    line = Lifeline(hold, threads)
    try:
        yield line
    finally:
        line.close()


def guarded(
    argv: tuple[str, ...], limits: ResourceLimits, data: int | None, *, talking: bool = False
) -> list[str]:
    """Return the command line that limits itself and asks before it becomes `argv`.

    Inside the sandbox's own user namespace the number of processes is that of this sandbox alone
    (since Linux 5.14). `data` are the bytes that each process may have for itself. With `talking`
    the line stays its input.
    """
    script = [
        "ulimit -c 0",
        f"ulimit -f {_at_most(limits.fsize, resource.RLIMIT_FSIZE) // _BLOCK}",
        f"ulimit -n {_at_most(limits.nofile, resource.RLIMIT_NOFILE)}",
        f"ulimit -t {_at_most(limits.cpu, resource.RLIMIT_CPU)}",
        _processes(_at_most(limits.nproc, resource.RLIMIT_NPROC)),
    ]
    if limits.memory is not None:
        script.append(f"ulimit -v {_at_most(limits.memory, resource.RLIMIT_AS) // 1024}")
    if data is not None:
        script.append(f"ulimit -d {_at_most(data, resource.RLIMIT_DATA) // 1024}")
    begin = 'exec "$@"' if talking else 'exec "$@" </dev/null'
    return ["/bin/sh", "-c", " && ".join([*script, _ASK, begin]), "sh", *argv]


def _processes(most: int) -> str:
    """Return what sets this limit: shells do not agree on its letter."""
    return f"{{ ulimit -p {most} 2>/dev/null || ulimit -u {most}; }}"


def _at_most(wanted: int, kind: int) -> int:
    """Return what can be had: nobody may raise what was limited for us."""
    most = resource.getrlimit(kind)[1]
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)
