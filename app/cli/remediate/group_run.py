"""The run that scans or mends one group of alerts: found or asked for, and followed to its end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from agents.pipelines.remediate.ladder import Group
from agents.requests import RemediateAlert, request_of
from app.cli.remediate.terminal_session import Interrupted, TerminalSession
from app.cli.resolve.work_on_issue import SHORT
from app.cli.runs.approval_prompt import ask_here
from app.cli.terminal import say
from app.operator.follow_run import Companion, RunAbandoned
from app.operator.remediation_report import GroupReport, left_alone, report_ended
from app.operator.remediation_requests import is_same_request
from app.operator.submit import hand_over, is_served
from app.runs.follow import Follower, RunSnapshot
from app.store.database import Database
from app.store.runs import History, Lanes, Runs, StoredApprovals, StoredJournal

ENDED = ("fixed", "unverified", "scanned", "nothing_to_do")
HELD = "Stopped. The same command goes on from there, and so does `fettle serve`."
GOES_ON = "The server goes on with it. `fettle runs show {run}` tells how far it is."
BUSY = (
    "The run {run} is under way on it, and was asked for otherwise. `fettle runs show {run}` tells"
    " how far it is; `fettle runs cancel {run}` ends it."
)
DESERTED = (
    "Nothing is heard of the run {run} any more, and no `fettle serve` is at work. It goes on when"
    " one is started."
)
WAITS = (
    "The run {run} waits for a decision: `fettle approvals` lists it. Decide with `fettle approve"
    " ID` or `fettle deny ID`; it goes on then, or as soon as `fettle serve` runs."
)


@dataclass
class GroupRuns:
    """Has one run after the other work on a group of alerts."""

    session: TerminalSession
    database: Database
    ring: Callable[[], object] | None
    """Called when something was handed over that this process has to take; None: others take it."""

    async def work(self, group: Group, request: RemediateAlert) -> GroupReport:
        """Return what came of the group's run. Raises Interrupted."""
        run_id, busy = await self._run_of(request)
        if busy:
            return left_alone(group, BUSY.format(run=run_id[:SHORT]))
        return await self._follow(group, run_id)

    async def _run_of(self, request: RemediateAlert) -> tuple[str, bool]:
        """Return the run that does it, new or under way; and whether it does something else."""
        live = await Lanes(self.database).live(request)
        for run in live:
            stored = request_of(await Runs(self.database).request(run.id))
            if isinstance(stored, RemediateAlert) and is_same_request(stored, request):
                return run.id, False
        if live:
            return live[0].id, True
        run_id = await hand_over(self.database, request)
        if self.ring is not None:
            self.ring()
        return run_id, False

    async def _follow(self, group: Group, run_id: str) -> GroupReport:
        """Stay with the run until it ends. Raises Interrupted."""
        progress = self.session.progress()
        asks = sys.stdin.isatty() and not self.session.wanted.machine_readable
        companion = Companion(
            Follower(History(self.database), run_id, progress),
            StoredApprovals(self.database),
            ask=ask_here if asks else None,
            alone=None if self.session.here else self._is_deserted,
        )
        try:
            seen = await self._stay(companion, run_id)
        except RunAbandoned:
            text = DESERTED.format(run=run_id[:SHORT])
            return left_alone(group, text, "infra_error").model_copy(update={"run": run_id})
        outcome = seen.run.outcome
        if outcome is None:
            progress.end("stopped")
            text = WAITS.format(run=run_id[:SHORT])
            return left_alone(group, text, "waits").model_copy(update={"run": run_id})
        usage, usd, _ = await StoredJournal(self.database, run_id).sum_usage()
        done = report_ended(group, run_id, outcome, (sum(usage.model_dump().values()), usd))
        progress.end("done" if done.result in ENDED else "failed")
        return done

    async def _stay(self, companion: Companion, run_id: str) -> RunSnapshot:
        try:
            return await self.session.unless_stopped(companion.stay())
        except Interrupted:
            say(HELD if self.session.here else GOES_ON.format(run=run_id[:SHORT]))
            raise

    async def _is_deserted(self) -> bool:
        return not await is_served(self.session.settings)
