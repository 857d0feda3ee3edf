"""Keep programs of Fettle's own in the sandbox between two questions: starting them takes long."""

from __future__ import annotations

import asyncio
import base64
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from agents.errors import FettleError
from agents.ports import CommandResult, Kit
from app.git.worktree.installed_dependencies import LentTools
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.bubblewrap.stdio_session import StdioSession, open_session
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.port import Mount, ResourceLimits, Sandbox, SandboxCommand
from app.sandbox.process_group import FLOOD, TIMED_OUT, ProcessExit, build_result

Lend = Callable[[Sequence[str], Sequence[Kit]], AbstractAsyncContextManager[LentTools]]
"""Lends these kits to this command, with a way to the package indexes."""

IDLE = 20.0
"""Seconds after its last answer in which a program may be asked again; then it ends."""
LONGEST_ANSWER = 40_000_000
"""Bytes; it may hold two lock files."""
_CPU = 1800

_Question = tuple[bytes, "asyncio.Future[bytes]"]


_LOOP = """\
said=$(mktemp)
while read -r script; do
  (bash -c "$(base64 -d <<<"$script")" </dev/null >"$said" 2>&1)
  printf '%s ' $?
  base64 -w 0 "$said"
  echo
done
"""
"""Runs each script that it is given as a line, in one sandbox and with one home for all."""


@dataclass
class Residents:
    """The programs that stay for one work tree: of each command line at most one."""

    sandbox: Sandbox
    lend: Lend
    files: tuple[Mount, ...] = ()
    """The files of the work tree, which scripts see and other programs do not."""
    _running: dict[tuple[object, ...], _Resident] = field(default_factory=dict)

    async def ask(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit]
    ) -> bytes | None:
        """Return the answer of the program to this line; None where it gives none in time."""
        resident = self._find((tuple(argv), tuple(kits)), argv, argv, kits, ())
        if resident is None or b"\n" in line:
            return None
        with suppress(TimeoutError):
            return await resident.ask(line, timeout) or None
        return None

    async def run(
        self, script: str, *, named: str, timeout: float, kits: Sequence[Kit], max_output: int
    ) -> CommandResult | None:
        """Run a script of bash where those before it of that name have run; None where none can."""
        began = time.monotonic()
        shell = ("bash", "-c", _LOOP)
        resident = self._find((named, tuple(kits)), shell, [*shell, script], kits, self.files)
        if resident is None:
            return None
        kept = HeadTailBuffer(max_output, FLOOD)
        try:
            said = await resident.ask(base64.b64encode(script.encode()), timeout)
        except TimeoutError:
            ended = ProcessExit(TIMED_OUT, "timeout")
        else:
            if said is None:
                return None
            code, output = _read_answer(said)
            ended = ProcessExit(code, "exit")
            kept.feed(output)
        text = f"{resident.note}{kept.text()}"
        return build_result(ended, text, time.monotonic() - began)

    async def close(self) -> None:
        """End all of them."""
        for resident in self._running.values():
            await resident.end()
        self._running.clear()

    def _find(
        self,
        key: tuple[object, ...],
        argv: Sequence[str],
        about: Sequence[str],
        kits: Sequence[Kit],
        files: tuple[Mount, ...],
    ) -> _Resident | None:
        """Return the program with this key, started if need be; `about` names its tools."""
        if not isinstance(self.sandbox, Bubblewrap):
            return None
        resident = self._running.get(key)
        if resident is None or resident.task.done():
            resident = self._running[key] = _Resident(self.sandbox, argv, files)
            resident.start(self.lend(about, kits))
        return resident


def _read_answer(said: bytes) -> tuple[int, bytes]:
    """Return exit code and output of a script; those of a killed one for what is no answer."""
    code, _, output = said.partition(b" ")
    try:
        return int(code), base64.b64decode(output, validate=True)
    except ValueError:
        return -signal.SIGKILL, b""


@dataclass
class _Resident:
    """A program that is running, or was."""

    sandbox: Bubblewrap
    argv: Sequence[str]
    files: tuple[Mount, ...]
    note: str = ""
    """What is missing, or was refused, for the reader of its output."""
    questions: asyncio.Queue[_Question] = field(default_factory=asyncio.Queue)
    asked: asyncio.Future[bytes] | None = None
    """The question that it got last."""
    task: asyncio.Task[None] = field(init=False)

    def start(self, lending: AbstractAsyncContextManager[LentTools]) -> None:
        """Start the program beside whoever asks it."""
        self.task = asyncio.create_task(self.serve(lending))

    async def ask(self, line: bytes, timeout: float) -> bytes | None:
        """Return the answer; an empty one where the program ended, None where it got no question.

        Raises TimeoutError, and ends it.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.questions.put_nowait((line, answer))
        either: set[asyncio.Future[Any]] = {answer, self.task}
        try:
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and not self.task.done():
                raise TimeoutError
            asked = self.asked is answer
            return answer.result() if answer.done() else b"" if asked else None
        finally:
            if not answer.done() or not answer.result():
                await self.end()

    async def end(self) -> None:
        """End the program, and what it holds."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def serve(self, lending: AbstractAsyncContextManager[LentTools]) -> None:
        """Pass questions on to the program until it ends, or nobody has asked for a while."""
        with suppress(FettleError, OSError, TimeoutError):  # a command will say what is wrong
            async with lending as lent:
                furnishing = lent.furnishing
                command = SandboxCommand(
                    argv=furnishing.argv(self.argv),
                    folder="/workspace" if self.files else "/",
                    mounts=(*furnishing.mounts, *self.files),
                    environment=furnishing.environment,
                    limits=ResourceLimits(cpu=_CPU),
                )
                wrapped = furnishing.wrap(command)
                async with open_session(self.sandbox, wrapped, longest=LONGEST_ANSWER) as session:
                    await self._answer_all(session, lent)

    async def _answer_all(self, session: StdioSession, lent: LentTools) -> None:
        lines = session.read_lines()
        while True:
            async with asyncio.timeout(IDLE):
                line, answer = await self.questions.get()
            self.asked = answer
            await session.send(line)
            said = await anext(lines, b"")
            self.note = lent.note
            if not answer.done():
                answer.set_result(said)
