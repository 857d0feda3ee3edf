"""A run that ends early says by which rule, where others have to tell: tomorrow there is more."""

from __future__ import annotations

import pytest

from agents.errors import BudgetExceeded, DayOver, RunError
from agents.pipelines.pipeline import Pipeline
from agents.pipelines.stages.save_unfinished import DAY_OVER
from agents.run import Outcome


class KeptWorkRun:
    """A run whose work was kept."""

    stopping = False

    def stop(self):
        self.stopping = True

    async def stage(self, _stage, stopped):
        assert self.stopping
        return Outcome(kind=stopped.kind, text=stopped.text, rule=None)


@pytest.mark.parametrize(
    ("error", "rule"), [(DayOver, DAY_OVER), (BudgetExceeded, None), (RunError, None)]
)
async def test_that_only_the_day_was_over_is_said(error, rule):
    async def pipeline(_run, _request):
        raise error("It ended.")

    outcome = await Pipeline(pipeline, ()).work(KeptWorkRun(), None)
    assert (outcome.kind, outcome.text, outcome.rule) == ("failed", "It ended.", rule)
