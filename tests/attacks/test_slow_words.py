"""Whoever reads long texts of strangers answers everybody else meanwhile."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest

from agents.text import clean
from tests.flows.forked import takes_longer
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

LONGEST = 65_000
PROMPT = 0.1
"""Seconds in which `/healthz` answers on an idle machine, whatever is being read."""
TRIES = 4
LIST = "- a\n" * (LONGEST // 4)
TABLE = 20_000
"""Long enough to take most of a second where it is read on the one loop."""
ROWS = "a|b\n-|-\n" + "a|\n" * (TABLE // 3 - 3)
COLUMNS = 1_000
WIDE = f"|{'a|' * COLUMNS}\n|{'-|' * COLUMNS}\n" + "|\n" * ((TABLE - 4 * COLUMNS) // 2 - 3)
UNSEEN = "a\u200b" * (LONGEST // 2)
SHORT_TABLE = f"|{'a|' * 1_000}\n|{'-|' * 1_000}\n|\n|\n"
"""Under 4 kB, and yet it took half a second."""
SLOW = {
    "rows": ROWS,
    "columns": WIDE,
    "what nobody sees": UNSEEN,
    "a short table": SHORT_TABLE,
}
ORDINARY = "It adds wrong."


class Pulse:
    """Asks `/healthz` again and again, and keeps how long the slowest answer took."""

    def __init__(self, url):
        self.url, self.slowest = f"{url}/healthz", 0.0

    async def beat(self):
        """Ask until cancelled."""
        async with aiohttp.ClientSession() as session:
            while True:
                began = time.monotonic()
                async with session.get(self.url) as answer:
                    await answer.read()
                self.slowest = max(self.slowest, time.monotonic() - began)
                await asyncio.sleep(0.02)


async def measure(place, body, *comments):
    """Return how long the slowest answer took beside a run about such an issue."""
    issue = await place.file("Sums are off", body)
    pulse = Pulse(place.server.url)
    beating = asyncio.create_task(pulse.beat())
    before = len(await place.runs())
    for comment in comments:
        await place.github.comment(place.repository, issue.number, place.people["mara"], comment)
    await place.label(issue=issue)
    await place.all_done(before + 1)
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    return pulse.slowest


@pytest.mark.attack(15)
async def test_a_long_text_holds_up_nobody(hostile, attempts):
    """Beside an ordinary issue the same machine was as slow for other reasons: that is the slack.

    What holds the loop holds it each time; what else slows the machine down does not. One run has
    all texts: whichever holds the loop is found.
    """
    async with hostile() as place:
        for _ in range(TRIES):
            slack = max(1.0, await measure(place, ORDINARY, ORDINARY) / (PROMPT / 2))
            took = await measure(place, LIST, *SLOW.values())
            if held := took <= PROMPT * slack:
                break
    for name, text in {"lists": LIST, **SLOW}.items():
        bites = takes_longer(PROMPT, clean, text)  # as a bot that reads on its one loop
        attempts.note(name, blocked=held, detail=f"{took:.3f} s, slack {slack:.1f}", bites=bites)
