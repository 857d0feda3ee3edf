"""Server-sent events of one run: each says that there is something new to load.

The id of an event tells how far the run was, so whoever comes back with `Last-Event-ID`
hears of what came meanwhile. https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable

from aiohttp import web
from cachetools import TTLCache

from app.pages.ground import PageGround
from app.pages.render import HEADERS, LOGIN, refuse
from app.store.page_logins import PageLogin
from app.store.runs import KeptRun, RunProgress
from app.views.timeline import UNDER_WAY

LOOK_SECONDS = 1.0
HEARTBEAT_SECONDS = 15.0
MOST_STREAMS, MOST_OF_ONE = 200, 8


class RunEvents:
    """The streams of all who look at runs."""

    def __init__(self, ground: PageGround) -> None:
        self._ground = ground
        self._open: Counter[str] = Counter()
        self._looks: TTLCache[str, Awaitable[RunProgress | None]] = TTLCache(
            MOST_STREAMS, LOOK_SECONDS / 2
        )

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Tell of news until the run has ended, the login is over, or nobody listens."""
        run, login = await self._ground.find_run(request), request[LOGIN]
        if self._open.total() >= MOST_STREAMS or self._open[login.name] >= MOST_OF_ONE:
            return refuse(request, 503, "Too many pages are open", "Close some, or reload later.")
        self._open[login.name] += 1
        try:
            return await self._tell(request, run, login)
        except ConnectionError:  # whoever listened has gone
            return web.Response()
        finally:
            self._open[login.name] -= 1

    async def _tell(
        self, request: web.Request, run: KeptRun, login: PageLogin
    ) -> web.StreamResponse:
        access = self._ground.access
        stream = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await stream.prepare(request)
        seen = request.headers.get("Last-Event-ID") or request.query.get("after", "")
        spoke = time.monotonic()
        while time.time() < login.expires_at and not _is_gone(request):
            found = await self._look(run.id)
            if found is None or not await access.can_see(login, run):
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
            await asyncio.sleep(LOOK_SECONDS)
        return stream

    async def _look(self, run_id: str) -> RunProgress | None:
        """Return how far the run is; who looks at the same run shares one look."""
        if run_id not in self._looks:
            history = self._ground.history
            self._looks[run_id] = asyncio.ensure_future(history.progress(run_id))
        return await self._looks[run_id]


def _is_gone(request: web.Request) -> bool:
    """Tell whether nobody listens any more: it would be noticed only at the next write."""
    return request.transport is None or request.transport.is_closing()
