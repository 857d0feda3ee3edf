"""Step 2: the dispatcher turns stored deliveries into requests and hands them to the engine.

A crash before the delivery is marked hands the request over again; the engine then knows its run
id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import orjson
import structlog

import handlers
from agents.errors import TransientError
from agents.requests import Command, FixChecks, RemediateAlert, Request, ResolveIssue
from agents.text.child_process import Exhausted, run_in_child
from app.git import BRANCH_PREFIX
from app.observability.tracing import NoTracing, Tracing
from app.store.alerts import AlertRuns, Remediations
from app.store.database import Database
from app.store.deliveries import Mark, Waiting, count_waiting, list_waiting, mark
from app.store.ended_pulls import EndedPulls
from app.store.handled_feedback import Batches
from app.store.runs import ANEW, Lanes
from app.webhooks.inbox import Inbox
from handlers import DeliveryWork
from handlers.check_suite import UPDATER_BRANCHES
from handlers.ignored import Ignored
from handlers.notifications import Notification, PullClosed, Suspicion

BATCH = 50
POLL_SECONDS = 5.0
"""Looks this often unasked, for rows that another process put in or that wait for a retry."""
ATTEMPTS = 5
NOTE_LENGTH = 2000
NOBODY = "no run is under way that could hear it"
NOT_OURS = "the checks are of a commit that neither Fettle nor a bot with updates has pushed"
MENDING = "a run looks after the checks of this commit already"
MENDED = "a run has looked after the checks of this commit"
COVERED = "the run {run} of this package and folder is still to look, and reads this alert as well"
UNSUSPECTED = "nothing of Fettle's was merged there lately"
UNREADABLE = "the comment takes too long to be read"
UNDER_WAY = "the run {run} of this package and folder is under way"

_SHARED = {"installation_id", "repository", "number", "asked_by", "url"}

log = structlog.get_logger(__name__)


class Engine(Protocol):
    """Takes requests and sees to it that each is worked on, whatever happens to the process."""

    async def submit(self, run_id: str, request: Request | Command | Notification) -> None:
        """Take the request durably; the same run id a second time changes nothing.

        Raises TransientError when no request can be taken just now; any other exception means
        that this one request cannot be taken.
        """
        ...


@dataclass(frozen=True)
class _Retry:
    """A delivery that the engine would not take, and when it is offered again."""

    attempts: int = 0
    not_before: float = 0.0


class Dispatcher:
    """Dispatches deliveries in order of arrival; a failing one does not block the others."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        engine: Engine,
        *,
        retry_seconds: float = 1.0,
        tracing: Tracing | None = None,
    ) -> None:
        self._database = database
        self._lanes = Lanes(database)
        self._batches = Batches(database)
        self._alert_runs = AlertRuns(database)
        self._remediations = Remediations(database)
        self._ended = EndedPulls(database)
        self._inbox = inbox
        self._engine = engine
        self._tracing = tracing or NoTracing()
        self._retry_seconds = retry_seconds
        self._retries: dict[str, _Retry] = {}

    async def run(self) -> None:
        """Dispatch until cancelled, beginning with deliveries that an earlier process left."""
        pause = self._retry_seconds
        while True:
            self._inbox.arrived.clear()
            try:
                more = await self.dispatch_batch()
                pause = self._retry_seconds
            except TransientError as error:
                log.warning("dispatch waits", seconds=pause, reason=str(error))
                await asyncio.sleep(pause)
                more, pause = True, min(2 * pause, 60.0)
            if not more:
                await self._wait()

    async def dispatch_batch(self) -> bool:
        """Dispatch one batch; return whether more may be waiting.

        Raises TransientError when the engine or the database is out of reach; that counts against
        no delivery.
        """
        rows = await self._look()
        marks: list[Mark] = []
        try:
            for row in rows:
                if made := await self._dispatch(row):
                    marks.append(made)
                await asyncio.sleep(0)  # new deliveries are answered in between
        finally:
            await self._settle(marks)
        return len(rows) == BATCH

    async def _look(self) -> list[Waiting]:
        """Return what is to be dispatched now, and forget retries of what another process has."""
        later = self._not_yet()
        rows, waiting = await self._database.read(
            lambda connection: (
                list_waiting(connection, limit=BATCH, leave_out=later),
                count_waiting(connection),
            )
        )
        self._inbox.recount(waiting)
        if len(rows) < BATCH:  # then it is all that waits, but for what is not due
            kept = later | {row.id for row in rows}
            self._retries = {key: retry for key, retry in self._retries.items() if key in kept}
        return rows

    async def _dispatch(self, row: Waiting) -> Mark | None:
        """Hand one delivery over, and return what became of it; None while that is open."""
        with structlog.contextvars.bound_contextvars(delivery=row.id, event=row.event):
            try:
                asked = await _route(row)
            except Exception as error:  # noqa: BLE001 - one poison row must not stop the others
                return _mark_failed(row, error)  # it would fail again: routing is a pure function
            try:
                reason = await self._find_reason_to_ignore(row, asked)
            except TransientError:
                raise
            except Exception as error:  # noqa: BLE001 - what is stored of others may be broken
                return self._again_later(row, error)
            if isinstance(asked, Ignored) or reason:
                log.debug("delivery ignored", reason=reason)
                return Mark(row.id, "ignored", reason)
            return await self._submit(row, dict(_number_requests(row.run_id, asked)))

    async def _find_reason_to_ignore(self, row: Waiting, asked: DeliveryWork | Ignored) -> str:
        """Return why nothing comes of it, as far as the store can tell; empty where it may.

        Most comments find no run at work, and most checks that fail are of people's own commits.
        """
        match asked:
            case Ignored():
                return asked.reason
            case FixChecks():
                return await self._passed_over(row, asked)
            case RemediateAlert(via="alert" | "schedule"):
                return await self._looked_after(row, asked)
            case Suspicion():
                watched = await self._ended.has_any(asked.repository.id)
                return "" if watched else UNSUSPECTED
            case tuple():
                return "" if await self._concerns_anybody(asked) else NOBODY
        return ""

    async def _concerns_anybody(self, asked: tuple[Command | Notification, ...]) -> bool:
        """Tell whether any of it means something to anybody."""
        for each in asked:
            match each:
                case PullClosed():
                    if each.branch.startswith(BRANCH_PREFIX):
                        await self._ended.note(each)  # before what is told next may suspect it
                    awaited = await self._remediations.awaits(*_place(each))
                    # Others of Fettle's may stand on what was merged, or on a bot's that is over.
                    heard = awaited or (each.merged and each.branch.startswith(BRANCH_PREFIX))
                    heard = heard or await self._batches.has_mended(*_place(each))
                case Command() if each.for_live_runs:
                    heard = await self._lanes.busy(each)
                case _:
                    heard = True
            if heard:
                return True
        return False

    async def _looked_after(self, row: Waiting, request: RemediateAlert) -> str:
        run = await self._alert_runs.cover(row.run_id, request)
        reason = UNDER_WAY if request.via == "schedule" else COVERED
        return reason.format(run=run) if run else ""

    async def _passed_over(self, row: Waiting, request: FixChecks) -> str:
        if not await self._may_be_ours(request):
            return NOT_OURS
        if await self._batches.covers(row.run_id, request):
            return MENDED
        return MENDING if await self._lanes.is_mending(request, besides=row.run_id) else ""

    async def _may_be_ours(self, request: FixChecks) -> bool:
        """Tell whether Fettle may have pushed it, or another bot that it works after.

        A run says what it has pushed at its end, which may be later.
        """
        known = (BRANCH_PREFIX, *UPDATER_BRANCHES)
        if request.branch.startswith(known) or await self._lanes.busy(request):
            return True
        return await self._batches.has_pushed(request, request.head)

    async def _submit(
        self, row: Waiting, requests: Mapping[str, Request | Command | Notification]
    ) -> Mark | None:
        try:
            for run_id, request in requests.items():
                await self._engine.submit(run_id, request)
                if isinstance(request, ResolveIssue) and request.via == "label":
                    await self._ask_to_supersede(run_id, request)
                about = {"installation": request.installation_id, "lane": request.lane}
                log.info("dispatched", run=run_id, request=request.kind, **about)
            self._tracing.record_delivery(row.run_id, row.event, {"fettle.delivery": row.id})
        except TransientError:
            raise
        except Exception as error:  # noqa: BLE001 - the same here, but another time may do
            return self._again_later(row, error)
        return Mark(row.id, "dispatched")

    async def _ask_to_supersede(self, run_id: str, request: ResolveIssue) -> None:
        """Have the older runs of the issue ended, if whoever put the label on may do that.

        GitHub sends a delivery only for a label that was not on before. Whether its sender may
        start work only GitHub can tell, so a command asks it, which waits for no run.
        """
        if await self._lanes.live(request, before=run_id):
            command = Command(**request.model_dump(include=_SHARED), verb="cancel", via="relabel")
            await self._engine.submit(f"{run_id}{ANEW}", command)

    def _again_later(self, row: Waiting, error: Exception) -> Mark | None:
        """Put the row off, each time for longer; a mark when it had its last chance."""
        attempts = self._retries.get(row.id, _Retry()).attempts + 1
        pause = self._retry_seconds * 2.0 ** (attempts - 1)
        self._retries[row.id] = _Retry(attempts, time.monotonic() + pause)
        if attempts >= ATTEMPTS:
            return _mark_failed(row, error)
        log.warning("request not taken", run=row.run_id, seconds=pause, error=str(error))
        return None

    def _not_yet(self) -> set[str]:
        now = time.monotonic()
        return {ident for ident, retry in self._retries.items() if retry.not_before > now}

    async def _settle(self, marks: list[Mark]) -> None:
        if marks:
            await self._database.write(lambda connection: mark(connection, marks))
            self._inbox.subtract(len(marks))
            for made in marks:
                self._retries.pop(made.id, None)

    async def _wait(self) -> None:
        """Sleep until something arrives, a retry is due, or it is time to look anyhow."""
        due = [retry.not_before - time.monotonic() for retry in self._retries.values()]
        try:
            async with asyncio.timeout(max(0.0, min([POLL_SECONDS, *due]))):
                await self._inbox.arrived.wait()
        except TimeoutError:
            pass


async def _route(row: Waiting) -> DeliveryWork | Ignored:
    """Return what the delivery asks for; a long comment is read beside the event loop."""
    payload = orjson.loads(row.body)
    comment = payload.get("comment") if row.event == "issue_comment" else None
    said = comment.get("body") if isinstance(comment, dict) else None
    try:
        text = said if isinstance(said, str) else ""
        return await run_in_child(text, handlers.route, row.event, payload)
    except Exhausted:
        return Ignored(UNREADABLE)


def _number_requests(
    run_id: str, asked: DeliveryWork
) -> Iterator[tuple[str, Request | Command | Notification]]:
    """Yield each request with its run id; several of one delivery are numbered."""
    if not isinstance(asked, tuple):
        yield run_id, asked
        return
    for number, command in enumerate(asked, 1):
        yield f"{run_id}-{number}", command


def _place(notice: PullClosed) -> tuple[int, int]:
    return notice.repository.id, notice.number


def _mark_failed(row: Waiting, error: Exception) -> Mark:
    note = f"{type(error).__name__}: {error}".encode(errors="replace").decode()[:NOTE_LENGTH]
    log.error("delivery failed", run=row.run_id, error=note)
    return Mark(row.id, "failed", note.replace("\0", "\\0"))
