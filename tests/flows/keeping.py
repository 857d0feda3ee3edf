"""A server for one test after the other: what a start costs is paid once for a whole module."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.flows import used

ONE_LOOP = pytest.mark.asyncio(loop_scope="module")
"""The mark of modules whose tests share a server: it lives in one event loop."""


class Keep:
    """Holds a place between tests, for as long as each leaves it as it would like to find it."""

    def __init__(self, opening):
        self._opening, self._stack, self._place = opening, AsyncExitStack(), None

    @asynccontextmanager
    async def lend(self, node, story, *given):
        """Yield the place, moved into this story's repository; a new one where there is none."""
        if self._place is None:
            self._place = await self._stack.enter_async_context(self._opening(*given))
        place, rested = self._place, False
        try:
            await place.move(*story)
            yield place
            rested = not place.server.ended and await place.is_at_rest()
        finally:
            used.tell(node, place.github.tokens.used)
            if not rested:
                await self.close()

    async def close(self):
        """End the server and all around it; the next test gets another."""
        self._place = None
        await self._stack.aclose()
