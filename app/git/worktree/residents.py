"""Keep programs of Fettle's own in the sandbox between two questions: starting them takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from agents.errors import FettleError
from agents.ports import Kit
from app.git.worktree.installed_dependencies import LentTools
from app.sandbox.bubblewrap.backend import Bubblewrap
from app.sandbox.bubblewrap.stdio_session import open_session
from app.sandbox.port import ResourceLimits, Sandbox, SandboxCommand

Lend = Callable[[Sequence[str], Sequence[Kit]], AbstractAsyncContextManager[LentTools]]
"""Lends these kits to this command, with a way to the package indexes."""

IDLE = 20.0
"""Seconds after its last answer in which a program may be asked again; then it ends."""
LONGEST_ANSWER = 40_000_000
"""Bytes; it may hold two lock files."""
_CPU = 1800


@dataclass
class Residents:
    """The programs that stay for one work tree: of each command line at most one."""

    sandbox: Sandbox
    lend: Lend
    _running: dict[tuple[object, ...], _Resident] = field(default_factory=dict)

    async def ask(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit]
    ) -> bytes | None:
        """Return the answer of the program to this line; None where it gives none in time."""
        if not isinstance(self.sandbox, Bubblewrap) or b"\n" in line:
            return None
        key = (tuple(argv), tuple(kits))
        resident = self._running.get(key)
        if resident is None or resident.task.done():
            resident = self._running[key] = _Resident()
            resident.task = asyncio.create_task(
                _serve(self.sandbox, self.lend, argv, kits, resident.questions)
            )
        answer = await resident.ask(line, timeout)
        if answer is None:
            await resident.end()
        return answer

    async def close(self) -> None:
        """End all of them."""
        for resident in self._running.values():
            await resident.end()
        self._running.clear()


_Question = tuple[bytes, "asyncio.Future[bytes | None]"]


@dataclass
class _Resident:
    """A program that is running, or was."""

    questions: asyncio.Queue[_Question] = field(default_factory=asyncio.Queue)
    task: asyncio.Task[None] = field(init=False)

    async def ask(self, line: bytes, timeout: float) -> bytes | None:
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.questions.put_nowait((line, answer))
        either: set[asyncio.Future[Any]] = {answer, self.task}
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


async def _serve(
    sandbox: Bubblewrap,
    lend: Lend,
    argv: Sequence[str],
    kits: Sequence[Kit],
    questions: asyncio.Queue[_Question],
) -> None:
    """Pass questions on to a program until it ends, or nobody has asked for a while."""
    with suppress(FettleError, OSError, TimeoutError):  # a command will say what is wrong
        async with lend(argv, kits) as lent:
            furnishing = lent.furnishing
            command = SandboxCommand(
                argv=furnishing.argv(argv),
                folder="/",
                mounts=tuple(furnishing.mounts),
                environment=furnishing.environment,
                limits=ResourceLimits(cpu=_CPU),
            )
            wrapped = furnishing.wrap(command)
            async with open_session(sandbox, wrapped, longest=LONGEST_ANSWER) as session:
                lines = session.read_lines()
                while True:
                    async with asyncio.timeout(IDLE):
                        line, answer = await questions.get()
                    await session.send(line)
                    said = await anext(lines, None)
                    if not answer.done():
                        answer.set_result(said)
