"""Writes are spaced and in order; a pause that GitHub asked for holds for everybody."""

from __future__ import annotations

import asyncio

import pytest

from agents.errors import TransientError
from app.github.transport.throttle import (
    AT_ONCE,
    HOUR,
    HOURLY,
    KEPT_FOR_PEOPLE,
    PATIENCE,
    PriorityLock,
    Throttle,
)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock():
    return Clock()


async def test_writes_are_spaced(clock):
    pace, times = Throttle(spacing=1, clock=clock, sleep=clock.sleep), []

    async def write() -> None:
        async with pace.write():
            times.append(clock.now)

    await asyncio.gather(*(write() for _ in range(4)))

    assert times == [100, 101, 102, 103]


async def test_one_write_at_a_time(clock):
    pace, inside = Throttle(spacing=0, clock=clock, sleep=clock.sleep), []

    async def write() -> None:
        async with pace.write():
            inside.append(1)
            await asyncio.sleep(0.001)
            assert sum(inside) == 1
            inside.append(-1)

    await asyncio.gather(*(write() for _ in range(10)))


async def test_answers_to_people_go_before_progress(clock):
    pace, order = Throttle(spacing=1, clock=clock, sleep=clock.sleep), []
    async with pace.write():
        pass

    async def write(name: str, *, yielding: bool) -> None:
        async with pace.write(yielding=yielding):
            order.append(name)

    await asyncio.gather(
        write("progress 1", yielding=True),
        write("progress 2", yielding=True),
        write("answer 1", yielding=False),
        write("answer 2", yielding=False),
    )

    assert order[:2] == ["answer 1", "answer 2"]
    assert sorted(order[2:]) == ["progress 1", "progress 2"]
    assert clock.now >= 104


async def test_reads_are_not_spaced_but_few_at_once(clock):
    pace, now, most = Throttle(spacing=9, clock=clock, sleep=clock.sleep), 0, 0

    async def read() -> None:
        nonlocal now, most
        async with pace.read():
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    await asyncio.gather(*(read() for _ in range(50)))

    assert most == AT_ONCE
    assert clock.now == 100


async def test_a_short_pause_is_waited_out(clock):
    pace = Throttle(spacing=0, clock=clock, sleep=clock.sleep)
    pace.hold(5)
    async with pace.read():
        assert clock.now == 105


async def test_a_long_pause_frees_the_caller(clock):
    pace = Throttle(spacing=0, clock=clock, sleep=clock.sleep)
    pace.hold(PATIENCE + 40)
    with pytest.raises(TransientError) as error:
        async with pace.write():
            pytest.fail("must not be reached")

    assert error.value.retry_after == PATIENCE + 40
    clock.now += PATIENCE + 41
    async with pace.write():
        pass


async def test_a_failure_inside_gives_the_turn_back(clock):
    pace = Throttle(spacing=0, clock=clock, sleep=clock.sleep)
    with pytest.raises(RuntimeError):
        async with pace.write():
            raise RuntimeError
    async with asyncio.timeout(PATIENCE), pace.write():
        pass


async def test_a_writer_cancelled_while_it_waits_for_its_time_gives_the_turn_back():
    pace = Throttle(spacing=0.2)
    async with pace.write():
        pass

    async def write() -> None:
        async with pace.write():
            pass

    waiting = asyncio.create_task(write())
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait({waiting})
    async with asyncio.timeout(PATIENCE):
        await write()


async def test_cancelled_waiters_do_not_keep_the_turn():
    turns = PriorityLock()
    await turns.take(yielding=False)
    waiters = [asyncio.create_task(turns.take(yielding=False)) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[0].cancel()
    turns.leave()  # hands the turn to the second …
    waiters[1].cancel()  # … which is cancelled in the same moment
    await asyncio.wait(waiters, timeout=1)

    assert [task.cancelled() for task in waiters] == [True, True, False]
    turns.leave()
    async with asyncio.timeout(PATIENCE):
        await turns.take(yielding=True)


async def test_calls_that_were_under_way_together_meet_one_limit(clock):
    pace = Throttle(spacing=0, clock=clock, sleep=clock.sleep)
    asked_at = clock.now
    for _ in range(5):
        assert pace.strikes_at(asked_at) == 0
        pace.hold(60, asked_at)
    assert pace.strikes == 1
    clock.now += 61
    assert pace.strikes_at(clock.now) == 1, "the next one that is refused is the second in a row"


async def test_an_answer_does_not_wait_for_progress_that_has_no_room_in_the_hour(clock):
    pace = Throttle(spacing=0, clock=clock, sleep=clock.sleep)
    for _ in range(HOURLY - KEPT_FOR_PEOPLE):
        async with pace.write():
            pass
    clock.now += HOUR - 15  # in a quarter of a minute there is room
    with pytest.raises(TransientError) as error:
        async with pace.write(yielding=True):
            pytest.fail("must not be reached")
    assert error.value.retry_after == 15
    before = clock.now
    async with pace.write():
        assert clock.now == before
