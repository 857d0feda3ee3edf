"""Step 6: points: all that reviewers said and nobody has dealt with, each under a short key."""

from __future__ import annotations

from agents.pipelines.address.apply_suggestions import Applied
from agents.pipelines.address.ledger import about_remark, about_review, argued
from agents.ports import Feedback, Remark, ReviewText, Thread
from agents.requests import Frozen
from agents.run import Run
from agents.text import clean

TOTAL_LIMIT = 120_000  # characters of all points in a prompt
POINT_LIMIT = 6_000  # and of each
HUNK_LINES = 24  # the end of a hunk is what a comment is about

_OUTDATED = "outdated: the code has changed since"


class Point(Frozen):
    """One thing that a reviewer said."""

    key: str
    """By which the model names it: `t3`, `r1`, `c2`."""
    about: str
    """By which the ledger names it: the thread's id, `review-7` or `remark-7`."""
    place: str
    """Where it was said: `calc.py:12`, `the review's text`."""
    author: str
    hunk: str = ""
    """What was written under, untrusted; empty where there is no such thing."""
    words: str
    """What was said, and what Fettle answered: untrusted."""
    argued: bool = False
    """Fettle has disagreed there before."""
    applied: str = ""
    """What became of the suggestions in it, untrusted: it names files and people."""

    def shown(self, run: Run, limit: int) -> dict[str, str]:
        """Return it for a prompt, its words cut to `limit` characters."""
        return {
            "key": self.key,
            "place": self.place,
            "author": self.author,
            "hunk": run.fenced(clean(self.hunk).text, limit=POINT_LIMIT) if self.hunk else "",
            "words": run.fenced(clean(self.words).text, limit=limit),
            "argued": "yes" if self.argued else "",
            "applied": run.fenced(self.applied) if self.applied else "",
        }


def points(feedback: Feedback, applied: Applied) -> tuple[Point, ...]:
    """Return them in reading order, without the threads that suggestions have settled."""
    threads = [each for each in feedback.waiting if each.id not in applied.settled]
    return (
        *(_of_thread(f"t{n}", each, applied) for n, each in enumerate(threads, 1)),
        *(_of_review(f"r{n}", each) for n, each in enumerate(feedback.reviews, 1)),
        *(_of_remark(f"c{n}", each) for n, each in enumerate(feedback.remarks, 1)),
    )


def limit_for(number: int) -> int:
    """Return how many characters each of so many points may have."""
    return min(POINT_LIMIT, TOTAL_LIMIT // max(number, 1))


def _of_thread(key: str, thread: Thread, applied: Applied) -> Point:
    line = thread.line or thread.original_line
    place = f"{thread.path}:{line}" if line else thread.path
    state = [_OUTDATED] if thread.outdated else []
    if thread.side == "LEFT":
        state.append("about the code before the pull request")
    said = "\n\n".join(
        f"{'Fettle answered' if each.own else each.author.login + ' wrote'}:\n{each.body}"
        for each in thread.said
    )
    return Point(
        key=key,
        about=thread.id,
        place=f"{place} ({'; '.join(state)})" if state else place,
        author=next((e.author.login for e in reversed(thread.said) if not e.own), ""),
        hunk="\n".join(thread.hunk.splitlines()[-HUNK_LINES:]),
        words=said,
        argued=argued(thread),
        applied=applied.told(thread),
    )


def _of_review(key: str, review: ReviewText) -> Point:
    return Point(
        key=key,
        about=about_review(review),
        place="the text of a review",
        author=review.author.login,
        words=review.body,
    )


def _of_remark(key: str, remark: Remark) -> Point:
    return Point(
        key=key,
        about=about_remark(remark),
        place="a comment in the discussion",
        author=remark.author,
        words=remark.body,
    )
