"""The results of checking a change to a pull request, in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality.run import CheckComparison, CheckResult, tally, to_code
from agents.requests import Frozen

if TYPE_CHECKING:  # it holds what the checks say, so it imports this package
    from agents.pipelines.stages.push_update import PushResult

_WORSE = "These checks of the repository fail now that passed before: {checks}."
_MORE = "These checks failed before and fail in more places now: {checks}."
_LOOSENED = (
    "The changes take something away from the repository's tests or checks, and nobody has agreed"
    " to that."
)
_PUSHING = "Others kept pushing to the branch while Fettle checked its work on top of theirs."
_NO_CHECKS = "**Not verified:** no checks of the repository can run here."


class VerifiedChange(Frozen):
    """All that we measured of the change, none of it in the model's words."""

    quality: CheckComparison
    inspection: Inspection = Inspection()

    @property
    def ready(self) -> bool:
        """Return whether it is no worse than what was there before."""
        return self.quality.passed and self.inspection.accepted

    def with_landing(self, landing: PushResult) -> VerifiedChange:
        """Return it with what the checks say on top of what others pushed meanwhile."""
        return self.model_copy(update={"quality": landing.quality or self.quality})

    def why_not(self, landing: PushResult | None = None) -> str:
        """Return why it is not pushed, for people."""
        if landing is not None and landing.why_not:
            return landing.why_not
        if self.quality.failing:
            return _worse(self.quality)
        return _PUSHING if self.inspection.accepted else _LOOSENED


def checks_table(quality: CheckComparison, *, other: str = "") -> str:
    """Return the repository's own checks, before and after, as Markdown that is safe to publish.

    `other`: what to call the other branch of a merge.
    """
    if not quality.runs:
        return _NO_CHECKS
    others = quality.baseline.other if other else ()
    heads = ("Check", "Before", *((other,) if others else ()), "After")
    rows = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for number, (before, after) in enumerate(quality.compared):
        runs = (before, *((others[number],) if others else ()), after)
        rows.append(f"| {to_code(after.name)} | {' | '.join(map(_format_ending, runs))} |")
    return "\n".join(rows)


def _worse(quality: CheckComparison) -> str:
    passed = [to_code(e.name) for e in quality.failing if not quality.red_before(e)]
    red = [f"{to_code(e.name)} ({tally(e)})" for e in quality.failing if quality.red_before(e)]
    said = ((_WORSE, passed), (_MORE, red))
    return " ".join(text.format(checks=", ".join(checks)) for text, checks in said if checks)


def _format_ending(run: CheckResult) -> str:
    return f"failed ({tally(run) or f'exit {run.exit_code}'})" if run.exit_code else "passed"
