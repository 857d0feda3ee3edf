"""The text of a decision, on its pull request and on the issue."""

from __future__ import annotations

from functools import partial

from pydantic import Field, field_validator

from agents.loop import Submission
from agents.pipelines.resolve.decision.record_decision import RecordedDecision
from agents.pipelines.resolve.pull_request.craft_pr import BranchWords
from agents.pipelines.resolve.triage.triage import Triage
from agents.ports import PullRequest
from agents.requests import ResolveIssue
from agents.text import one_line, publish

WORDS_LIMIT = 10_000  # characters of each text of the model
NOTE_LIMIT = 2_000
PATHS_SHOWN = 10

HEADINGS = {
    "decline": "I would not make this change",
    "decision": "This needs a decision before it needs code",
}
_PULL_REQUEST = """{reasons}

{reconsider}

### What this pull request does

It records this in the decision log, in `{path}`, and changes no code. Merging it accepts the \
decision. If you see it differently, say why here and close it: nothing is recorded then.{issue}

{put_back}"""
_STAYS = " {issue} stays open in any case: closing it is up to you."
_RECORDED = """### {heading}

{reasons}

{reconsider}

**The record, to accept or to reject: {link}.** If you see it differently, say so there; closing \
it unmerged rejects it.

_{again}_"""
_UNRECORDED = """### {heading}

{detail}

**Why:**

{reasoning}

{note}

_{again}_"""
_NOTE = "**Not in the decision log:** {note}"
_RECONSIDER = "**What would change this:** {words}"
_PUT_BACK = "Other files had been changed as well and were put back: {paths}."
_AGAIN = (
    "This issue stays open: closing it is up to you. If it should be done all the same, put what I"
    " missed into the issue's text, then write `/bot retry`."
)
_AGAIN_LOCALLY = (
    "If it should be done all the same, say in the wish what I missed, and start again."
)


class DecisionWords(Submission, tool="submit_decision_words"):
    """Deliver the words of the pull request that carries the decision alone."""

    branch: BranchWords
    """Two to five words in kebab-case."""
    title: str = Field(max_length=90)
    """The decision in one line."""
    reasons: str
    """Why; posted on the issue as well."""
    reconsider: str
    """Which fact would change it, if any."""

    @field_validator("title", "reasons")
    @classmethod
    def _check_filled(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value

    @classmethod
    def from_record(cls, recorded: RecordedDecision) -> DecisionWords:
        """Return the words that are there without the model."""
        return cls.model_construct(
            branch="record",
            title=recorded.title,
            reasons=recorded.finding.reasoning,
            reconsider="",
        )

    def pull_request(self, request: ResolveIssue, recorded: RecordedDecision) -> str:
        """Return the pull request's body."""
        safe = _safe(request)
        body = _PULL_REQUEST.format(
            reasons=safe(self.reasons),
            reconsider=self._reconsider(request),
            path=recorded.path,
            issue=_STAYS.format(issue=f"#{request.number}") if request.number else "",
            put_back=_put_back(recorded),
        )
        return body.strip()

    def answer(self, request: ResolveIssue, finding: Triage, pull_request: PullRequest) -> str:
        """Return what is said on the issue."""
        number = pull_request.number
        return _RECORDED.format(
            heading=HEADINGS[finding.decision],
            reasons=_safe(request)(self.reasons),
            reconsider=self._reconsider(request),
            link=f"#{number}" if number else f"`{pull_request.branch}`",
            again=_explain_retry(request),
        )

    def _reconsider(self, request: ResolveIssue) -> str:
        words = _safe(request)(self.reconsider)
        return _RECONSIDER.format(words=words) if words.strip() else ""


def answer_without_record(request: ResolveIssue, finding: Triage, note: str) -> str:
    """Return what is said on the issue when no pull request carries the decision."""
    safe = _safe(request)
    return _UNRECORDED.format(
        heading=HEADINGS[finding.decision],
        detail=safe(finding.detail),
        reasoning=safe(finding.reasoning),
        note=_NOTE.format(note=safe(note, limit=NOTE_LIMIT)) if note.strip() else "",
        again=_explain_retry(request),
    )


def _explain_retry(request: ResolveIssue) -> str:
    return _AGAIN if request.number else _AGAIN_LOCALLY


def _put_back(recorded: RecordedDecision) -> str:
    shown, rest = recorded.put_back[:PATHS_SHOWN], len(recorded.put_back[PATHS_SHOWN:])
    paths = ", ".join(f"`{one_line(path, 120).replace('`', '')}`" for path in shown)
    more = f" and {rest} more" if rest else ""
    return _PUT_BACK.format(paths=f"{paths}{more}") if paths else ""


def _safe(request: ResolveIssue) -> partial[str]:
    # Each text by itself: what it leaves open must not swallow what follows.
    return partial(publish, repository_url=request.repository_url, limit=WORDS_LIMIT)
