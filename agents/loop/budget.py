"""The budget of a run: dollars, turns and minutes, counted from recorded turns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from agents.errors import BudgetExceeded, DayOver
from agents.policy import Budget

WRAP_UP_AT = 0.8
_MORE = (
    "To go on, write `/bot retry` once there is more: raise `budget` in `.github/fettle.yml`, or"
    " the operator's limit."
)
FOR_ALERTS = 0.5
"""The share of a day's budget that is left to people by runs which nobody but alerts asks for."""
_NOT_PEOPLES = (
    "The runs on this repository used up what alerts may of the budget of the day:"
    " {today}. The rest of it is kept for what people ask for; open alerts are looked at again by"
    " their schedule."
)
_TOMORROW = (
    "That day ends at midnight UTC; to go on, write `/bot retry` then, or raise"
    " `budget.usd_per_day` in `.github/fettle.yml` (or the operator's limit) before."
)


@dataclass(frozen=True)
class RunLimits:
    """The most that one run may use up."""

    usd: float
    turns: int
    minutes: float
    usd_per_day: float = math.inf
    """Dollars of all runs on the repository in one day."""
    unasked: bool = False
    """No person asked for the run, so it leaves a share of the day's budget to people."""

    def limit_to(
        self, budget: Budget, more_usd: float = 0.0, *, unasked: bool = False
    ) -> RunLimits:
        """Return the stricter of these limits and the repository owners' budget.

        `more_usd` is what people gave the run beyond that budget; turns and minutes grow with it.
        """
        usd = budget.usd + more_usd
        growth = usd / budget.usd
        return RunLimits(
            usd=min(self.usd, usd),
            turns=min(self.turns, round(budget.turns * growth)),
            minutes=min(self.minutes, budget.minutes * growth),
            usd_per_day=min(self.usd_per_day, budget.usd_per_day)
            * (1 - FOR_ALERTS if unasked else 1),
            unasked=unasked,
        )


@dataclass(frozen=True)
class Spent:
    """What a run has used up so far."""

    usd: float
    turns: int
    minutes: float
    """Of work: waiting for a place, for a person or for a restart does not count."""
    usd_today: float = 0.0
    """Of all runs on the repository, this one included."""

    def and_one(self, usd: float) -> Spent:
        """Return it with one more answer of this price."""
        return replace(
            self, usd=self.usd + usd, turns=self.turns + 1, usd_today=self.usd_today + usd
        )

    def share(self, limits: RunLimits) -> float:
        """Return the largest used share of any limit; 1.0 means used up."""
        return max(
            self.usd / limits.usd,
            self.turns / limits.turns,
            self.minutes / limits.minutes,
            self.usd_today / limits.usd_per_day,
        )

    def check(self, limits: RunLimits) -> None:
        """Raise BudgetExceeded once a limit is reached."""
        for used, limit, text in (
            (self.usd, limits.usd, f"${self.usd:.2f} of ${limits.usd:.2f} for the model"),
            (self.turns, limits.turns, f"{self.turns} of {limits.turns} model answers"),
            (self.minutes, limits.minutes, f"{self.minutes:.0f} of {limits.minutes:.0f} minutes"),
        ):
            if used >= limit:
                raise BudgetExceeded(f"The run used up its budget: {text}. {_MORE}")
        if self.usd_today >= limits.usd_per_day:
            today = f"${self.usd_today:.2f} of ${limits.usd_per_day:.2f}"
            if limits.unasked:
                raise DayOver(_NOT_PEOPLES.format(today=today))
            raise DayOver(
                f"The runs on this repository used up the budget of the day: {today}. {_TOMORROW}"
            )
