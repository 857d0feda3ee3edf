"""What the check run on a pushed change says, from the run's records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal

from pydantic import ValidationError

from agents.analysis.weakening import Finding
from agents.ports import Json
from agents.run import Outcome
from agents.text import code_span
from app.attestation.stages import DeliveredStage
from app.github.checks.verdict import PlacedNote, Verdict

READY = "Nothing is left for a person to mend"
NOT_READY = "Something is left for a person"
NEW = "Fails newly: {names}."
SIGNED = (
    "How it was made and checked is signed: `fettle verify` in a clone says whether that holds."
)
SHOWN = 20


def build_verdict(
    outcome: Outcome, stages: Sequence[DeliveredStage], *, signed: bool, url: str
) -> Verdict:
    """Return the verdict on what the run pushed. `url`: of the run's page, or empty."""
    last = {stage.name: stage.output for stage in stages}
    failing = list(dict.fromkeys(_list_new(last.get("check_quality"))))
    parts = [outcome.text]
    if failing:
        parts.append(NEW.format(names=", ".join(code_span(name) for name in failing[:SHOWN])))
    if signed:
        parts.append(SIGNED)
    ready = _is_ready(outcome)
    return Verdict(
        ready=ready,
        title=READY if ready else NOT_READY,
        summary="\n\n".join(parts),
        notes=tuple(_list_notes(last.get("inspect"))),
        url=url,
    )


def _is_ready(outcome: Outcome) -> bool:
    """Tell whether the run came to its end with nothing left: a push to a branch ends in a comment.

    A draft is none, whatever the outcome says: somebody has to take it out of that state.
    """
    drafted = outcome.pull_request is not None and outcome.pull_request.draft
    return outcome.ready and not drafted and outcome.kind in ("pull_request", "comment")


def _list_new(compared: Json) -> Iterator[str]:
    """Yield the names of what fails and did not before."""
    runs = compared.get("runs") if isinstance(compared, Mapping) else None
    for run in runs if isinstance(runs, list) else ():
        if isinstance(run, Mapping):
            yield from (str(name) for name in run.get("new") or ())


def _list_notes(inspection: Json) -> Iterator[PlacedNote]:
    """Yield what was loosened or opened, where the change shows it."""
    findings = inspection.get("findings") if isinstance(inspection, Mapping) else None
    for each in findings if isinstance(findings, list) else ():
        with suppress(ValidationError):  # an older version's
            finding = Finding.model_validate(each)
            if finding.line:
                words = (finding.what, finding.text or finding.what)
                level: Literal["notice", "warning"] = "warning" if finding.grave else "notice"
                yield PlacedNote(finding.path, finding.line, level, *words)
