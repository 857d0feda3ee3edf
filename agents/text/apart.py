"""Read and clean long texts of strangers in processes of their own, beside the event loop.

Parsers of Markdown and shell take seconds for texts that are made for it, and nothing else is
answered meanwhile. What is short is done at once. What is long goes to one of few processes, each
with a cap on its seconds at work and on its memory; who asks gets an answer in any case.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process
from anyio.lowlevel import RunVar

from agents.text.characters import without_hidden
from agents.text.incoming import Cleaned, clean
from agents.text.outgoing import LIMIT, fence_all, publish

SHORT = 4_096
"""Characters that are read at once: the worst of them take a few milliseconds."""
PROCESSES = 2
CPU_SECONDS = 10
"""Of work on one text. A second on the clock says nothing on a machine that has much to do."""
CLOCK_SECONDS = 120.0
"""After so long nobody waits any more, whatever the process is doing."""
MEMORY = 1024 * 1024 * 1024
"""Bytes of addresses that one process may use."""
UNREAD = "nothing: the text took too long to be read"

P = ParamSpec("P")
T = TypeVar("T")

_limiter: RunVar[CapacityLimiter] = RunVar("fettle_text_processes")


class Exhausted(Exception):
    """The work took more time or memory than one text is worth."""


async def run_apart(size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what the work returns on texts of `size` characters in all. Raises Exhausted.

    The work is a function of a module; what it takes and returns can be pickled.
    """
    if size <= SHORT:
        return work(*args, **kwargs)
    try:
        async with asyncio.timeout(CLOCK_SECONDS):
            bounded = partial(_run_bounded, partial(work, *args, **kwargs), CPU_SECONDS)
            return await to_process.run_sync(bounded, cancellable=True, limiter=_get_limiter())
    except (BrokenWorkerProcess, MemoryError, RecursionError, TimeoutError) as error:
        raise Exhausted(f"{work.__name__} took too much for {size} characters") from error


async def clean_apart(text: str) -> Cleaned:
    """Return the text without hidden parts; as one block of code where that takes too much."""
    try:
        return await run_apart(len(text), clean, text)
    except Exhausted:
        return Cleaned(fence_all(without_hidden(text)[0]), {UNREAD: 1})


async def publish_apart(
    text: str,
    *,
    repository_url: str = "",
    mention_ok: frozenset[str] = frozenset(),
    closes: frozenset[int] = frozenset(),
    limit: int = LIMIT,
) -> str:
    """Return the Markdown fit to be published; as one block of code where that takes too much."""
    try:
        return await run_apart(
            len(text),
            publish,
            text,
            repository_url=repository_url,
            mention_ok=mention_ok,
            closes=closes,
            limit=limit,
        )
    except Exhausted:
        return fence_all(text, limit=limit)


def _get_limiter() -> CapacityLimiter:
    """Return what counts the processes of this event loop."""
    try:
        return _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(PROCESSES)
        _limiter.set(limiter)
        return limiter


def _run_bounded(work: Callable[[], T], seconds: int) -> T:
    """Do the work in a process that ends when it takes too much."""
    seconds += int(time.process_time()) + 1
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return work()
