"""The ledger of a review: one verdict for each point that reviewers made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from agents.pipelines.address.summary import WORDS_LIMIT as SHORT
from agents.pipelines.address.summary import SummaryRow, commit_link, format_summary
from agents.pipelines.address.wording.wording import Wording, load_english
from agents.ports import Feedback, PullSnapshot, Remark, ReviewText, Thread
from agents.requests import Frozen
from agents.text import code_span, one_line, publish
from agents.text.outgoing import fence_all

EntryVerdict = Literal[
    "fixed",
    "changed",
    "suggested",
    "answered",
    "disagree",
    "needs_human",
    "later",
    "kept_back",
    "not_done",
    "before",
]

WORDS_LIMIT = 8_000  # characters of what the model says in one thread
NOTE_LIMIT = 400

_COUNTED: dict[EntryVerdict, tuple[str, str]] = {  # for one, and for several
    "fixed": ("fixed", "fixed"),
    "changed": ("changed, not verified", "changed, not verified"),
    "suggested": ("suggested", "suggested"),
    "answered": ("answered", "answered"),
    "disagree": ("disagreed with", "disagreed with"),
    "needs_human": ("needs a person", "need a person"),
    "later": ("has newer words", "have newer words"),
    "kept_back": ("kept back", "kept back"),
    "not_done": ("not done yet", "not done yet"),
    "before": ("dealt with before", "dealt with before"),
}
_PLAIN_START = re.compile(r"""(?!\d+[.)]\s)(?:[^\W_]|["'(]|`(?!``))""")
_UNREAD = "{count} by people without write access, or by bots, {were} not read."
_MORE = "{count} more {were} not read, because there are so many. `/bot address` reads on."
_EDITED = "{count} edited after the review was asked for; what counts is how {they} read then."
_CONFLICTS = "This branch contradicts {base}. Write `/bot update` to have that merged in."


class LedgerEntry(Frozen):
    """What became of one thread, review or remark."""

    about: str
    """The thread's id, or what `about_review` and `about_remark` return."""
    verdict: EntryVerdict
    commit: str = Field(default="", pattern=r"^([0-9a-f]{7,64})?$")
    """The one that answers it; empty where nothing was changed for it."""
    words: str = ""
    """The answer, as the model wrote it."""
    resolved: bool = False
    """The thread is resolved now."""
    note: str = ""
    """Why it stays open although it was fixed, or kept back."""
    unanswered: bool = False
    """No answer stands in its thread: it is gone, locked, or somebody wrote there meanwhile."""


def about_review(review: ReviewText) -> str:
    """Return by what the ledger knows the text of a review."""
    return f"review-{review.id}"


def about_remark(remark: Remark) -> str:
    """Return by what the ledger knows a comment of the discussion."""
    return f"remark-{remark.id}"


def has_disagreed(thread: Thread) -> bool:
    """Return whether Fettle has disagreed in the thread before: it does not do so twice."""
    return any(said.own and said.verdict == "disagree" for said in thread.said)


class Ledger(Frozen):
    """The verdicts of one run."""

    entries: tuple[LedgerEntry, ...] = ()

    def entry(self, about: str) -> LedgerEntry | None:
        """Return the verdict on this."""
        return next((entry for entry in self.entries if entry.about == about), None)

    def list_gaps(self, feedback: Feedback) -> list[str]:
        """Return sentences about missing, double and unknown entries; none if complete."""
        named = Counter(entry.about for entry in self.entries)
        known = list(_list_subjects(feedback))
        return [
            *(f"`{about}` has no verdict." for about in known if about not in named),
            *(f"`{about}` has {n} verdicts." for about, n in named.items() if n > 1),
            *(f"`{about}` is nothing that anybody said." for about in named if about not in known),
        ]

    def markdown(
        self,
        feedback: Feedback,
        pull: PullSnapshot,
        *,
        repository_url: str,
        quality: str = "",
        notes: Sequence[str] = (),
    ) -> str:
        """Return the summary that closes the run.

        `quality` says what the checks said, `notes` what people have to know besides.
        """
        return format_summary(
            self.counts(feedback),
            tuple(self._rows(feedback, pull, repository_url)),
            [note for note in (quality, *_notes(feedback, pull), *notes) if note],
            tuple(self._answers(feedback)),
            repository_url=repository_url,
        )

    def _answers(self, feedback: Feedback) -> Iterator[tuple[str, str]]:
        """Yield what answers those who have no thread, and is too long for the table."""
        by = {about_review(each): each.author.login for each in feedback.reviews}
        by |= {about_remark(each): each.author for each in feedback.remarks}
        for entry in self.entries:
            if entry.about in by and len(entry.words) > SHORT:
                yield by[entry.about], entry.words

    def counts(self, feedback: Feedback) -> str:
        """Return what became of it all, in a sentence."""
        known = tuple(_list_subjects(feedback))
        if not known:
            return "Nothing waited for an answer."
        verdicts = {each.about: each.verdict for each in self.entries if each.about in known}
        numbers = Counter(verdicts.values())
        words = [f"{n} {_COUNTED[v][n > 1]}" for v in _COUNTED if (n := numbers[v])]
        things = [
            _count(len(feedback.threads), "thread"),
            _count(len(feedback.reviews), "review"),
            _count(len(feedback.remarks), "comment"),
        ]
        whole = " of what was read" if feedback.left_out else ""
        answered = len(verdicts) - sum(e.unanswered for e in self.entries if e.about in verdicts)
        share = f"{100 * answered // len(known)} %{whole} answered"
        said = ", ".join(each for each in things if each)
        return f"{said}: {'; '.join(part for part in (', '.join(words), share) if part)}."

    def _rows(
        self, feedback: Feedback, pull: PullSnapshot, repository_url: str
    ) -> Iterator[SummaryRow]:
        for thread in feedback.threads:
            line = thread.line or thread.original_line
            place = f"{thread.path}:{line}" if line else thread.path
            yield self._row(thread.id, place, thread.url)
        for review in feedback.reviews:
            yield self._row(about_review(review), f"review by {review.author.login}", review.url)
        for remark in feedback.remarks:
            page = f"{repository_url}/pull/{pull.number}#issuecomment-{remark.id}"
            url = page if repository_url else ""
            yield self._row(about_remark(remark), f"comment by {remark.author}", url)

    def _row(self, about: str, place: str, url: str) -> SummaryRow:
        entry = self.entry(about)
        if entry is None:
            return SummaryRow(place=place, url=url, verdict="**No answer**")
        return SummaryRow(
            place=place,
            url=url,
            verdict=_mark(entry, load_english()),
            commit=entry.commit,
            words=entry.words,
            note="" if entry.resolved else entry.note,
        )


def reply(entry: LedgerEntry, *, repository_url: str, wording: Wording | None = None) -> str:
    """Return the answer to one thread: what was decided, then why; in English by default."""
    wording = wording or load_english()
    words = publish(entry.words, repository_url=repository_url, limit=WORDS_LIMIT)
    text = _join_head(_head(entry, wording, repository_url), words)
    return publish(f"{text}{_stays_open(entry, wording)}", repository_url=repository_url)


def reply_in_code(entry: LedgerEntry, *, repository_url: str, wording: Wording) -> str:
    """Return the same with the words as code, where they take too much to be made harmless."""
    head = _head(entry, wording, repository_url)
    words = fence_all(entry.words, limit=WORDS_LIMIT)
    note = publish(_stays_open(entry, wording), repository_url=repository_url)
    return "\n\n".join(part for part in (f"{head}.", words, note.strip()) if part)


def _mark(entry: LedgerEntry, wording: Wording) -> str:
    return f"**{wording.verdicts[entry.verdict]}**"


def _head(entry: LedgerEntry, wording: Wording, repository_url: str) -> str:
    """Return what was decided, and where."""
    if not entry.commit:
        return _mark(entry, wording)
    link = commit_link(entry.commit, repository_url)
    return wording.in_commit.format(verdict=_mark(entry, wording), commit=link)


def _stays_open(entry: LedgerEntry, wording: Wording) -> str:
    """Return why the thread stays open, as a paragraph; empty where there is nothing to say."""
    if not entry.note or entry.resolved:
        return ""
    return "\n\n" + wording.stays_open.format(note=one_line(entry.note, NOTE_LIMIT))


def _join_head(head: str, words: str) -> str:
    """Return the words behind their head: in its line where they begin with a plain sentence."""
    if not words:
        return f"{head}."
    return f"{head}: {words}" if _PLAIN_START.match(words) else f"{head}.\n\n{words}"


def _list_subjects(feedback: Feedback) -> Iterator[str]:
    """Return all that needs a verdict, by the names that the ledger has for it."""
    yield from (thread.id for thread in feedback.threads)
    yield from map(about_review, feedback.reviews)
    yield from map(about_remark, feedback.remarks)


def _notes(feedback: Feedback, pull: PullSnapshot) -> Iterator[str]:
    """Return what people should know of this feedback and this pull request."""
    if unread := feedback.by_outsiders:
        were = "was" if unread == 1 else "were"
        yield _UNREAD.format(count=_count(unread, "comment"), were=were)
    if more := feedback.left_out:
        yield _MORE.format(count=more, were="was" if more == 1 else "were")
    said = [each for thread in feedback.threads for each in thread.said if not each.own]
    edited = sum(each.edited for each in said) + sum(each.edited for each in feedback.reviews)
    if edited:
        they = "it" if edited == 1 else "they"
        were = "was" if edited == 1 else "were"
        yield _EDITED.format(count=f"{_count(edited, 'comment')} {were}", they=they)
    if pull.conflicts:
        yield _CONFLICTS.format(base=code_span(pull.base))


def _count(number: int, what: str) -> str:
    """Return how many there are, in words; empty for none."""
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""
