"""The port `Reporter`: a reaction where the run was asked for, and one comment kept current.

A run that no person asked for stays silent until it costs money, waits for somebody, or ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from agents.errors import RunError, TransientError
from agents.ports import Usage
from agents.requests import ProposalRequest, RemediateAlert, Request
from agents.run import Outcome
from app.github.approvals.comment import comment_key
from app.github.reporting.progress_text import Progress, render
from app.github.reporting.wording_by_kind import called_for
from app.github.transport import (
    ConversationThread,
    GitHub,
    MarkedComments,
    NotFound,
    OutgoingText,
    Posted,
    Profile,
)
from app.secrets.redaction import Redactor

KEY = "progress"
INTERVAL = 4.0
"""Seconds between two updates: GitHub allows 500 content changes an hour to all runs together."""

GATHER = 0.2
"""Seconds in which changes that come together become one update."""

SPEND_INTERVAL = 60.0
"""Seconds after which spending alone is worth an update."""

ENDED = "<!-- fettle ended={kind} -->"
"""The last line of a comment whose run is over; a server that lost its data finds it there."""

LAST_TRIES = 6
LONGEST_PAUSE = 900.0

log = structlog.get_logger()


class GitHubReporter:
    """The port `Reporter` for one run. Nothing raises, since a report must not stop the run."""

    def __init__(
        self,
        github: GitHub,
        request: Request,
        run_id: str,
        redactor: Redactor,
        *,
        remember: Callable[[int], Awaitable[None]],
        comment_id: int | None = None,
        interval: float = INTERVAL,
        caution: str = "",
        pages: str = "",
        moved_at: float | None = None,
        place: ConversationThread | None = None,
        ended: Callable[[Outcome], Awaitable[None]] | None = None,
    ) -> None:
        self._github = github
        self._request = request
        self._run_id = run_id
        self._place = place or ConversationThread(request)
        self._wording = OutgoingText(github.urls, request, redactor)
        self._remember = remember
        self._comment_id = comment_id
        self._ended = ended
        self._interval = interval
        self._progress = Progress(request, run_id, caution=caution, pages=pages, moved_at=moved_at)
        self._quiet = not called_for(request) and comment_id is None
        self._sent: str | None = None
        self._sent_at = time.monotonic()
        self._changed = asyncio.Event()
        self._writing = asyncio.Lock()
        self._hopeless = False
        self._loop: asyncio.Task[None] | None = None

    # --- what the run tells ---------------------------------------------------------------------

    def stage_started(self, stage: str, title: str) -> None:
        """Show the stage as at work; a repeated call, as after a restart, changes nothing."""
        self._show(self._progress.start_stage(stage, title))

    def stage_finished(self, stage: str, summary: str) -> None:
        """Show the stage as done."""
        self._show(self._progress.finish_stage(stage, summary))

    def tool_called(self, stage: str, tool: str, subject: str) -> None:
        """Do nothing: an update for each tool call would use up GitHub's rate limits."""

    def report_spending(self, usage: Usage, cost_usd: float, answers: int) -> None:
        """Show the totals with the next update, or once in a while without one."""
        self._progress = self._progress.with_spent(usage, cost_usd, answers)
        if self._quiet and not isinstance(self._request, RemediateAlert | ProposalRequest):
            self._speak()
        if time.monotonic() - self._sent_at > SPEND_INTERVAL:
            self._show(self._progress)

    def report_parked(self, stage: str, approvals: Sequence[str]) -> None:
        """Show which decisions the stage waits for, with links to the questions."""
        self._speak()
        self._show(self._progress.park_stage(stage, approvals))

    def report_pause(self, stage: str, why: str) -> None:
        """Show that the stage waits for something other than decisions, and for what."""
        self._show(self._progress.pause_stage(stage, why))

    def report_queued(self, place: int, seconds: float | None) -> None:
        """Show which place in the queue the run has, counted from 1, and how long it may wait."""
        self._show(self._progress.queue(place, seconds))

    def _show(self, progress: Progress) -> None:
        self._progress = progress
        self._changed.set()
        if self._loop is None and not self._quiet:
            self._loop = asyncio.create_task(self._keep_current())

    def _speak(self) -> None:
        """Show all from now on, also what was kept back."""
        self._quiet = False
        self._show(self._progress)

    # --- what people see ------------------------------------------------------------------------

    async def acknowledge(self) -> None:
        """React to the issue, so that people see within seconds that Fettle has heard them.

        Where they have read more than that, it does nothing.

        https://docs.github.com/rest/reactions/reactions
        """
        request, where = self._request, self._request.repository
        if not called_for(request) or self._comment_id is not None:
            return
        try:
            client = await self._github.installation(
                request.installation_id, where.id, Profile.REPORT
            )
            # Reacting twice leaves one reaction.
            await client.post(
                "/repos/{owner}/{repo}/issues/{number}/reactions",
                {"owner": where.owner, "repo": where.name, "number": str(request.number)},
                data={"content": "eyes"},
            )
        except Exception as error:  # noqa: BLE001  # telling must not stop the doing
            log.warning("no reaction", reason=str(error))

    async def finish(self, outcome: Outcome) -> None:
        """Show how the run ended, before the progress of other runs, and with many retries.

        A run that another run took over ends silently, unless people have seen it. So does a run
        that nobody asked for and that failed before anybody could want it.
        """
        begun = any(line.state == "done" for line in self._progress.stages)
        unwanted = self._quiet and not begun and outcome.kind not in ("comment", "pull_request")
        self._progress = self._progress.end(outcome)
        news = await self._place.is_news(outcome)
        if news is None:
            news = not unwanted and outcome.kind != "covered"
        if news or await self._was_heard_of():
            await self._last(yielding=False, tries=LAST_TRIES)
        if self._ended is not None:
            try:
                await self._ended(outcome)
            except Exception as error:  # noqa: BLE001  # telling must not stop the doing
                log.warning("what the pull request cost is not shown", reason=str(error))

    async def flush(self) -> None:
        """Show the newest state and stop updating, as before a shutdown."""
        if self._loop is not None:
            await self._last(yielding=True, tries=1)

    async def _was_heard_of(self) -> bool:
        """Tell whether there is a comment; there will be none without another word."""
        async with self._writing:
            await self._stop()
            return self._comment_id is not None

    async def _stop(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait({self._loop})
            self._loop = None

    async def _last(self, *, yielding: bool, tries: int) -> None:
        async with self._writing:  # never cancel the loop while a comment is being made
            await self._stop()
            self._hopeless = False
            for attempt in range(tries):
                pause = await self._update(yielding=yielding)
                if pause is None:
                    return
                if attempt < tries - 1:
                    await asyncio.sleep(min(pause or self._interval * 2**attempt, LONGEST_PAUSE))
        log.error("the newest report did not get through")

    async def _keep_current(self) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(min(GATHER, self._interval))
            async with self._writing:
                self._changed.clear()
                pause = await self._update(yielding=True)
            if pause is not None:
                self._changed.set()
            await asyncio.sleep(max(pause or 0, self._interval))

    async def _update(self, *, yielding: bool) -> float | None:
        """Bring the comment up to date. Return None, or the seconds until the next try."""
        if await self._text() == self._sent or self._hopeless:
            return None
        try:
            await self._place.open()
            await self._find_questions()
            await self._write(await self._text(), yielding=yielding)
        except TransientError as error:
            log.info("progress not shown yet", reason=str(error))
            return error.retry_after or 0.0
        except RunError as error:
            if isinstance(error, NotFound) and self._comment_id is not None:
                self._comment_id, self._sent = None, None
                return 0.0  # somebody removed the comment: make another
            log.warning("progress cannot be shown", reason=str(error))
            self._hopeless = True  # asking again would only count against the App
        except Exception:
            log.exception("progress cannot be shown")
            self._hopeless = True
        return None

    async def _text(self) -> str:
        """Return the comment; that of the end, which may be long, is made by a thread."""
        progress, wording = self._progress, self._wording
        outcome = progress.outcome
        if outcome is None:
            return render(progress, wording)
        text = await asyncio.to_thread(render, progress, wording)
        return f"{text}\n{ENDED.format(kind=outcome.kind)}"

    @property
    def _comments(self) -> MarkedComments:
        """Return what is kept current; where one place has many runs, by each of them in turn."""
        speaker = self._place.speaker or self._run_id
        return MarkedComments(self._github, self._place.request, speaker)

    async def _find_questions(self) -> None:
        """Learn where the approvals are asked that the run waits for."""
        asked_here = MarkedComments(self._github, self._place.request, self._run_id)
        for ident in self._progress.waits_for:
            if ident not in self._progress.questions:
                asked = await asked_here.find(comment_key(ident))
                if asked is not None:
                    self._progress = self._progress.with_questions({ident: asked.url})

    async def _write(self, text: str, *, yielding: bool) -> None:
        posted = await self._post(text, yielding=yielding)
        if posted.text != text:
            await self._comments.change(posted.id, KEY, text, yielding=yielding)
        self._sent, self._sent_at = text, time.monotonic()

    async def _post(self, text: str, *, yielding: bool) -> Posted:
        if self._comment_id is None:
            posted = await self._comments.say(KEY, text, yielding=yielding)
            self._comment_id = posted.id
            await self._remember(posted.id)
            return posted
        if self._sent is None:  # an earlier process made it
            return await self._comments.get(self._comment_id, KEY)
        return Posted(self._comment_id, "", self._sent)
