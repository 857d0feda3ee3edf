"""What a run may use up: alerts leave a share of each day to what people ask for."""

from __future__ import annotations

import pytest

from agents.errors import BudgetExceeded, DayOver
from agents.loop.budget import RunLimits, Spent
from agents.policy import Budget

OPERATOR = RunLimits(usd=10, turns=100, minutes=60, usd_per_day=100)
POLICY = Budget(usd=5, usd_per_day=40)


def make_spent(today):
    return Spent(usd=1, turns=1, minutes=1, usd_today=today)


def test_runs_that_people_ask_for_have_the_whole_day():
    make_spent(39).check(OPERATOR.limit_to(POLICY))
    with pytest.raises(DayOver, match="used up the budget of the day"):
        make_spent(40).check(OPERATOR.limit_to(POLICY))


def test_runs_that_only_alerts_ask_for_leave_half_of_it():
    limits = OPERATOR.limit_to(POLICY, unasked=True)
    make_spent(19).check(limits)
    with pytest.raises(DayOver, match="kept for what people ask for"):
        make_spent(20).check(limits)


def test_they_are_told_to_wrap_up_before_that():
    assert make_spent(18).share(OPERATOR.limit_to(POLICY, unasked=True)) == 0.9
    assert make_spent(18).share(OPERATOR.limit_to(POLICY)) == 0.45


def test_what_a_run_uses_up_by_itself_is_not_the_days():
    with pytest.raises(BudgetExceeded) as raised:
        Spent(usd=5, turns=1, minutes=1, usd_today=39).check(OPERATOR.limit_to(POLICY))
    assert not isinstance(raised.value, DayOver)
