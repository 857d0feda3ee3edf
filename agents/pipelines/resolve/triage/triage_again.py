"""Stage triage_again: continue the session that asked, with people's answers."""

from __future__ import annotations

from collections.abc import Sequence

from agents.loop.conversation import Conversation, beside
from agents.pipelines.resolve.triage.question import Question
from agents.pipelines.resolve.triage.triage import Triage, decided
from agents.pipelines.stages.waiting_label import show_waiting
from agents.ports import Remark, Remarks
from agents.requests import ResolveIssue
from agents.run import Outcome, Run, stage
from agents.text import clean
from agents.tools.base import Capability

AUTHOR_LIMIT = 20_000  # characters of what the author wrote meanwhile

TRIAGE_AGAIN = Conversation(
    name="triage_again",
    prompt=beside(__file__, "triage_again.md"),
    output=Triage,
    capability=Capability.READ_ONLY,
    resumes="triage",
)
_UNANSWERED = (
    "Nobody answered within {days:g} days what was asked in {url}, so the run ended; nothing was"
    " changed. To take it up again, put the answer into the issue's text, then write `/bot retry`."
    " `answers.days` in `.github/fettle.yml` gives people more time."
)


@stage
async def triage_again(run: Run, request: ResolveIssue, question: Question) -> Triage:
    """Go on from the answer."""
    await show_waiting(run, on=False)
    tracker = run.ports.tracker
    heard = await tracker.remarks(after=question.comments_after) if tracker else Remarks()
    if heard.by_author:  # may not write, and has a say in the session now
        run.stands(tainted=True)
    finding = await run.converse(
        TRIAGE_AGAIN,
        asked=question.kind,
        author=request.author.login,
        by_author=_fenced(run, heard.by_author),
        unread=heard.by_outsiders,
    )
    run.stands(about=finding.kind)
    run.summary = decided(finding)
    return finding


@stage
async def unanswered(run: Run, question: Question) -> Outcome:
    """Stop waiting for an answer."""
    await show_waiting(run, on=False)
    run.summary = "nobody answered"
    text = _UNANSWERED.format(url=question.url, days=question.days)
    return Outcome(kind="comment", text=text, url=question.url)


def _fenced(run: Run, remarks: Sequence[Remark]) -> str:
    """Return what the author wrote, fenced; empty when there is nothing."""
    said = [
        f"{remark.at:%Y-%m-%d %H:%M} UTC{', changed since' if remark.edited else ''}:\n"
        f"{clean(remark.body).text}"
        for remark in remarks
    ]
    return run.fenced("\n\n".join(said), limit=AUTHOR_LIMIT) if said else ""
