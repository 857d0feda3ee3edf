"""The dollars that a run may spend, set by the policy, the operator and `/bot budget`."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agents.errors import RunError
from agents.policy import Budget, InvalidPolicy
from agents.requests import Command
from app.policies.gate import PolicyOf
from app.store.runs import StoredSteers

log = structlog.get_logger()


@dataclass(frozen=True)
class Allowance:
    """Dollars for the models of one run."""

    usd: float
    """The run's present allowance."""
    room: float
    """How much people can add before the operator's limit is reached."""
    most: float
    """The operator's limit."""
    day: float
    """Dollars for all runs on the repository in a day."""


@dataclass(frozen=True)
class RunAllowance:
    """Knows the dollars that runs may spend."""

    steers: StoredSteers
    policy: PolicyOf
    most: float
    most_per_day: float

    async def compute(self, command: Command, run_id: str, *, besides: str = "") -> Allowance:
        """Return this run's allowance; `besides`: the key of a grant that is left out."""
        budget = await self._budget(command)
        given = budget.usd + await self.steers.sum_granted(run_id, besides=besides)
        return Allowance(
            usd=min(self.most, given),
            room=round(max(0.0, self.most - given), 2),
            most=self.most,
            day=min(self.most_per_day, budget.usd_per_day),
        )

    async def _budget(self, command: Command) -> Budget:
        """Return the budget of the repository now; what is wrong with it, runs say."""
        try:
            found = await self.policy(command)
        except RunError as error:
            log.info("policy not read", reason=str(error))
            return Budget()
        return Budget() if isinstance(found, InvalidPolicy) else found.policy.budget
