"""The results of checking a whole change."""

from __future__ import annotations

from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.regression_proof import RegressionProof
from agents.pipelines.stages.run_checks import CheckComparison
from agents.requests import Frozen


class MeasuredChange(Frozen):
    """All that we measured of the change, none of it in the model's words."""

    quality: CheckComparison
    proof: RegressionProof
    inspection: Inspection

    @property
    def ready(self) -> bool:
        """Return whether a person can merge it as far as we can tell."""
        return self.quality.passed and self.inspection.accepted
