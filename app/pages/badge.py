"""The badge of a public repository, for its README: what was merged, what is open, what it cost.

It is shown to everybody, so it holds numbers alone, of repositories that everybody can read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web
from cachetools import TTLCache

from app.pages.page_context import PageContext
from app.pages.render import render_text
from app.store.pages.badge_numbers import BadgeNumbers, read_badge

KEPT_SECONDS = 300
"""How long the numbers are used: everybody may ask, and each time would read a year's runs."""
MOST_KEPT = 1_000
CHARACTER, MARGIN = 6.6, 10
"""Pixels of a character of the font, on average, and beside the words."""
LABEL = "fettle"


@dataclass(frozen=True)
class _Box:
    """A part of the badge: its words, and where they stand."""

    words: str
    left: float

    @property
    def width(self) -> float:
        return round(len(self.words) * CHARACTER + MARGIN, 1)

    @property
    def middle(self) -> float:
        return round(self.left + self.width / 2, 1)


class BadgePage:
    """Answers with the badge of a repository."""

    def __init__(
        self, context: PageContext, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._context = context
        self._known: TTLCache[str, BadgeNumbers | None] = TTLCache(
            MOST_KEPT, KEPT_SECONDS, timer=clock
        )

    async def show(self, request: web.Request) -> web.Response:
        """Show it to everybody. Raises HTTPNotFound for what is private, or unknown here."""
        name = "{owner}/{name}".format(**request.match_info)[:200].lower()
        if name not in self._known:
            found = await self._context.database.read(lambda c: read_badge(c, name))
            self._known[name] = found
        numbers = self._known[name]
        if numbers is None:
            raise web.HTTPNotFound
        label = _Box(LABEL, 0)
        words = f"{numbers.merged} merged · {numbers.open} open · ${numbers.usd:,.2f}"
        value = _Box(words, label.width)
        text = render_text("badge.svg", {"label": label, "value": value})
        # Others show it in their pages: GitHub's readers fetch it by its own proxy.
        headers = {
            "Cache-Control": f"max-age={KEPT_SECONDS}",
            "Cross-Origin-Resource-Policy": "cross-origin",
        }
        return web.Response(text=text, content_type="image/svg+xml", headers=headers)
