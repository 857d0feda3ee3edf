"""The state of an address run: what reviewers said, and what was made of it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.pipelines.address.analyze_feedback import Analysis, PointKind
from agents.pipelines.address.ledger import (
    EntryVerdict,
    Ledger,
    LedgerEntry,
    about_remark,
    about_review,
)
from agents.pipelines.address.suggestions.apply_suggestions import Applied
from agents.pipelines.address.wording.wording import (
    Wording,
    choose_wording,
    load_english,
)
from agents.pipelines.stages.evaluation import EvaluationFindings
from agents.pipelines.stages.inspect_weakening import Inspection
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.quality import CheckComparison, VerifiedChange
from agents.ports import Feedback, PullSnapshot, Thread
from agents.requests import Frozen

PointAnswer = Literal["fixed", "answered", "disagree", "needs_human"]


class PointReply(BaseModel):
    """The answer to one point."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    about: str
    """The key of the point, like `t3`."""
    verdict: PointAnswer
    """What became of it."""
    commit: int = Field(ge=0)
    """For `fixed`: which of `commits` did it, from 1; else 0."""
    reply: str = Field(min_length=10)
    """The answer to the reviewer, posted where they said it."""


class Crafted(Frozen):
    """The words of the update, and the commits that were made of it."""

    commits: tuple[str, ...] = ()
    """Ids, in the order of the update's commits."""
    replies: tuple[PointReply, ...] = ()
    summary: str = ""

    def commit_of(self, reply: PointReply) -> int:
        """Return which of the commits a reply names, from 0; -1 for none."""
        return reply.commit - 1 if reply.verdict == "fixed" else -1


_VERDICTS: dict[PointKind, EntryVerdict] = {
    "question": "answered",
    "discussion": "needs_human",
    "style": "disagree",
    "disagree": "disagree",
    "applied": "fixed",
}


class FeedbackWork(Frozen):
    """What reviewers said, and what came of it."""

    pull: PullSnapshot
    feedback: Feedback
    applied: Applied
    analysis: Analysis = Analysis()
    crafted: Crafted = Crafted()
    verified: VerifiedChange | None = None
    """What was found when the changes were checked; None where nothing was changed."""
    findings: EvaluationFindings | None = None
    """What fresh eyes found; None where nobody has changed more than what reviewers suggested."""
    failure: str = ""
    """Why the model's part of the work was not done, for people; empty where it was."""

    @property
    def quality(self) -> CheckComparison | None:
        """Return what the checks say; None where nothing was changed."""
        return self.verified.quality if self.verified else None

    @property
    def inspection(self) -> Inspection:
        """Return what the changes take away from tests and checks."""
        return self.verified.inspection if self.verified else Inspection()

    @property
    def acceptable(self) -> bool:
        """Return whether nothing speaks against what was changed."""
        return self.verified is None or self.verified.acceptable

    @property
    def ready(self) -> bool:
        """Return whether what was changed is no worse than before, and fresh eyes agree to it."""
        return self.measured_well and self.judged_well

    @property
    def measured_well(self) -> bool:
        """Return whether the checks say that nothing is worse than it was before."""
        return self.verified is None or self.verified.ready

    @property
    def judged_well(self) -> bool:
        """Return whether fresh eyes found nothing wrong, or there was nothing for them to see."""
        return self.findings is None or self.findings.passed

    @property
    def spared(self) -> bool:
        """Return whether anything is worth having where the model's part of the work fails."""
        return bool(self.applied.commits or self.analysis.answers) and not self.pull.why_not

    def with_analysis(self, analysis: Analysis) -> FeedbackWork:
        """Return the work with what reviewers said, sorted."""
        return self.model_copy(update={"analysis": analysis})

    def with_verification(self, verified: VerifiedChange) -> FeedbackWork:
        """Return the work with what was found when the changes were checked."""
        return self.model_copy(update={"verified": verified})

    def with_findings(self, findings: EvaluationFindings | None) -> FeedbackWork:
        """Return the work with what fresh eyes found."""
        return self.model_copy(update={"findings": findings})

    def with_landing(self, landing: PushResult) -> FeedbackWork:
        """Return the work with what the checks say on top of what others pushed meanwhile."""
        return (
            self.with_verification(self.verified.with_landing(landing)) if self.verified else self
        )

    def with_wording(self, crafted: Crafted) -> FeedbackWork:
        """Return the work with what the engineer says of the changes."""
        return self.model_copy(update={"crafted": crafted})

    @property
    def ledger(self) -> Ledger:
        """Return what became of every single thing that was said."""
        feedback = self.feedback
        abouts = (*map(about_review, feedback.reviews), *map(about_remark, feedback.remarks))
        said = self._settle_what_was_asked_too([self._of_thread(each) for each in feedback.threads])
        return Ledger(entries=(*said, *(self._of_point(about) for about in abouts)))

    def ledger_after(self, landing: PushResult) -> Ledger:
        """Return the ledger with the ids that the commits have since they were let out.

        A change fixes something only where it was measured and makes nothing worse. Where fresh
        eyes found fault with it, only what reviewers suggested to the letter counts as fixed.
        """
        measured = self.with_landing(landing).measured_well

        def judge(each: LedgerEntry) -> EntryVerdict:
            sure = measured and (self.judged_well or each.about in self.applied.settled)
            return each.verdict if sure or each.verdict != "fixed" else "changed"

        return Ledger(
            entries=tuple(
                each.model_copy(
                    update={"commit": landing.name_of(each.commit), "verdict": judge(each)}
                )
                for each in self.ledger.entries
            )
        )

    def wording_of(self, about: str) -> Wording:
        """Return what code says in the thread; what has none stands in the summary, in English."""
        thread = next((each for each in self.feedback.threads if each.id == about), None)
        return (
            choose_wording(thread, self.analysis.language_of(about)) if thread else load_english()
        )

    def applied_lines(self, thread: Thread) -> tuple[str, ...]:
        """Return the lines that close the thread, where it is its suggestion alone that does."""
        point = next((each for each in self.analysis.points if each.about == thread.id), None)
        kind, _ = self.analysis.answers.get(point.key, ("", "")) if point else ("applied", "")
        return self.applied.lines.get(thread.id, ()) if kind == "applied" else ()

    def _settle_what_was_asked_too(self, said: list[LedgerEntry]) -> list[LedgerEntry]:
        """Return it with threads fixed in which the same was asked as in one that is fixed now."""
        urls = {thread.id: thread.url for thread in self.feedback.threads}
        settled = {
            other: each.model_copy(
                update={
                    "about": other,
                    "words": self.wording_of(other).settled.format(url=urls[each.about]),
                }
            )
            for each in said
            if each.verdict == "fixed"
            for other in self.applied.asked_too.get(each.about, ())
        }
        return [settled.get(each.about, each) for each in said]

    def _of_thread(self, thread: Thread) -> LedgerEntry:
        if commit := self.applied.settled.get(thread.id):
            words = self.applied.decided.get(thread.id, "")
            return LedgerEntry(about=thread.id, verdict="fixed", commit=commit, words=words)
        if thread.ours_is_last:
            return LedgerEntry(about=thread.id, verdict="before")
        if question := self.applied.contested.get(thread.id):
            return LedgerEntry(about=thread.id, verdict="needs_human", words=question)
        return self._of_point(thread.id)

    def _of_point(self, about: str) -> LedgerEntry:
        key = next((point.key for point in self.analysis.points if point.about == about), "")
        if self.failure and key not in self.analysis.answers:
            commit = self.applied.partly.get(about)
            wording = self.wording_of(about)
            partly = f"{wording.partly.format(commit=commit[:10])} " if commit else ""
            words = partly + wording.not_done.format(why=self.failure)
            return LedgerEntry(about=about, verdict="not_done", words=words)
        if key in self.analysis.answers:
            kind, words = self.analysis.answers[key]
            commit = self.applied.partly[about] if kind == "applied" else ""
            return LedgerEntry(about=about, verdict=_VERDICTS[kind], commit=commit, words=words)
        reply = next(each for each in self.crafted.replies if each.about == key)
        number = self.crafted.commit_of(reply)
        commit = self.crafted.commits[number] if number >= 0 else ""
        return LedgerEntry(about=about, verdict=reply.verdict, commit=commit, words=reply.reply)
