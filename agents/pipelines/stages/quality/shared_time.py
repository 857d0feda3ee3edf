"""Share the time that guessed checks may take: of many folders, one must not take it all.

Checks that people named have the time that stands beside them. What the checks took before the
change decides how long they may take with it, so that both are measured alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.pipelines.stages.quality.results import BY_POLICY, CheckResult, RepositoryCheck

ALL_SECONDS = 3_600.0
LEAST = 60.0
_MORE, _SLACK = 3.0, 60.0  # times as long, and seconds besides, that a check may take next time

_SAID = "; {count} checks share {minutes:.0f} minutes, and those of touched folders come first"


@dataclass
class SharedTime:
    """The time that is left for checks, in the order in which they run."""

    clock: Callable[[], float]
    until: float

    @classmethod
    def begin(cls, clock: Callable[[], float]) -> SharedTime:
        """Return it from now on."""
        return cls(clock, clock() + ALL_SECONDS)

    def limit(self, check: RepositoryCheck, waiting: int) -> RepositoryCheck:
        """Return the check with its share, where so many wait for theirs, itself included."""
        share = max((self.until - self.clock()) / waiting, LEAST)
        return check.model_copy(update={"timeout": min(check.timeout, share)})

    def is_worth_another(self, run: CheckResult, check: RepositoryCheck, waiting: int) -> bool:
        """Return whether a check that was stopped gets more time now than it had."""
        return run.stopped and self.limit(check, waiting).timeout > run.timeout * 1.5


def describe_share(checks: Sequence[RepositoryCheck], source: str) -> str:
    """Return how the time is shared, for people; nothing where each check has all of its own."""
    if source == BY_POLICY or sum(check.timeout for check in checks) <= ALL_SECONDS:
        return ""
    return _SAID.format(count=len(checks), minutes=ALL_SECONDS / 60)


def allow_for(run: CheckResult, check: RepositoryCheck) -> CheckResult:
    """Return the run with the time that the same check may take with a change."""
    enough = max(run.timeout, run.seconds * _MORE + _SLACK)
    return run.model_copy(update={"timeout": min(check.timeout, enough)})
