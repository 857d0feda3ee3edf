"""A thread that is another user than the rest of this process, and so is all that it starts.

To the kernel each thread has a user of its own; it is the C library that changes all of them
together (nptl(7)), so it is passed by. A program that does it for each command, such as
setpriv(1), costs a fifth of that command's time in the sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from agents.errors import ConfigError
from app.sandbox.syscall_numbers import ARCHITECTURES

_DROP_BOUND, _NO_NEW_PRIVS = 24, 38
_CAPABILITIES_V3 = 0x20080522


def choose_owner(sandbox_uid: int, group: int | None = None) -> tuple[int, int]:
    """Return user and group id of commands: the sandbox's when Fettle is root, else Fettle's own.

    `group`: where it is another number than the user's.

    Raises ConfigError for root.
    """
    if sandbox_uid <= 0:
        raise ConfigError(
            "Agents never run as root. Set FETTLE_SANDBOX_UID to the number of a user that "
            "nothing else uses, such as 58999."
        )
    drop = os.geteuid() == 0
    return (sandbox_uid, group or sandbox_uid) if drop else (os.geteuid(), os.getegid())


class UnprivilegedLauncher:
    """Starts programs as this user, without any capability and with none to be had.

    The kernel ends a sandbox together with the thread that started it (PR_SET_PDEATHSIG,
    prctl(2)), so the thread stays.
    """

    def __init__(self, owner: tuple[int, int]) -> None:
        self._owner = owner
        self._thread: ThreadPoolExecutor | None = None
        self._switched: Future[None] | None = None

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program. Raises ConfigError when this process may not change its user."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "lowered")
        if self._switched is None:
            self._switched = self._thread.submit(_switch_user, *self._owner)
        try:
            self._switched.result()
        except OSError as error:
            raise ConfigError(
                f"Fettle cannot become the sandbox's user {self._owner[0]}: {error.strerror}.\n"
                f"Likely cause: CAP_SETUID, CAP_SETGID or CAP_SETPCAP is missing\n"
                f"Remedy: run Fettle as an ordinary user instead of root"
            ) from error
        return self._thread.submit(lambda: subprocess.Popen(argv, **options)).result()

    def close(self) -> None:
        """End the thread, and with it what it started; another begins when it is wanted again."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)
        self._thread = self._switched = None


def _switch_user(uid: int, gid: int) -> None:
    """Make the calling thread another user for good (capabilities(7), setresuid(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    setgroups, setresgid, setresuid = ARCHITECTURES[platform.machine()].become
    capability = 0
    while libc.prctl(_DROP_BOUND, capability, 0, 0, 0) == 0:
        capability += 1
    if ctypes.get_errno() != errno.EINVAL:  # which says that there are no more
        _raise_errno()
    for result in (
        libc.syscall(setgroups, 0, None),
        libc.syscall(setresgid, gid, gid, gid),
        libc.syscall(setresuid, uid, uid, uid),
        libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()),
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0),
    ):
        if result != 0:
            _raise_errno()


def _raise_errno() -> None:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
