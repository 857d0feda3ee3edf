"""A child process whose end the event loop hears from the kernel (pidfd_open(2))."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping, Sequence

from agents.errors import TransientError
from app.sandbox.privilege_drop import UnprivilegedLauncher

_RETRY = 10.0  # seconds


class ChildProcess:
    """A process in a session of its own, in `/`, with this environment and none of Fettle's."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdin: int | None,
        stdout: int,
        stderr: int,
        pass_fds: Sequence[int],
        launcher: UnprivilegedLauncher | None = None,
    ) -> None:
        """Start the process, by `launcher` if that is given.

        Raises TransientError when this machine has no room for another process.
        """
        start = launcher.start if launcher else subprocess.Popen
        self._loop = asyncio.get_running_loop()
        try:
            self._process = start(
                argv,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                cwd="/",
                umask=0o022,  # the sandbox's user reads what git writes into a mirror
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        except BlockingIOError as error:
            raise TransientError(
                "This machine cannot start another process: a limit on processes is reached, of "
                "Fettle's user or of its container. It is tried again.",
                retry_after=_RETRY,
            ) from error
        self.pid = self._process.pid
        self.ended: asyncio.Future[int] = self._loop.create_future()
        """The exit code; negative when a signal ended the process."""
        self._listen()

    def _listen(self) -> None:
        try:
            fd = os.pidfd_open(self.pid)
        except OSError:  # older than Linux 5.3, or refused to us
            self.ended = self._loop.run_in_executor(None, self._process.wait)
        else:
            self._loop.add_reader(fd, self._reap, fd)

    def _reap(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        os.close(fd)
        self.ended.set_result(self._process.wait())

    async def wait(self) -> int:
        """Wait for the end of the process; a cancelled wait leaves it running."""
        return await asyncio.shield(self.ended)
