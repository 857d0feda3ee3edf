"""The real server as a process of its own that need not read its code: another has, and forks."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from app.cli import main
from app.demo.server_process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["app.wiring.serve", "anthropic", __name__, "tests.flows.frozen"])


class ForkedServer(ServerProcess):
    """`fettle serve`: reading its code takes longer than most of what it is asked to do here.

    In /proc others see the arguments and the environment of the process that forked. Where a
    test looks at those, or has somebody look, it takes a ServerProcess.
    """

    async def _spawn(self, environment, log):
        process = _forking.Process(target=_serve, args=(environment, log.name), daemon=True)
        process.start()
        return Forked(process)


@dataclass
class Forked:
    """A process, with the names that asyncio gives to what it starts."""

    process: ForkServerProcess

    @property
    def pid(self):
        return self.process.pid

    @property
    def returncode(self):
        return self.process.exitcode

    def send_signal(self, number):
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self):
        self.process.kill()

    async def wait(self):
        await asyncio.to_thread(self.process.join)
        return self.returncode


def _serve(environment, log):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with Path(os.devnull).open("rb") as nothing, Path(log).open("ab") as out:
        os.dup2(nothing.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    sys.argv = ["fettle", "serve"]
    main()
