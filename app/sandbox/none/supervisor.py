"""A program that starts one command where no sandbox holds it, and ends all that it started.

Fettle runs it as `python -I -S supervisor.py FD`; the descriptor holds its orders. It imports
nothing of Fettle's, so that it starts in a few milliseconds and needs no path to the rest.

There are three processes: the one that Fettle waits for; below it the supervisor, in a session of
its own, which adopts what its descendants leave behind (PR_SET_CHILD_SUBREAPER, prctl(2)); below
that the command. When the command has ended, or the pipe from Fettle closes, the supervisor ends
every descendant. Started by root it stays root, so no command can end it first. The pipe to Fettle
closes when nothing is left.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False  # a name that type checkers know: what follows takes longer than all else
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

READY = b"\0"
"""The byte that the child writes once its limits are set, just before it becomes the command."""

NOT_FOUND, NOT_STARTED = 127, 125

_libc = ctypes.CDLL(None, use_errno=True)
_DROP_BOUND, _NO_NEW_PRIVS, _SUBREAPER = 24, 38, 36
_STOPPED = frozenset("TtZX")
_PASSES = 500  # what waits for a disk cannot be stopped, only killed


# --- the first process: what Fettle waits for -----------------------------------------------------


def main(orders_fd: int) -> int:
    """Start the supervisor, wait for it, and return its exit code."""
    with os.fdopen(orders_fd, "rb") as file:
        orders: dict[str, Any] = marshal.loads(file.read())  # noqa: S302 # Fettle wrote it, just now
    for fd in (orders["line"], orders["done"]):
        os.set_inheritable(fd, False)
    supervisor = os.fork()
    if supervisor == 0:
        _work_and_exit(_supervise, orders)
    os.close(orders["line"])
    os.close(orders["done"])
    return os.waitstatus_to_exitcode(os.waitpid(supervisor, 0)[1])


def _work_and_exit(work: Callable[[dict[str, Any]], int], orders: dict[str, Any]) -> NoReturn:
    """Do it in this process and leave; nothing of the parent's clean-up may run here."""
    code = NOT_STARTED
    try:
        code = work(orders)
    except Exception as error:  # noqa: BLE001 # it must be told, whatever it is
        os.write(2, f"supervisor: {error!r}\n".encode())
    finally:
        os._exit(code)


# --- the supervisor: everything below it ends with it ---------------------------------------------


def _supervise(orders: dict[str, Any]) -> int:
    os.setsid()
    _check_call(_libc.prctl(_SUBREAPER, 1, 0, 0, 0))
    child_ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    command = os.fork()
    if command == 0:
        _work_and_exit(_become_command, orders)
    status = _wait_for_end(command, child_ended, orders["line"])
    _end_all()
    return 128 + signal.SIGKILL if status is None else _to_exit_code(status)


def _wait_for_end(command: int, child_ended: int, line: int) -> int | None:
    """Return how the command ended; None when Fettle wants no more of it, or is gone."""
    waiting = select.poll()
    waiting.register(child_ended, select.POLLIN)
    waiting.register(line, select.POLLIN)
    while True:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == command:
                    return ended[1]
        ready = dict(waiting.poll())
        if line in ready:
            return None
        with suppress(BlockingIOError):
            os.read(child_ended, 4096)


def _to_exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_all() -> None:
    """End every descendant.

    All are stopped first: a stopped process still counts against the limit, so even what forks
    without end comes to rest, while killing one by one would give it room for the next.
    """
    for _ in range(_PASSES):
        running = [pid for pid, state in _list_descendants() if state not in _STOPPED]
        if not running:
            break
        for pid in running:
            _signal(pid, signal.SIGSTOP)
    with suppress(ChildProcessError):
        while True:
            for pid, _ in _list_descendants():
                _signal(pid, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _list_descendants() -> list[tuple[int, str]]:
    """Return number and state of each process below this one."""
    children: dict[int, list[tuple[int, str]]] = {}
    for pid, parent, state in _list_processes():
        children.setdefault(parent, []).append((pid, state))
    found, to_see = [], [os.getpid()]
    while to_see:
        below = children.get(to_see.pop(), [])
        found += below
        to_see += [pid for pid, _ in below]
    return found


def _list_processes() -> Iterator[tuple[int, int, str]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 # pathlib takes longer than a command
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 # same
                # The name in parentheses may hold anything, parentheses as well.
                rest = file.read().rpartition(b")")[2].split()
                yield int(name), int(rest[1]), rest[0].decode()


# --- the command: user and limits are set before it begins ----------------------------------------


def _become_command(orders: dict[str, Any]) -> int:
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # Python ignores two of them, and that is inherited
    _set_limits(orders["limits"])
    _drop_privileges(orders["owner"])
    _check_call(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    os.chdir(orders["folder"])
    os.write(1, READY)
    _execute(orders["argv"], orders["environment"])
    return NOT_FOUND


def _execute(argv: tuple[str, ...], environment: dict[str, str]) -> None:
    """Become the command; return only if it cannot be found."""
    program, reason = argv[0], "not found"
    folders = [""] if "/" in program else environment["PATH"].split(":")
    for folder in folders:
        try:
            os.execve(f"{folder}/{program}" if folder else program, argv, environment)  # noqa: S606 # no shell is the point
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                reason = error.strerror or reason
    os.write(2, f"{program}: {reason}\n".encode())


def _set_limits(limits: dict[int, int]) -> None:
    for kind, wanted in limits.items():
        most = resource.getrlimit(kind)[1]
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (value, value))


def _drop_privileges(owner: tuple[int, int] | None) -> None:
    """Become this user for good, with no capability and none to be had."""
    if owner is None:
        return
    capability = 0
    while _libc.prctl(_DROP_BOUND, capability, 0, 0, 0) == 0:
        capability += 1
    uid, gid = owner
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _check_call(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
