"""How long the head of a conversation is kept in the cache, against the rules of the API."""

from __future__ import annotations

import pytest

from agents.loop.cache_lifetime import DAY, HOUR, LONG, MINUTES, SHORT, CacheLifetimes
from agents.ports import Query
from app.simulator.model.cache import PrefixCache

TOOLS = [{"name": "read"}, {"name": "submit_step"}]
PRICES = {"written_5m": 1.25, "written_1h": 2.0, "read": 0.1, "input": 1.0}


def query(model="big", system="x" * 16_000):
    return Query(model=model, system=system, tools=TOOLS, messages=())


class SteppedClock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return SteppedClock()


@pytest.fixture
def use(clock):
    """Return what uses the prefix after these seconds, and says for how long it is kept."""
    lifetimes = CacheLifetimes(clock)

    def choose_after(seconds, asked=None):
        clock.now += seconds
        return lifetimes.choose(asked or query())

    return choose_after


def test_turns_that_follow_each_other_take_minutes(use):
    assert [use(290.0) for _ in range(30)] == [MINUTES] * 30


def test_a_pause_that_an_hour_would_have_outlived_makes_it_an_hour_for_a_day(use):
    assert use(0) == MINUTES
    assert use(SHORT + 1) == HOUR
    assert use(1) == HOUR
    assert use(LONG + 1) == HOUR, "what was seen a day ago is likely today"
    assert use(DAY) == MINUTES


def test_a_pause_that_no_lifetime_outlives_changes_nothing(use):
    assert [use(LONG + 1) for _ in range(3)] == [MINUTES] * 3


def test_each_prefix_has_its_own(use):
    other = query(model="small")
    use(0)
    use(0, other)
    assert use(SHORT + 1) == HOUR
    assert use(0, query(system="y")) == MINUTES
    assert use(0, other) == HOUR


def bill(gaps, choose):
    """Return what the prefix costs, in times of its input, used once after each of these gaps."""
    clock = SteppedClock()
    cache, cost = PrefixCache(clock), 0.0
    lifetimes = CacheLifetimes(clock)
    for gap in gaps:
        clock.now += gap
        marker = choose(lifetimes)
        system = [{"type": "text", "text": "x" * 16_000, "cache_control": dict(marker)}]
        used = cache.account({"model": "big", "system": system, "messages": []})
        cost += sum(getattr(used, name) * price for name, price in PRICES.items()) / 4_000
    return cost


RUN = [60.0] * 12
WORK = {
    "one run a morning": [50_000.0, *RUN],
    "a run every two hours": [7_200.0, *RUN] * 8,
    "a run every half an hour": [1_800.0, *RUN] * 8,
    "runs without a pause": RUN * 8,
    "slow checks in each run": [7_200.0, *RUN, 600.0, *RUN] * 8,
}


@pytest.mark.parametrize("work", WORK)
def test_it_never_costs_much_more_than_the_better_of_the_two(work):
    ours = bill(WORK[work], lambda lifetimes: lifetimes.choose(query()))
    minutes = bill(WORK[work], lambda lifetimes: MINUTES)
    hours = bill(WORK[work], lambda lifetimes: HOUR)
    assert ours <= min(minutes, hours) + 1.25, (ours, minutes, hours)
    print(f"{work}: {ours:.2f}, minutes {minutes:.2f}, hours {hours:.2f}")
