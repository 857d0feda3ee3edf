"""Read and clean long texts of strangers in processes of their own, beside the event loop.

Parsers of Markdown and shell take seconds for texts that are made for it, and nothing else is
answered meanwhile. What is short and plain is done at once. Anything else goes to one of few
processes, each with a cap on its seconds at work and on its memory, and without the environment of
this one, in which operators keep secrets; who asks gets an answer in any case.
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import string
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from agents.text.characters import without_hidden
from agents.text.incoming import Cleaned, clean
from agents.text.outgoing import LIMIT, fence_all, publish

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SHORT = 4_096
"""What a text weighs at most that is read at once: the worst takes a few milliseconds."""
SIGN = 16
"""A character that may mean something to a parser weighs as much as so many that do not."""
PROCESSES = 2
CPU_SECONDS = 10
"""Of work on one text. A second on the clock says nothing on a machine that has much to do."""
CLOCK_SECONDS = 120.0
"""After so long nobody waits any more, whatever the process is doing."""
IDLE_SECONDS = 300.0
"""A process that had nothing to do for so long ends."""
MEMORY = 1024 * 1024 * 1024
"""Bytes of addresses that one process may use."""
KEPT = 16
"""So many cleaned texts are kept."""
UNREAD = "nothing: the text took too long to be read"

P = ParamSpec("P")
T = TypeVar("T")

_cleaned: dict[str, Cleaned] = {}
_WORDS = str.maketrans("", "", string.ascii_letters + string.digits + " \t.,:'/")
_SERVE = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer);"
    "from agents.text.child_process import serve; serve()"
)
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


class Exhausted(Exception):
    """The work took more time or memory than one text is worth."""


async def run_in_child(text: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work on this text returns. Raises Exhausted.

    The work is a function of a module; what it takes and returns can be pickled.
    """
    import asyncio  # noqa: PLC0415 - the processes have no loop, and begin in half the time

    if weigh(text) <= SHORT:
        return work(*args, **kwargs)
    job = _Job(partial(work, *args, **kwargs))
    try:
        async with asyncio.timeout(CLOCK_SECONDS):
            done, result = await asyncio.wrap_future(_pool.threads.submit(job.run))
    except (EOFError, OSError, TimeoutError, pickle.UnpicklingError) as error:
        raise Exhausted(f"{work.__name__} took too much of {len(text)} characters") from error
    finally:
        job.give_up()
        asyncio.get_running_loop().call_later(IDLE_SECONDS, _pool.trim)
    if isinstance(result, MemoryError | RecursionError) and not done:
        raise Exhausted(f"{work.__name__} took too much of {len(text)} characters") from result
    if not done:
        raise result
    return result  # type: ignore[no-any-return] # what the work returns


def weigh(text: str) -> int:
    """Return how much there may be to do with a text: words take little, signs take long."""
    return len(text) if len(text) > SHORT else len(text) + SIGN * len(text.translate(_WORDS))


async def clean_in_child(text: str) -> Cleaned:
    """Return the text without hidden parts; as one block of code where that takes too much.

    Each stage shows the same issue: what it took long to clean is kept for the next.
    """
    if (known := _cleaned.get(text)) is not None:
        return known
    try:
        cleaned = await run_in_child(text, clean, text)
    except Exhausted:
        return Cleaned(fence_all(without_hidden(text)[0]), {UNREAD: 1})
    if weigh(text) > SHORT:
        _cleaned[text] = cleaned
        if len(_cleaned) > KEPT:
            del _cleaned[next(iter(_cleaned))]
    return cleaned


async def publish_in_child(
    text: str,
    *,
    repository_url: str = "",
    mention_ok: frozenset[str] = frozenset(),
    closes: frozenset[int] = frozenset(),
    limit: int = LIMIT,
) -> str:
    """Return the Markdown fit to be published; as one block of code where that takes too much."""
    try:
        return await run_in_child(
            text,
            publish,
            text,
            repository_url=repository_url,
            mention_ok=mention_ok,
            closes=closes,
            limit=limit,
        )
    except Exhausted:
        return fence_all(text, limit=limit)


class _Process:
    """A process that does one piece of work after the other, and ends when this one does."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._child = subprocess.Popen(
            [sys.executable, "-S", "-c", _SERVE],  # its path is sent to it
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
        self._send([str(Path(path).resolve()) for path in sys.path])

    def run(self, work: Callable[[], Any]) -> tuple[bool, Any]:
        """Have it done; return whether it was, and what came of it or was raised.

        Raises EOFError or OSError where the process has ended.
        """
        self._send((work, CPU_SECONDS))
        assert self._child.stdout is not None
        answer: tuple[bool, Any] = pickle.load(self._child.stdout)  # noqa: S301 our own process
        return answer

    def _send(self, what: object) -> None:
        assert self._child.stdin is not None
        pickle.dump(what, self._child.stdin)
        self._child.stdin.flush()

    def rest(self) -> None:
        """Note that from now on it has nothing to do."""
        self.idle_since = time.monotonic()

    def kill(self) -> None:
        """Have it end now; whoever waits for its answer hears that."""
        self._child.kill()

    def end(self) -> None:
        """End it and let go of it."""
        self._child.kill()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was to be sent nobody reads any more
                    pipe.close()
        self._child.wait()


class _Pool:
    """The processes at rest, and the threads that wait for those at work."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []

    @cached_property
    def threads(self) -> ThreadPoolExecutor:
        """Return what waits for the processes; they themselves have none."""
        from concurrent.futures import ThreadPoolExecutor as Threads  # noqa: PLC0415 - as above

        return Threads(PROCESSES, "text")

    def take(self) -> _Process:
        """Return a process that has nothing to do."""
        try:
            return self._idle.pop()
        except IndexError:
            return _Process()

    def give_back(self, process: _Process) -> None:
        """Keep it for the next text."""
        process.rest()
        self._idle.append(process)

    def trim(self, seconds: float = IDLE_SECONDS) -> None:
        """End the processes that had nothing to do for so long."""
        ended = time.monotonic() - seconds
        for process in [each for each in self._idle if each.idle_since <= ended]:
            with suppress(ValueError):  # taken in this moment
                self._idle.remove(process)
                process.end()


class _Job:
    """One piece of work on its way through a process."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._lock = Lock()
        self._process: _Process | None = None
        self._given_up = False

    def run(self) -> tuple[bool, Any]:
        """Have it done, in a thread that waits for it; a process that failed is used no more."""
        with self._lock:
            if self._given_up:
                raise TimeoutError
            self._process = process = _pool.take()
        try:
            answer = process.run(self._work)
        except BaseException:
            self._process = None
            process.end()
            raise
        with self._lock:
            self._process = None
            if self._given_up:
                process.end()
            else:
                _pool.give_back(process)
        return answer

    def give_up(self) -> None:
        """Wait no longer: a process that is still at it is ended."""
        with self._lock:
            self._given_up = True
            if self._process is not None:
                self._process.kill()


def serve() -> None:
    """Do what comes on standard input, in a process that may begin and write nothing else."""
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    for kind, most in ((resource.RLIMIT_AS, MEMORY), *((each, 0) for each in _NOTHING)):
        resource.setrlimit(kind, (most, most))
    _, longest = resource.getrlimit(resource.RLIMIT_CPU)
    while True:
        try:
            work, seconds = pickle.load(source)  # noqa: S301 - from the process that began this
        except EOFError:
            return
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, longest))
        with redirect_stdout(sys.stderr):  # where nobody reads
            answer = _answer(work)
        answers.write(answer)
        answers.flush()


_NOTHING = (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC)


def _answer(work: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps((True, work()))
    except Exception as error:  # noqa: BLE001 - it is raised where the work was asked for
        try:
            return pickle.dumps((False, error))
        except Exception:  # noqa: BLE001 - some cannot leave their process
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))


def _begin() -> None:
    """Begin with no processes: those of the process that forked this one are not its own."""
    global _pool  # noqa: PLW0603 - one for the process, however many loops it has
    _pool = _Pool()


_pool = _Pool()
os.register_at_fork(after_in_child=_begin)
atexit.register(lambda: _pool.trim(0))
