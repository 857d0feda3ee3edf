"""What holds the event loop shows in a metric."""

from __future__ import annotations

import asyncio
import time

import pytest

from app.observability.loop_lag import LoopLag


async def test_work_that_holds_the_loop_is_seen_and_forgotten():
    lag = LoopLag(every=0.001, kept=0.5)
    watching = asyncio.create_task(lag.watch())
    while not lag._late:
        await asyncio.sleep(0.001)
    time.sleep(0.3)
    await asyncio.sleep(0.01)
    seen = lag.longest
    while lag.longest >= 0.25:  # until it is too long ago
        await asyncio.sleep(0.05)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert seen >= 0.25


async def test_before_the_first_look_it_is_nothing():
    assert LoopLag().longest == 0
