"""Which pipeline does which kind of request."""

from __future__ import annotations

from agents.pipelines.address import pipeline as addressing
from agents.pipelines.checks import pipeline as checking
from agents.pipelines.guidance import pipeline as guiding
from agents.pipelines.pipeline import Pipeline
from agents.pipelines.remediate import pipeline as remediating
from agents.pipelines.resolve import pipeline as resolving
from agents.pipelines.revert import pipeline as reverting
from agents.pipelines.update import pipeline as updating
from agents.pipelines.watch import pipeline as watching
from agents.requests import (
    AddressReview,
    FixChecks,
    OfferSetup,
    ProposeGuidance,
    RemediateAlert,
    Request,
    ResolveIssue,
    RevertChange,
    SuspectMerge,
    UpdateBranch,
)

PIPELINES: dict[type[Request], Pipeline] = {
    ResolveIssue: Pipeline(resolving.resolve, resolving.CONVERSATIONS),
    AddressReview: Pipeline(addressing.address, addressing.CONVERSATIONS),
    UpdateBranch: Pipeline(updating.update, updating.CONVERSATIONS),
    FixChecks: Pipeline(checking.fix_checks, checking.CONVERSATIONS),
    RevertChange: Pipeline(reverting.revert, ()),
    SuspectMerge: Pipeline(watching.look_into, ()),
    RemediateAlert: Pipeline(remediating.remediate, remediating.CONVERSATIONS),
    ProposeGuidance: Pipeline(guiding.propose, guiding.CONVERSATIONS),
    OfferSetup: Pipeline(guiding.propose, ()),
}
"""The registration: one line for each kind of request."""
