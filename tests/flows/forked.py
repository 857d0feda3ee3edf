"""Fettle as a process of its own that need not read its code: another has, and forks."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import sys
from contextlib import asynccontextmanager, chdir
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory

from app.cli import main
from app.demo.server_process import ServerProcess
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(["tests.flows.frozen"])


class ForkedServer(ServerProcess):
    """`fettle serve`: reading its code takes longer than most of what it is asked to do here.

    In /proc others see the arguments and the environment of the process that forked. Where a
    test looks at those, or has somebody look, it takes a ServerProcess.
    """

    async def _spawn(self, environment, log):
        return _fork(("serve",), environment, log.name, log.name)


@dataclass
class Forked:
    """A process, with the names that asyncio gives to what it starts.

    Its exit code can be read once: of two threads that read, one would be told 255. So the thread
    that waits reads nothing.
    """

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
        await asyncio.to_thread(wait, [self.process.sentinel])
        return self.returncode


async def call_fettle(*arguments, environment, folder=ROOT, seconds=PATIENCE, **more):
    """Run a command to its end; return its exit code, what it printed, and what it said.

    What is given as `first` is done in its process before; it reads what is given as `typed`.
    """
    with TemporaryDirectory(prefix="fettle-call-") as written:
        out, said = Path(written, "out"), Path(written, "said")
        called = _fork(arguments, environment, str(out), str(said), str(folder), **more)
        try:
            async with asyncio.timeout(seconds):
                code = await called.wait()
        finally:
            called.kill()
        return code, out.read_text("utf-8"), said.read_text("utf-8")


CALL = """
import json, os, socket, sys
called = socket.socket(socket.AF_UNIX)
called.connect(sys.argv[1])
wish = [os.getpid(), sys.argv[2:], dict(os.environ), os.getcwd()]
called.sendall(json.dumps(wish).encode() + b"\\n")
sys.exit(int(called.makefile().readline()))
"""


@asynccontextmanager
async def forking_command():
    """Yield a command like `python -m app`, for whoever starts processes of Fettle by itself.

    What it is called for is done in a fork, which writes where the command would have.
    """

    async def fork(reader, writer):
        pid, arguments, environment, folder = json.loads(await reader.readline())
        called = _fork(arguments, environment, *(f"/proc/{pid}/fd/{n}" for n in (1, 2)), folder)
        try:
            done = asyncio.ensure_future(called.wait())
            await asyncio.wait(
                (done, asyncio.ensure_future(reader.read())), return_when="FIRST_COMPLETED"
            )
        finally:
            called.kill()
        writer.write(f"{await done}\n".encode())
        writer.close()

    with TemporaryDirectory(prefix="fettle-call-") as folder:
        listening = str(Path(folder, "asked"))
        async with await asyncio.start_unix_server(fork, listening, limit=2**20):
            yield (sys.executable, "-I", "-S", "-c", CALL, listening)


def takes_longer(seconds, work, *given):
    """Tell whether the work takes more of the processor; it is ended when it does."""
    process = _forking.Process(target=_limit, args=(seconds, work, *given), daemon=True)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGVTALRM)
    return process.exitcode != 0


def _limit(seconds, work, *given):
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    work(*given)


def _fork(*given, **more):
    process = _forking.Process(target=_run, args=given, kwargs=more, daemon=True)
    with chdir(ROOT):  # the first one starts whoever forks, who finds the code from here alone
        process.start()
    return Forked(process)


def _run(arguments, environment, out, said, folder=ROOT, *, first=None, typed=os.devnull):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, path, how in ((0, typed, "rb"), (1, out, "ab"), (2, said, "ab")):
        with Path(path).open(how) as file:
            os.dup2(file.fileno(), number)
    # Those that are there know what they led to before: in a pipe nobody can go back.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    sys.argv = ["fettle", *map(str, arguments)]
    if first is not None:
        first()
    main()
