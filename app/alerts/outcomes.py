"""Record the outcome of a run about alerts, for later runs and for GitHub's answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agents.ports import Json
from agents.remediation import result_of
from agents.requests import RemediateAlert, Retire
from agents.run import Outcome
from app.store.alerts import Overrides, Remediations
from app.store.runs import History, KeptStep

if TYPE_CHECKING:
    from agents.pipelines.remediate.findings.alert_group import AlertGroup
    from agents.pipelines.remediate.work import Work

# ruff: noqa: PLC0415 - the pipeline takes megabytes, and only what follows a run needs it

SCAN, FIX = "stage/scan/1", "stage/fix/"
CONCLUDED = ("fixed", "unverified", "nothing_to_do", "fix_failed", "by_hand", "verify_failed")
DAY = 86_400.0


@dataclass(frozen=True)
class AlertOutcomes:
    """Reads what a run's scan found from the engine's record of it."""

    remediations: Remediations
    overrides: Overrides
    history: History
    clock: Callable[[], float] = time.time

    async def record_pull(self, run_id: str, request: RemediateAlert, pull: int) -> None:
        """Record the pull request at once, since it may be merged even if the run fails."""
        await self._note(run_id, request, number=pull, cancelled=False)

    async def remember(self, run_id: str, request: RemediateAlert, outcome: Outcome) -> None:
        """Record the outcome, unless the run never scanned; a repeated call changes nothing."""
        if request.dry_run or request.no_pr or outcome.kind == "refused":
            return
        from agents.pipelines.stages.save_unfinished import DAY_OVER

        over = outcome.rule == DAY_OVER  # tomorrow it may come to its end
        pull = outcome.pull_request
        await self._note(
            run_id,
            request,
            number=(pull.number or 0) if pull else 0,
            cancelled=outcome.kind == "cancelled",
            looked=not over,
            silent=outcome.kind == "covered",
        )
        if request.retire is not None and result_of(outcome.rule) in CONCLUDED:
            await self._settle(run_id, request.retire)

    async def _note(
        self,
        run_id: str,
        request: RemediateAlert,
        *,
        number: int,
        cancelled: bool,
        looked: bool = True,
        silent: bool = False,
    ) -> None:
        steps = await self.history.steps(run_id) if looked else []
        found = _find_scanned_group(steps)
        if found is None and silent:
            return
        fixed = _find_last_fix(steps)
        await self.remediations.remember(
            run_id,
            request,
            number=number,
            cancelled=cancelled,
            commit=found.commit if found else "",
            found=_mark_all(found, fixed, made=number != 0) if found else {},
            overruled=fixed.bump.overruled if fixed and fixed.bump else None,
        )

    async def _settle(self, run_id: str, retire: Retire) -> None:
        """Have the override looked at after as many days once more, unless there is none now."""
        found = _find_scanned_group(await self.history.steps(run_id))
        gone = found is not None and found.let_go
        at = None if gone else self.clock() + retire.days * DAY
        await self.overrides.settle(retire.run_id, at)


def _find_scanned_group(steps: Sequence[KeptStep]) -> AlertGroup | None:
    from agents.pipelines.remediate.findings.alert_group import AlertGroup

    for output in _outputs(steps, SCAN):
        try:
            return AlertGroup.model_validate(output)
        except ValidationError:  # it broke, or waits
            continue
    return None


def _find_last_fix(steps: Sequence[KeptStep]) -> Work | None:
    """Return what the last fix of the run came to."""
    from agents.pipelines.remediate.work import Work

    for output in reversed([*_outputs(steps, FIX)]):
        try:
            return Work.model_validate(output)
        except ValidationError:
            continue
    return None


def _mark_all(found: AlertGroup, fixed: Work | None, *, made: bool) -> Mapping[int, str]:
    """Return the marks of the run's alerts; of a pull request, with those that it took along."""
    along = [each.found for each in fixed.companions] if fixed and made else []
    return {alert: said for each in (found, *along) for alert, said in mark_alerts(each).items()}


def _outputs(steps: Sequence[KeptStep], stage: str) -> Iterator[Json]:
    for step in steps:
        name, record = step.name.partition("~")[0], step.record
        if name.startswith(stage) and isinstance(record, dict):
            yield record.get("output")


def mark_alerts(found: AlertGroup) -> Mapping[int, str]:
    """Return the alerts that the run is to close, each with a mark of its content."""
    return {
        each.alert: mark(each.severity, each.vulnerable, each.first_patched)
        for each in found.group.advisories
        if each.alert and each.alert not in found.closed
    }


def mark(severity: str, vulnerable: str, first_patched: str) -> str:
    """Return a value that changes with the alert's content: a fix may have been released."""
    said = f"{severity}|{vulnerable}|{first_patched}"
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]
