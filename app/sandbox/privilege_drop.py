"""Step 8: a thread that is another user than the rest of this process: so is all that it starts.

To the kernel each thread has a user of its own; it is the C library that changes all of them
together, so it is passed by. A program that does it for each command, `setpriv` for one, costs a
fifth of that command's time in the sandbox.
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
from app.sandbox.syscall_numbers import MACHINES

_DROP_BOUND, _NO_NEW_PRIVS = 24, 38
_CAPABILITIES_V3 = 0x20080522


class UnprivilegedLauncher:
    """Starts programs as this user: without any capability, and with none to be had.

    The kernel ends a sandbox together with the thread that started it, so this one stays.
    """

    def __init__(self, owner: tuple[int, int]) -> None:
        self._owner = owner
        self._thread = ThreadPoolExecutor(1, "lowered")
        self._became: Future[None] | None = None

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program. Raises ConfigError when this process may not change its user."""
        if self._became is None:
            self._became = self._thread.submit(_become, *self._owner)
        try:
            self._became.result()
        except OSError as error:
            raise ConfigError(
                f"Fettle cannot become the sandbox's user {self._owner[0]}: {error.strerror}.\n"
                f"Likely cause: CAP_SETUID, CAP_SETGID or CAP_SETPCAP is missing\n"
                f"Remedy: run Fettle as an ordinary user instead of root"
            ) from error
        return self._thread.submit(lambda: subprocess.Popen(argv, **options)).result()


def _become(uid: int, gid: int) -> None:
    """Make the thread that calls this another user, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    setgroups, setresgid, setresuid = MACHINES[platform.machine()].become
    capability = 0
    while libc.prctl(_DROP_BOUND, capability, 0, 0, 0) == 0:
        capability += 1
    if ctypes.get_errno() != errno.EINVAL:  # which says that there are no more
        _fail()
    for result in (
        libc.syscall(setgroups, 0, None),
        libc.syscall(setresgid, gid, gid, gid),
        libc.syscall(setresuid, uid, uid, uid),
        libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES_V3, 0), (ctypes.c_uint32 * 6)()),
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0),
    ):
        if result != 0:
            _fail()


def _fail() -> None:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
