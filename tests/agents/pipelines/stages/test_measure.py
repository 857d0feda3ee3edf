"""What is measured of a change goes back to the engineer where its own tests fail with it."""

from dataclasses import dataclass, field

import pytest

from agents.pipelines.stages.implement import ChangeGoal, StepResult
from agents.pipelines.stages.pipeline import measure
from agents.pipelines.stages.quality import Baseline, CheckComparison, CheckResult
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.ports import SetupResult

STEP = StepResult(title="Add", summary="Did it.", tried="", proof="pytest -q", commit=None)
GOAL = ChangeGoal(source="", wish="", detail="", since="", kind="bug")
RED = CheckResult(
    name="proof", command="pytest -q", timeout=9, exit_code=1, seconds=1, output="1 failed"
)


@dataclass
class RecordedRun:
    """A run whose stages are done already: each gives what is left for it, and is noted."""

    results: dict
    head: str = "c0ffee"
    names: list = field(default_factory=list)

    async def stage(self, work, *_):
        name = work.name
        self.names.append(name)
        result = self.results[name]
        return result.pop(0) if isinstance(result, list) else result


@pytest.mark.parametrize(("form", "expected"), [(4, True), (3, False)])
async def test_tests_that_fail_with_the_fix_of_a_bug_go_back_to_the_engineer(form, expected):
    baseline = Baseline(runs=(), source="", setup=SetupResult(source=""), form=form)
    quality = CheckComparison(commit="c0ffee", runs=(), baseline=baseline)
    proof = RegressionProof(
        commit="c0ffee", kind="bug", wanted=True, head=RED, fails=True, mendable=True
    )
    good = proof.model_copy(update={"head": None, "fails": False, "shown": True})
    results = {"prove": [proof, good], "prove_again": STEP}
    run = RecordedRun({**results, "check_quality": quality, "quality_fix": None})

    measured = await measure(run, baseline, GOAL, (STEP,), None)

    assert ("quality_fix" in run.names) == expected
    assert measured.proof.shown == expected
