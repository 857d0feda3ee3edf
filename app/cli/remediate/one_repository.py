"""One repository after the other: its groups of alerts, a run for each, what came of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rich.console import Console

from agents.errors import ConfigError, FettleError
from agents.pipelines.remediate.findings.found import AlertGroup
from agents.pipelines.remediate.ladder import Group
from agents.requests import RemediateAlert, request_of
from app.cli.progress import TerminalProgress
from app.cli.resolve.work_on_issue import SHORT
from app.cli.runs.approval_prompt import ask_here
from app.cli.terminal import line, say, stop_event
from app.config.settings import Settings
from app.github.alerts.access_errors import NoAlerts
from app.github.transport import GitHub
from app.operator.find_clone import Places
from app.operator.follow_run import Companion, Deserted
from app.operator.lend_clone import lend
from app.operator.open_alerts import open_alerts
from app.operator.remediation_report import GroupReport, RepositoryReport, left_alone, report_ended
from app.operator.remediation_requests import RemediationOptions, is_same_request
from app.operator.repositories import Installed, newest_commit
from app.operator.repository_reference import RepositoryName
from app.operator.submit import hand_over, is_served
from app.runs.follow import Follower, Seen
from app.secrets.redaction import Redactor
from app.store.database import Database
from app.store.runs import History, Lanes, Runs, StoredApprovals, StoredJournal

T = TypeVar("T")

LONG = 300  # characters of a line for people
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
ARCHIVED = "It is archived, so nothing can be changed in it."


class Interrupted(Exception):
    """The person at the terminal wants to leave."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    asked: RemediationOptions
    model: str = ""
    """The model that writes code, in the place of the one in the settings."""
    machine_readable: bool = False
    """A program reads the result: nobody is asked anything."""


@dataclass
class Seat:
    """Where the person sits: what they want, what they see, and that they may leave."""

    settings: Settings
    redactor: Redactor
    wanted: Wanted
    here: bool = False
    """Whether this process does the work; else a server does."""
    stop: asyncio.Event = field(init=False)
    """Set when they want to leave."""
    _progress: TerminalProgress | None = None

    def __post_init__(self) -> None:
        """Listen from now on."""
        self.stop = stop_event(self.announce_stop)

    def progress(self) -> TerminalProgress:
        """Return the place where the next run is shown."""
        self._progress = TerminalProgress(Console(stderr=True))
        return self._progress

    def with_model(self) -> Settings:
        """Return the settings with the model that was asked for."""
        chosen = {"model": self.wanted.model} if self.wanted.model else {}
        return self.settings.model_copy(update=chosen)

    def announce_stop(self) -> None:
        """Say that it will stop soon."""
        if self._progress is not None and self.here:
            self._progress.announce_stop()
        self.leave()

    def leave(self) -> None:
        """Show nothing more."""
        if self._progress is not None:
            self._progress.end("stopped")


@dataclass
class OneByOne:
    """Works on one repository after the other."""

    seat: Seat
    github: GitHub
    database: Database
    places: Places
    batch: bool
    unfinished: RepositoryReport = field(default_factory=lambda: RepositoryReport(repository=""))
    """What was done in the one at hand."""
    ring: Callable[[], object] = lambda: None
    """Called when something was handed over that this process has to take."""

    @property
    def asked(self) -> RemediationOptions:
        """Return what is to be done."""
        return self.seat.wanted.asked

    async def work(self, installed: Installed) -> RepositoryReport:
        """Return what came of one repository: its failure is no other's.

        Raises Interrupted; ConfigError where it is the only one, since its person sits here.
        """
        self.unfinished = RepositoryReport(repository=installed.name)
        if self.seat.stop.is_set():
            raise Interrupted
        if installed.archived and not self.asked.looks:
            return self._end(skipped=ARCHIVED)
        try:
            every = await self._unless_stopped(self._groups(installed))
            await self._run_all(installed, every)
        except NoAlerts as error:
            return self._end(**{"skipped" if self.batch else "error": str(error)})
        except ConfigError as error:
            if not self.batch:
                raise
            return self._end(error=str(error))
        except (FettleError, OSError) as error:
            return self._end(error=str(error))
        return self.unfinished

    def _end(self, **why: str) -> RepositoryReport:
        self.unfinished = self.unfinished.model_copy(update=why)
        for text in why.values():
            say(f"  {line(text, LONG)}")
        return self.unfinished

    # --- which groups ---------------------------------------------------------------------------

    async def _groups(self, installed: Installed) -> list[tuple[Group, AlertGroup | None]]:
        """Return what is to be worked on, with what an earlier scan found, if one is handed in."""
        asked, name = (
            self.asked,
            RepositoryName(installed.repository.owner, installed.repository.name),
        )
        groups: list[tuple[Group, AlertGroup | None]]
        if asked.scan is None:
            listed = await open_alerts(self.github, installed, self.seat.redactor.clean)
            groups = [(group, None) for group in listed]
        else:
            handed_in = asked.scan.find_groups(name)
            if handed_in:
                commit = await newest_commit(self.github, installed, asked.base)
                asked.scan.require(name, commit)
            groups = [(found.group, found) for found in handed_in]
        if not self.batch:
            asked.choice.require([group for group, _ in groups], installed.name)
        if asked.choice.narrow:
            groups = [each for each in groups if not asked.choice.why_not(each[0])]
        asked.require_one_branch([group for group, _ in groups], installed.name)
        return groups

    async def _run_all(
        self, installed: Installed, groups: list[tuple[Group, AlertGroup | None]]
    ) -> None:
        if not groups:
            say("  No open alert.")
        elif await self._unless_stopped(
            lend(self.github, self.seat.settings, installed, self.places)
        ):
            say("  Its history was taken from a clone on this machine.")
        for number, (group, found) in enumerate(groups, 1):
            if self.seat.stop.is_set():
                raise Interrupted
            where = f" in {group.directory}" if group.directory else ""
            head = f"[{number}/{len(groups)}] {group.package} ({group.ecosystem}){where}"
            say(f"  {line(head, LONG)}")
            done = await self._group(installed, group, found)
            say(f"  {done.result.replace('_', ' ')}: {line(done.text, LONG)}")
            self.unfinished = self.unfinished.model_copy(
                update={
                    "commit": done.found.commit if done.found else self.unfinished.commit,
                    "groups": (*self.unfinished.groups, done),
                }
            )

    async def _group(
        self, installed: Installed, group: Group, found: AlertGroup | None
    ) -> GroupReport:
        why_not = self.asked.choice.why_not(group) or (found.over if found else "")
        if why_not:
            return left_alone(group, why_not)
        request = self.asked.request(
            group,
            installed.repository,
            installation_id=installed.installation_id,
            url=installed.url,
            found=found,
        )
        run_id, busy = await self._run_of(request)
        if busy:
            return left_alone(group, BUSY.format(run=run_id[:SHORT]))
        return await self._follow(group, run_id)

    # --- one run --------------------------------------------------------------------------------

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
        self.ring()
        return run_id, False

    async def _follow(self, group: Group, run_id: str) -> GroupReport:
        """Stay with the run until it ends. Raises Interrupted."""
        progress = self.seat.progress()
        asks = sys.stdin.isatty() and not self.seat.wanted.machine_readable
        companion = Companion(
            Follower(History(self.database), run_id, progress),
            StoredApprovals(self.database),
            ask=ask_here if asks else None,
            alone=None if self.seat.here else self._is_deserted,
        )
        try:
            seen = await self._stay(companion, run_id)
        except Deserted:
            text = DESERTED.format(run=run_id[:SHORT])
            return left_alone(group, text, "infra_error").model_copy(update={"run": run_id})
        outcome = seen.run.outcome
        if outcome is None:
            progress.end("stopped")
            text = WAITS.format(run=run_id[:SHORT])
            return left_alone(group, text, "waits").model_copy(update={"run": run_id})
        usage, usd, _ = await StoredJournal(self.database, run_id).sum_usage()
        done = report_ended(group, run_id, outcome, (sum(usage.model_dump().values()), usd))
        progress.end("done" if done.result in ("fixed", "scanned", "nothing_to_do") else "failed")
        return done

    async def _stay(self, companion: Companion, run_id: str) -> Seen:
        try:
            return await self._unless_stopped(companion.stay())
        except Interrupted:
            say(HELD if self.seat.here else GOES_ON.format(run=run_id[:SHORT]))
            raise

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work does. Raises Interrupted as soon as the person wants to leave."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.seat.stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise Interrupted
        finally:
            working.cancel()
            stopping.cancel()

    async def _is_deserted(self) -> bool:
        return not await is_served(self.seat.settings)
