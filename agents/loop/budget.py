"""Step 7: what a run may use up: dollars, turns and minutes, counted by us, not by the model."""

from __future__ import annotations

from dataclasses import dataclass

from agents.errors import BudgetExceeded
from agents.policy import Budget

WRAP_UP_AT = 0.8


@dataclass(frozen=True)
class Limits:
    """The most that one run may use up."""

    usd: float
    turns: int
    minutes: float

    def within(self, budget: Budget) -> Limits:
        """Return the stricter of these limits and the repository owners' budget."""
        return Limits(
            usd=min(self.usd, budget.usd),
            turns=min(self.turns, budget.turns),
            minutes=min(self.minutes, budget.minutes),
        )


@dataclass(frozen=True)
class Spent:
    """What a run has used up so far."""

    usd: float
    turns: int
    minutes: float
    """Of work: waiting for a place, for a person or for a restart does not count."""

    def share(self, limits: Limits) -> float:
        """Return the largest used share of any limit; 1.0 means used up."""
        return max(self.usd / limits.usd, self.turns / limits.turns, self.minutes / limits.minutes)

    def check(self, limits: Limits) -> None:
        """Raise BudgetExceeded once a limit is reached."""
        for used, limit, text in (
            (self.usd, limits.usd, f"${self.usd:.2f} of ${limits.usd:.2f} for the model"),
            (self.turns, limits.turns, f"{self.turns} of {limits.turns} model answers"),
            (self.minutes, limits.minutes, f"{self.minutes:.0f} of {limits.minutes:.0f} minutes"),
        ):
            if used >= limit:
                raise BudgetExceeded(
                    f"The run used up its budget: {text}. To allow more, raise `budget` in"
                    " `.github/fettle.yml` (or the operator's limit), then set the label again:"
                    " the work begins anew."
                )
