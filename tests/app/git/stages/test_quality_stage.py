"""The repository's checks for real: git, a sandbox, and the clock that the owners have set."""

from __future__ import annotations

import pytest

from agents.pipelines.stages.onboarding import SetupResult
from agents.pipelines.stages.quality import check_quality, measure_base
from agents.policy import POLICY_PATH
from tests.app.git.test_proof import at_head

__all__ = ["at_head"]  # a fixture


@pytest.mark.parametrize(("timeout", "takes", "passes"), [("0.7", 600, False), ("60", 1, True)])
async def test_a_check_ends_when_the_policy_says(at_head, timeout, takes, passes):
    check = f"{{name: slow, run: test ! -f wait || sleep {takes}, timeout: {timeout}}}"
    run = await at_head({"wait": "", POLICY_PATH: f"quality: [{check}]\n"})
    run.context.update_state(
        trunk=run.head
    )  # where the policy of a run is read that was given none

    baseline = await measure_base.work(run.context, SetupResult(source="nothing to install"))
    quality = await check_quality.work(run.context, baseline)

    [now] = quality.runs
    assert quality.baseline.runs[0].exit_code == 0
    assert (not quality.failing) is passes
    assert (now.exit_code == 0) is passes
    assert now.seconds < 600
    assert ("before it had ended" in now.output) is not passes
