"""What a model was for in a run about an alert, from what the run has stored."""

from __future__ import annotations

import agents.pipelines.registry  # noqa: F401 stages import each other, and load in this order
from agents.pipelines.remediate.ladder import Level
from agents.pipelines.remediate.work import SMALL, Bump, Work
from app.store.runs.history import KeptRun

_RUNGS = {
    Level.WIDEN: "the repository's own upper bound had to move",
    Level.PARENT: "other packages had to move, and a requirement of the repository with them",
    Level.OVERRIDE: "other packages are overruled",
}


def explain_model(run: KeptRun) -> str:
    """Return in words what the model was asked for."""
    details = (run.outcome.details if run.outcome else None) or {}
    known = {name: value for name, value in details.items() if name in Work.model_fields}
    work = Work.model_validate(known)
    said = [f"{name}: {why}" for name, why in _list_looks(work) if why]
    if work.skipped or (work.bump is not None and work.bump.by == "engineer"):
        said.append("no rung of the ladder held")
    if work.adapted:
        said.append("the code had to follow")
    if work.failed:
        said.append("a try before did not stand")
    return "; ".join(said) or "unknown"


def _list_looks(work: Work) -> list[tuple[str, str]]:
    """Return of each package why somebody had to look at its move; nothing where nobody had to."""
    moved = [(work.found.name, work.bump), *((e.found.name, e.bump) for e in work.companions)]
    return [(name, _explain_look(bump)) for name, bump in moved if bump is not None]


def _explain_look(bump: Bump) -> str:
    if bump.by != "ladder" or bump.mechanical:
        return ""
    far = [f"{move.name} {move.delta}" for move in bump.moves if move.delta not in SMALL]
    if far:
        return f"no small move ({', '.join(far)})"
    return _RUNGS.get(bump.level, "") if bump.level is not None else ""
