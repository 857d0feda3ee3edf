"""Step 8: start one command where namespaces cannot be had, and end all that it started.

A program of its own: `python -I -S keeper.py FD` reads its orders from the descriptor. It imports
nothing of ours, so that it starts in a few milliseconds and needs no path to the rest of Fettle.

Three processes: the one that Fettle waits for; below it the keeper, in a session of its own, which
adopts what its descendants leave behind; below that the command. When the command has ended, or
the pipe from Fettle closes, the keeper ends every descendant. Started by root it stays root, so
no command can end it first. The pipe to Fettle closes when nothing is left.
"""

from __future__ import annotations

import ctypes
import errno
import marshal
import os
import resource
import select
import signal
import struct
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False  # a name that type checkers know: what follows takes longer than all else
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

READY = b"\0"
"""What the command's side writes when all holds are on, just before it becomes the command."""

NOT_FOUND, NOT_STARTED = 127, 125

_libc = ctypes.CDLL(None, use_errno=True)
_SET_SECCOMP, _DROP_BOUND, _NO_NEW_PRIVS, _SUBREAPER, _DEATH_SIGNAL = 22, 24, 38, 36, 1
_SECCOMP_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same number on every machine
_BENEATH = 1
_ASK_VERSION = 1
_STOPPED = frozenset("TtZX")
_PASSES = 500  # what waits for a disk cannot be stopped, only killed


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel speaks; 0 for none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)))


# --- the first process: what Fettle waits for -----------------------------------------------------


def main(orders_fd: int) -> int:
    """Start the keeper, wait for it, and return its exit code."""
    with os.fdopen(orders_fd, "rb") as file:
        orders: dict[str, Any] = marshal.loads(file.read())  # noqa: S302 # Fettle wrote it, just now
    for fd in (orders["line"], orders["done"]):
        os.set_inheritable(fd, False)
    keeper = os.fork()
    if keeper == 0:
        _end(_keep, orders)
    os.close(orders["line"])
    os.close(orders["done"])
    return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])


def _end(work: Callable[[dict[str, Any]], int], orders: dict[str, Any]) -> NoReturn:
    """Do it in this process and leave; nothing of the parent's clean-up may run here."""
    code = NOT_STARTED
    try:
        code = work(orders)
    except Exception as error:  # noqa: BLE001 # it must be told, whatever it is
        os.write(2, f"keeper: {error!r}\n".encode())
    finally:
        os._exit(code)


# --- the keeper: everything below it ends with it -------------------------------------------------


def _keep(orders: dict[str, Any]) -> int:
    os.setsid()
    _call(_libc.prctl(_SUBREAPER, 1, 0, 0, 0))
    child_ended, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    command = os.fork()
    if command == 0:
        _end(_become, orders)
    status = _until_ended(command, child_ended, orders["line"])
    _end_all()
    return 128 + signal.SIGKILL if status is None else _exit_code(status)


def _until_ended(command: int, child_ended: int, line: int) -> int | None:
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


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_all() -> None:
    """End every descendant.

    All are stopped first: a stopped process still counts against the limit, so even what forks
    without end comes to rest, while killing one by one would give it room for the next.
    """
    for _ in range(_PASSES):
        running = [pid for pid, state in _descendants() if state not in _STOPPED]
        if not running:
            break
        for pid in running:
            _signal(pid, signal.SIGSTOP)
    with suppress(ChildProcessError):
        while True:
            for pid, _ in _descendants():
                _signal(pid, signal.SIGKILL)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.002)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _descendants() -> list[tuple[int, str]]:
    """Return number and state of each process below this one."""
    children: dict[int, list[tuple[int, str]]] = {}
    for pid, parent, state in _processes():
        children.setdefault(parent, []).append((pid, state))
    found, to_see = [], [os.getpid()]
    while to_see:
        below = children.get(to_see.pop(), [])
        found += below
        to_see += [pid for pid, _ in below]
    return found


def _processes() -> Iterator[tuple[int, int, str]]:
    for name in os.listdir("/proc"):  # noqa: PTH208 # pathlib takes longer than a command
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 # same
                # The name in parentheses may hold anything, parentheses as well.
                rest = file.read().rpartition(b")")[2].split()
                yield int(name), int(rest[1]), rest[0].decode()


# --- the command: every hold is put on before it begins -------------------------------------------


def _become(orders: dict[str, Any]) -> int:
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)  # Python ignores two of them, and that is inherited
    rules = _open_rules(orders["rules"])
    _limit(orders["limits"])
    _drop(orders["owner"])
    _call(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    if orders["handled"]:
        _landlock(orders["handled"], rules)
    os.chdir(orders["folder"])
    if orders["filter"]:
        _seccomp(orders["filter"])
    os.write(1, READY)
    _execute(orders["argv"], orders["environment"])
    return NOT_FOUND


def _execute(argv: tuple[str, ...], environment: dict[str, str]) -> None:
    """Become the command; return only if it cannot be found. Nothing can be imported any more."""
    program, reason = argv[0], "not found"
    folders = [""] if "/" in program else environment["PATH"].split(":")
    for folder in folders:
        try:
            os.execve(f"{folder}/{program}" if folder else program, argv, environment)  # noqa: S606 # no shell is the point
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
                reason = error.strerror or reason
    os.write(2, f"{program}: {reason}\n".encode())


def _limit(limits: dict[int, int]) -> None:
    for kind, wanted in limits.items():
        most = resource.getrlimit(kind)[1]
        value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(kind, (value, value))


def _drop(owner: tuple[int, int] | None) -> None:
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


def _open_rules(rules: list[tuple[str, int]]) -> list[tuple[int, int]]:
    """Open what the command may reach, as the user that Fettle runs as."""
    return [(os.open(path, os.O_PATH | os.O_CLOEXEC), access) for path, access in rules]


def _landlock(handled: tuple[int, int, int], rules: list[tuple[int, int]]) -> None:
    files, network, scoped = handled
    wanted = [files, network, scoped]
    while len(wanted) > 1 and wanted[-1] == 0:  # older kernels know a shorter structure
        wanted.pop()
    attributes = struct.pack(f"={len(wanted)}Q", *wanted)
    size = ctypes.c_size_t(len(attributes))
    ruleset = _call(_libc.syscall(_CREATE_RULESET, attributes, size, 0))
    for fd, access in rules:
        rule = struct.pack("=Qi", access, fd)
        _call(_libc.syscall(_ADD_RULE, ruleset, _BENEATH, rule, 0))
        os.close(fd)
    _call(_libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _seccomp(program: bytes) -> None:
    kept = ctypes.create_string_buffer(program, len(program))
    filter_program = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
    _call(_libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, filter_program, 0, 0))


def _call(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
