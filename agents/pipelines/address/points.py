"""The points that reviewers made and nobody has dealt with, each under a short key."""

from __future__ import annotations

from agents.pipelines.address.ledger import about_remark, about_review, has_disagreed
from agents.pipelines.address.suggestions.apply_suggestions import Applied
from agents.ports import Feedback, Remark, ReviewText, Thread
from agents.requests import Frozen
from agents.run import StageContext
from agents.text import clean_in_child, one_line

TOTAL_LIMIT = 120_000  # characters of all points in a prompt
POINT_LIMIT = 6_000  # and of each
HUNKS_LIMIT = 60_000  # and of the code that they were written under
HUNK_LIMIT, LEAST = 3_000, 200  # and of that of each
HUNK_LINES = 24
PLACE_LIMIT = 300
LONGEST = 40_000  # characters that are cleaned: a thread can hold millions, and others wait

_OUTDATED = "outdated: the code has changed since"


class FeedbackPoint(Frozen):
    """One thing that a reviewer said."""

    key: str
    """By which the model names it: `t3`, `r1`, `c2`."""
    about: str
    """By which the ledger names it: the thread's id, `review-7` or `remark-7`."""
    where: str
    """Where it was said: `in a thread`."""
    author: str
    place: str = ""
    """The file and line of a thread, like `calc.py:12`, untrusted: whoever opened the pull request
    named the file."""
    hunk: str = ""
    """What was written under, untrusted; empty where there is no such thing."""
    words: str
    """What was said, and what Fettle answered: untrusted."""
    argued: bool = False
    """Fettle has disagreed there before."""
    unshown: int = 0
    """Comments of the thread that are not in `words`: by bots, or by people without write access,
    or too many."""
    applied: str = ""
    """What became of the suggestions in it, untrusted: it names files and people."""

    async def to_prompt(self, run: StageContext, among: int) -> dict[str, str]:
        """Return the point for a prompt, cut to its share where it is one among so many."""
        limit = min(POINT_LIMIT, TOTAL_LIMIT // among)
        code = "\n\n".join(part for part in (self.place, self._end_of_hunk(among)) if part)
        return {
            "key": self.key,
            "where": self.where,
            "author": self.author,
            "code": run.fence(code) if code else "",
            "words": run.fence((await clean_in_child(_ends(self.words))).text, limit=limit),
            "argued": "yes" if self.argued else "",
            "unshown": str(self.unshown or ""),
            "applied": run.fence(self.applied) if self.applied else "",
        }

    def _end_of_hunk(self, among: int) -> str:
        """Return the end of the hunk, which is what a comment is about."""
        end = self.hunk[-max(LEAST, min(HUNK_LIMIT, HUNKS_LIMIT // among)) :]
        return end if end == self.hunk else end.partition("\n")[2] or end


def list_points(feedback: Feedback, applied: Applied) -> tuple[FeedbackPoint, ...]:
    """Return them in reading order, without the threads that code alone has dealt with."""
    dealt_with = {*applied.settled, *applied.contested}
    threads = [each for each in feedback.waiting if each.id not in dealt_with]
    return (
        *(_of_thread(f"t{n}", each, applied) for n, each in enumerate(threads, 1)),
        *(_of_review(f"r{n}", each) for n, each in enumerate(feedback.reviews, 1)),
        *(_of_remark(f"c{n}", each) for n, each in enumerate(feedback.remarks, 1)),
    )


def _ends(text: str) -> str:
    """Return the text, or of a huge one its two ends: no prompt shows what is between."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n\n[…]\n\n{text[-LONGEST // 2 :]}"


def _of_thread(key: str, thread: Thread, applied: Applied) -> FeedbackPoint:
    line = thread.line or thread.original_line
    path = one_line(thread.path, PLACE_LIMIT)
    place = f"{path}:{line}" if line else path
    state = [_OUTDATED] if thread.outdated else []
    if thread.side == "LEFT":
        state.append("about the code before the pull request")
    said = "\n\n".join(
        f"{'Fettle answered' if each.own else each.author.login + ' wrote'}:\n{each.body}"
        for each in thread.said
    )
    return FeedbackPoint(
        key=key,
        about=thread.id,
        where="in a thread",
        place=f"{place} ({'; '.join(state)})" if state else place,
        author=next((e.author.login for e in reversed(thread.said) if not e.own), ""),
        hunk="\n".join(thread.hunk.splitlines()[-HUNK_LINES:]),
        words=said,
        argued=has_disagreed(thread),
        unshown=thread.by_outsiders + thread.left_out,
        applied=applied.describe_suggestion(thread),
    )


def _of_review(key: str, review: ReviewText) -> FeedbackPoint:
    return FeedbackPoint(
        key=key,
        about=about_review(review),
        where="in the text of a review",
        author=review.author.login,
        words=review.body,
    )


def _of_remark(key: str, remark: Remark) -> FeedbackPoint:
    return FeedbackPoint(
        key=key,
        about=about_remark(remark),
        where="in a comment of the discussion",
        author=remark.author,
        words=remark.body,
    )
