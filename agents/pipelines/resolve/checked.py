"""Step 6: what was found when the whole change was checked."""

from __future__ import annotations

from agents.pipelines.stages.regression_proof import Proof
from agents.pipelines.stages.run_checks import Quality
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.requests import Frozen


class Checked(Frozen):
    """All that we measured of the change, none of it in the model's words."""

    quality: Quality
    proof: Proof
    inspection: Inspection

    @property
    def ready(self) -> bool:
        """Return whether a person can merge it as far as we can tell."""
        return self.quality.passed and self.inspection.accepted
