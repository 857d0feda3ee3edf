"""Server-sent events of one run: each says that there is something new to load.

The id of an event tells how far the run was, so whoever comes back with `Last-Event-ID`
hears of what came meanwhile. https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress

import structlog
from aiohttp import web

from agents.errors import TransientError
from app.pages.page_context import PageContext
from app.pages.render import HEADERS, LOGIN, refuse
from app.store.pages.logins import PageLogin
from app.store.runs import History, KeptRun, RunProgress
from app.views.timeline import UNDER_WAY

LOOK_SECONDS = 0.25
"""How often the store is asked: once for all runs that somebody looks at."""
GLANCE_SECONDS = 5.0
"""How often it is seen whether a listener has gone."""
HEARTBEAT_SECONDS = 15.0
MOST_STREAMS, MOST_OF_ONE = 200, 8

log = structlog.get_logger()


class ProgressWatch:
    """Knows how far the runs are that somebody looks at; it asks for all of them together."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._wanted: Counter[str] = Counter()
        self._known: dict[str, RunProgress | None] = {}
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def begin(self, run_id: str) -> None:
        """Watch a run until `end`."""
        self._wanted[run_id] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    def end(self, run_id: str) -> None:
        """Watch the run no more, once for each `begin`."""
        self._wanted[run_id] -= 1
        if not self._wanted[run_id]:
            del self._wanted[run_id]
            self._known.pop(run_id, None)

    async def wait(self, run_id: str, last: RunProgress) -> RunProgress | None:
        """Return how far the run is, once that is not the last any more, or after a moment.

        None: it is there no more.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(GLANCE_SECONDS), self._news:
                await self._news.wait_for(lambda: self._known.get(run_id, last) != last)
        return self._known.get(run_id, last)

    async def _look(self) -> None:
        """Ask for all of them, as long as somebody looks at one."""
        seen: object = None
        while self._wanted:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                seen = await self._tell_news(seen)
            except TransientError:  # the next look tells
                pass
            except Exception:
                log.exception("runs not looked at, will be tried again")

    async def _tell_news(self, seen: object) -> object:
        """Tell who waits what is new since the digest `seen`; return the digest of now."""
        asked = list(self._wanted)
        now = (asked, await self._history.progress_digest(asked))
        if now == seen:
            return seen
        found = await self._history.progress(asked)
        known = {name: found.get(name) for name in asked if name in self._wanted}
        if known != self._known:
            async with self._news:
                self._known = known
                self._news.notify_all()
        return now


class RunEvents:
    """The streams of all who look at runs."""

    def __init__(self, context: PageContext) -> None:
        self._context = context
        self._open: Counter[str] = Counter()
        self._watch = ProgressWatch(context.history)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Tell of news until the run has ended, the login is over, or nobody listens."""
        run, login = await self._context.find_run(request), request[LOGIN]
        if self._open.total() >= MOST_STREAMS or self._open[login.name] >= MOST_OF_ONE:
            return refuse(request, 503, "Too many pages are open", "Close some, or reload later.")
        self._open[login.name] += 1
        self._watch.begin(run.id)
        try:
            return await self._tell(request, run, login)
        except ConnectionError:  # whoever listened has gone
            return web.Response()
        finally:
            self._watch.end(run.id)
            self._open[login.name] -= 1

    async def _tell(
        self, request: web.Request, run: KeptRun, login: PageLogin
    ) -> web.StreamResponse:
        found = (await self._context.history.progress([run.id])).get(run.id)
        stream = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await stream.prepare(request)
        seen = request.headers.get("Last-Event-ID") or request.query.get("after", "")
        spoke = time.monotonic()
        while time.time() < login.expires_at and not _is_gone(request):
            if found is None or not await self._context.access.can_see(login, run):
                break  # it is gone, or they may not see it any more
            if found.mark != seen:
                event = f"id: {found.mark}\nevent: news\ndata: {found.state}\n\n"
                await stream.write(event.encode())
                seen, spoke = found.mark, time.monotonic()
            if found.state not in UNDER_WAY:
                await stream.write(b"event: end\ndata: it has ended\n\n")
                break
            if time.monotonic() - spoke > HEARTBEAT_SECONDS:
                await stream.write(b": still there\n\n")
                spoke = time.monotonic()
            found = await self._watch.wait(run.id, found)
        return stream


def _is_gone(request: web.Request) -> bool:
    """Tell whether nobody listens any more: it would be noticed only at the next write."""
    return request.transport is None or request.transport.is_closing()
