"""The state of a resolve run: steps or sub-issues, and the verdicts on them."""

from __future__ import annotations

from typing import Literal, Self

from agents.pipelines.resolve.layers import LayeredChange
from agents.pipelines.resolve.sub_issues.order import Order
from agents.pipelines.resolve.triage.triage import Triage
from agents.pipelines.stages.evaluation import EvaluationFindings, Judgement
from agents.pipelines.stages.implement import Assignment, StepResult
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.quality import CheckComparison, headline
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.requests import Frozen


class MeasuredChange(Frozen):
    """All that we measured of the change, none of it in the model's words."""

    quality: CheckComparison
    proof: RegressionProof
    inspection: Inspection
    divided: LayeredChange = LayeredChange()
    """What it is divided into, where it is too large to be read at a time."""

    @property
    def verdict(self) -> Literal["no worse", "worse", "unknown"]:
        """Return what the checks and the proof say of it together."""
        if self.quality.failing or self.proof.failing:
            return "worse"
        untold = self.quality.untold or self.proof.missing or self.proof.untold
        return "unknown" if untold else "no worse"

    @property
    def ready(self) -> bool:
        """Return whether a person can merge it: it is known to be no worse, and nothing is lost.

        A run that an older version began may have written its pull request by that version's rule.
        """
        if self.quality.baseline.form == 1:
            return not self.quality.failing and self.inspection.accepted
        return self.verdict == "no worse" and self.inspection.accepted

    def divide(self, divided: LayeredChange) -> Self:
        """Return the change as what it is divided into."""
        return self.model_copy(update={"divided": divided})

    @property
    def headline(self) -> str:
        """Return what was run and what came of it, in Markdown that is safe to publish."""
        said = headline(self.quality)
        if self.proof.failing:
            return f"{said} The tests of the change fail with it."
        if self.proof.untold:
            return f"{said} The tests of the change could not be run with it."
        return f"{said} No test shows the bug." if self.proof.missing else said


class SubIssueWork(Frozen):
    """What came of one sub-issue."""

    assignment: Assignment
    made: StepResult
    verdict: EvaluationFindings | None = None
    """None when nothing was changed for it."""

    @property
    def done(self) -> bool:
        """Return whether it is resolved: changed, and found good."""
        return self.verdict is not None and self.verdict.passed

    @property
    def why_not(self) -> str:
        """Return why it is not done, in the words of its engineer or its judge: untrusted."""
        if self.verdict is None:
            return self.made.summary
        return self.verdict.missing or "; ".join(self.verdict.flaws) or self.verdict.reasoning


class SetAsideWork(Frozen):
    """Where the work on a sub-issue went that is not part of the change."""

    branch: str
    url: str


class ResolveWork(Frozen):
    """All that was made."""

    finding: Triage
    """What triage found before."""
    made: tuple[StepResult, ...] = ()
    judged: Judgement | None = None
    """The whole change of an issue without sub-issues; None when nothing was changed."""
    parts: tuple[SubIssueWork, ...] = ()
    order: Order = Order()
    aside: SetAsideWork | None = None
    """Where the work went on the sub-issue that could not be done."""
    path: str = ""
    """On which path it was to be made."""
    fast: bool = False
    """Whether triage's conversation went on to make the only step."""
    why_whole: str = ""
    """What spoke against that where it was asked for: untrusted."""
    documents: Judgement | None = None
    """That of sub-issues; None where none was changed for them."""

    @property
    def verdict(self) -> EvaluationFindings | None:
        """Return the verdict on the whole change of an issue without sub-issues."""
        return self.judged.verdict if self.judged else None

    @property
    def documentation_verdict(self) -> EvaluationFindings | None:
        """Return the verdict on the documentation of sub-issues."""
        return self.documents.verdict if self.documents else None

    @property
    def words(self) -> StepResult | None:
        """Return the step whose words are those of the whole change, if there is such a one."""
        return self.made[-1] if self.fast else None

    @property
    def path_note(self) -> str:
        """Return on which path it was made, where the fast one was asked for: untrusted."""
        if self.fast:
            return "Made on the fast path: whoever understood the issue made the change."
        why = self.why_whole or "the issue has sub-issues"
        asked = f"The fast path was asked for; this took the whole one, because {why}."
        return asked if self.path == "fast" else ""

    @property
    def judgement(self) -> Judgement | None:
        """Return what was said of the whole change last, if it was judged."""
        return self.judged or self.documents

    @property
    def blocking_verdict(self) -> EvaluationFindings | None:
        """Return the verdict that leaves the whole work to people, if one does."""
        if self.verdict is not None:
            return self.verdict if self.verdict.stuck else None
        return self.parts[0].verdict if self.parts and not self.done else None

    @property
    def done(self) -> tuple[SubIssueWork, ...]:
        """Return the sub-issues that are resolved."""
        return tuple(part for part in self.parts if part.done)

    @property
    def whole(self) -> bool:
        """Return whether all that was asked for is made and found good."""
        if self.verdict is not None:
            return self.verdict.passed
        if self.documentation_verdict is not None and not self.documentation_verdict.passed:
            return False
        order = self.order
        left = len(order.work) - len(self.done)
        return not (left or order.waiting or order.cycles or order.elsewhere)

    @property
    def all_made(self) -> tuple[StepResult, ...]:
        """Return what every engineer says of what is in the change."""
        return self.made or tuple(part.made for part in self.done)

    @property
    def tried(self) -> tuple[StepResult, ...]:
        """Return what every engineer says, also of what came to nothing."""
        return self.made or tuple(part.made for part in self.parts)

    @property
    def flaws(self) -> tuple[str, ...]:
        """Return what the judges of the whole change or its texts still find wrong: untrusted."""
        judged = self.verdict or self.documentation_verdict
        return judged.flaws if judged and not judged.passed else ()

    @property
    def undone(self) -> tuple[str, ...]:
        """Return each sub-issue that was begun and is not done, with why not: untrusted."""
        left = (part for part in self.parts if not part.done)
        return tuple(f"#{part.assignment.part}: {part.why_not}" for part in left)
