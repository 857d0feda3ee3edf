"""A run goes on for longer than any of GitHub's tokens lives, which here is three minutes.

Nor does it wait for the operator's collector of traces, which is away.
"""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

from tests.flows.conftest import CHECKED

LIFETIME = timedelta(minutes=3)
BETWEEN_ANSWERS = timedelta(minutes=15)


@asynccontextmanager
async def time_flying(place):
    """Let a quarter of an hour pass at GitHub with each answer of the model.

    Never twice before GitHub has let something through: who learns the time from a refusal and
    asks once more at once would find that it is another one again.
    """

    async def fly():
        seen = since = 0
        while True:
            asked, called = len(place.model.requests), place.github.requests
            let_through = any(each.status and each.status < 400 for each in called[since:])
            if asked > seen and let_through:
                place.github.advance_clock(BETWEEN_ANSWERS * (asked - seen))
                seen, since = asked, len(called)
            await asyncio.sleep(0.01)

    flying = asyncio.create_task(fly())
    try:
        yield
    finally:
        flying.cancel()


async def test_a_run_of_more_than_an_hour_gets_through_with_tokens_of_three_minutes(make_place):
    async with make_place(CHECKED, FETTLE_OTLP_URL="http://127.0.0.1:9") as place:
        place.github.tokens.lifetime = LIFETIME
        began = place.github.world.get_time()
        async with time_flying(place):
            await place.label()
            outcome = await place.wait_for_end()

        assert outcome.kind == "pull_request", outcome.text
        assert place.github.world.get_time() - began > timedelta(hours=1)
        minted = [e for e in place.github.requests if e.path.endswith("/access_tokens")]
        assert len(minted) >= 4
        assert len(place.pulls()) == 1
        assert len(place.comments()) == 1
        assert "bot:waiting" not in place.labels()
