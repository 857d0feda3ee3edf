"""Stage comment_draft: ask on the issue, or propose ways, before anything is changed."""

from __future__ import annotations

from agents.loop.conversation import Conversation, beside
from agents.pipelines.resolve.triage.comment import ClarifyingComment
from agents.pipelines.resolve.triage.question import Question, comment_id, newest_before
from agents.pipelines.resolve.triage.triage import Triage
from agents.pipelines.stages.waiting_label import show_waiting
from agents.run import Run, stage
from agents.tools.base import Capability

COMMENT_DRAFT = Conversation(
    name="comment_draft",
    prompt=beside(__file__, "comment_draft.md"),
    output=ClarifyingComment,
    capability=Capability.READ_ONLY,
    resumes="triage",
)
_LIST = {"ask": "questions", "propose": "approaches"}


@stage
async def comment_draft(run: Run, finding: Triage) -> Question:
    """Ask on the issue."""

    def objection(comment: ClarifyingComment) -> str | None:
        if comment.kind == finding.decision:
            return None
        wanted = _LIST[finding.decision]
        return f"Your decision was `{finding.decision}`: fill in `{wanted}` and nothing else."

    comment = await run.converse(COMMENT_DRAFT, objection=objection, decision=finding.decision)
    question = await _posted(run, finding, comment)
    run.summary = "asked questions" if comment.kind == "ask" else "proposed ways to do it"
    return question


async def _posted(run: Run, finding: Triage, comment: ClarifyingComment) -> Question:
    number = int(run.current.rpartition("/")[2])
    days = (await run.policy()).answers.days
    steering, tracker = run.ports.steering, run.ports.tracker
    waits = steering is not None and tracker is not None
    # The first time, all that the author said since the run began is new to the session.
    newest = (await tracker.remarks()).newest if tracker and number > 1 else 0
    if waits:  # before the comment: an answer may follow it at once, and takes the label off
        await show_waiting(run, on=True)
    text = comment.markdown(run.request.repository_url, finding.sub_issues, days if waits else None)
    url = await run.ports.publisher.comment(f"question-{number}", text)
    return Question(
        url=url,
        waits=waits,
        number=number,
        asked_after=newest_before(await steering.since(), url) if steering else 0,
        comments_after=min(newest, comment_id(url) or newest),
        days=days,
        asked_at=run.wall(),
        kind=comment.kind,
        divides=bool(finding.sub_issues),
    )
