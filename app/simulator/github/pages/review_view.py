"""Render reviews as HTML: the verdict, and each thread with the lines it is about."""

from __future__ import annotations

from dataclasses import dataclass

from app.simulator.github.pages.diff_view import DiffRow, view_hunk
from app.simulator.github.state.reviews import Review, Thread
from app.simulator.github.state.world import Pull

LINES_SHOWN = 4
VERDICTS = {
    "APPROVED": ("done", "good", "approved this"),
    "CHANGES_REQUESTED": ("cross", "bad", "asked for changes"),
    "COMMENTED": ("eyes", "", "reviewed this"),
    "DISMISSED": ("cross", "", "had a review that no longer counts"),
}


@dataclass(frozen=True)
class ThreadView:
    """A thread with the end of the hunk that it is about."""

    thread: Thread
    rows: list[DiffRow]
    place: str


@dataclass(frozen=True)
class ReviewView:
    """A review with the threads that it began."""

    review: Review
    icon: str
    mood: str
    words: str
    threads: list[ThreadView]


def view_reviews(pull: Pull) -> list[ReviewView]:
    """Return the reviews that say something of their own: those that only wrap a reply do not."""
    views = [_view(pull, review) for review in pull.reviews]
    return [each for each in views if _speaks(each)]


def _speaks(view: ReviewView) -> bool:
    return bool(view.review.body or view.threads or view.review.state != "COMMENTED")


def _view(pull: Pull, review: Review) -> ReviewView:
    begun = [each for each in pull.threads if each.remarks[0].review is review]
    icon, mood, words = VERDICTS[review.state]
    return ReviewView(review, icon, mood, words, [_thread(each) for each in begun])


def _thread(thread: Thread) -> ThreadView:
    first, last = thread.original_start_line, thread.original_line
    if thread.line is not None:
        first, last = thread.start_line, thread.line
    lines = f"{last}" if first is None else f"{first}–{last}"  # noqa: RUF001 - a range's dash
    shown = max(LINES_SHOWN, last - first + 1 if first else 0)
    rows = view_hunk(thread.path, thread.original.hunk)
    return ThreadView(thread, rows[-shown:], f"{thread.path}:{lines}")
