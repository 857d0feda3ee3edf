"""Stages comment_draft, triage_again, unanswered: ask on the issue, and go on from the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from agents.errors import WORDLESS
from agents.loop import Capability, Conversation, prompt_path
from agents.pipelines.resolve.triage.comment import ClarifyingComment, write_question
from agents.pipelines.resolve.triage.triage import Triage, format_decision
from agents.ports import Remark, Remarks, Steer
from agents.requests import Frozen, ResolveIssue
from agents.run import Outcome, StageContext, stage
from agents.text import clean_in_child

DAY = 86_400.0

_COMMENT = re.compile(r"#issuecomment-(\d+)$")
_ASKED = {"ask": "Asked some questions.", "propose": "Proposed ways to do it."}


class Question(Frozen):
    """What was asked, and what a run has to know to wait for the answer."""

    url: str
    """The comment that asks."""
    waits: bool
    """Whether anybody can answer this run."""
    number: int
    """Which question of the run it is, from 1."""
    asked_after: int
    """The number of the newest steer at that moment: later ones are answers."""
    comments_after: int
    """The id of a comment: what the author said beyond it, the session may not know."""
    days: float
    """How long an answer is waited for."""
    asked_at: float
    """Unix seconds."""
    kind: Literal["ask", "propose"]
    divides: bool = False
    """Whether it showed people the parts that the issue would be divided into."""

    @property
    def until(self) -> float:
        """Return when the time for an answer is over, in unix seconds."""
        return self.asked_at + self.days * DAY

    @property
    def ended(self) -> Outcome:
        """Return how a run ends that cannot wait."""
        return Outcome(kind="comment", text=_ASKED[self.kind], url=self.url)


def newest_before(steers: Sequence[Steer], url: str) -> int:
    """Return the number of the newest steer that is older than the question at this URL.

    A stage that is done again finds its question posted long ago, and perhaps answered: the ids of
    the comments tell what came first.
    """
    asked = comment_id(url)
    answers = [steer.number for steer in steers if 0 < asked < comment_id(steer.url)]
    return min(answers) - 1 if answers else max((steer.number for steer in steers), default=0)


def comment_id(url: str) -> int:
    """Return the id of the comment at this URL, 0 for anything else."""
    found = _COMMENT.search(url)
    return int(found[1]) if found else 0


COMMENT_DRAFT = Conversation(
    name="comment_draft",
    prompt=prompt_path(__file__, "comment_draft.md"),
    output=ClarifyingComment,
    capability=Capability.READ_ONLY,
    resumes="triage",
    tier="fast",
    handed_over=True,
    effort="low",
)
_LIST = {"ask": "questions", "propose": "approaches"}


@stage
async def comment_draft(run: StageContext, finding: Triage) -> Question:
    """Ask on the issue."""

    def objection(comment: ClarifyingComment) -> str | None:
        if comment.kind == finding.decision:
            return None
        wanted = _LIST[finding.decision]
        return f"Your decision was `{finding.decision}`: fill in `{wanted}` and nothing else."

    try:
        comment = await run.converse(COMMENT_DRAFT, objection=objection, decision=finding.decision)
    except WORDLESS:  # what has to be known is known without it
        comment = write_question(finding)
    question = await _post_question(run, finding, comment)
    run.summarize("asked questions" if comment.kind == "ask" else "proposed ways to do it")
    return question


async def _post_question(
    run: StageContext, finding: Triage, comment: ClarifyingComment
) -> Question:
    number = int(run.current.rpartition("/")[2])
    days = (await run.policy()).answers.days
    steering, tracker = run.ports.steering, run.ports.tracker
    waits = steering is not None and tracker is not None
    # The first time, all that the author said since the run began is new to the session.
    newest = (await tracker.remarks()).newest if tracker and number > 1 else 0
    if waits:  # before the comment: an answer may follow it at once, and takes the label off
        await run.show_waiting(on=True)
    text = comment.markdown(run.request.repository_url, finding.sub_issues, days if waits else None)
    url = await run.ports.publisher.comment(f"question-{number}", text)
    return Question(
        url=url,
        waits=waits,
        number=number,
        asked_after=newest_before(await steering.list_after(), url) if steering else 0,
        comments_after=min(newest, comment_id(url) or newest),
        days=days,
        asked_at=run.wall(),
        kind=comment.kind,
        divides=bool(finding.sub_issues),
    )


AUTHOR_LIMIT = 20_000  # characters of what the author wrote meanwhile

TRIAGE_AGAIN = Conversation(
    name="triage_again",
    prompt=prompt_path(__file__, "triage_again.md"),
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
async def triage_again(run: StageContext, request: ResolveIssue, question: Question) -> Triage:
    """Go on from the answer."""
    await run.show_waiting(on=False)
    tracker = run.ports.tracker
    heard = await tracker.remarks(after=question.comments_after) if tracker else Remarks()
    if heard.by_author:  # may not write, and has a say in the session now
        run.update_state(tainted=True)
    finding = await run.converse(
        TRIAGE_AGAIN,
        asked=question.kind,
        author=request.author.login,
        by_author=await _format_remarks(run, heard.by_author),
        unread=heard.by_outsiders,
    )
    run.update_state(about=finding.kind, confidence=finding.sure)
    run.summarize(format_decision(finding))
    return finding


@stage
async def unanswered(run: StageContext, question: Question) -> Outcome:
    """Stop waiting for an answer."""
    await run.show_waiting(on=False)
    run.summarize("nobody answered")
    text = _UNANSWERED.format(url=question.url, days=question.days)
    return Outcome(kind="comment", text=text, url=question.url)


async def _format_remarks(run: StageContext, remarks: Sequence[Remark]) -> str:
    """Return what the author wrote, fenced; empty when there is nothing."""
    said = [
        f"{remark.at:%Y-%m-%d %H:%M} UTC{', changed since' if remark.edited else ''}:\n"
        f"{(await clean_in_child(remark.body)).text}"
        for remark in remarks
    ]
    return run.fence("\n\n".join(said), limit=AUTHOR_LIMIT) if said else ""
