"""Stages gather and end_without: what people said, and the end where that teaches nothing."""

from __future__ import annotations

from agents.ports import GatheredEvidence
from agents.run import Outcome, StageContext, stage


@stage
async def gather(run: StageContext) -> GatheredEvidence:
    """Read what people said of earlier work."""
    trunk = await run.ports.source.fetch()
    run.stands(trunk=trunk, base=trunk, start=trunk, head=trunk)
    await run.policy()  # an unreadable one ends the run before it costs anything
    records = run.ports.guidance
    gathered = await records.gather() if records is not None else GatheredEvidence()
    run.summarize(f"{len(gathered.evidence)} remarks, denials and reverts")
    return gathered


@stage
async def end_without(run: StageContext, why: str) -> Outcome:
    """Propose nothing, and tell nobody."""
    run.summarize("nothing to propose")
    return Outcome(kind="covered", text=why)
