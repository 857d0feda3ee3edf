"""Chapter two of the demo: a person reviews the pull request, and Fettle addresses it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.demo.review_points import ReviewPoint, inlines
from app.demo.scene import Scene
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Review, Thread
from app.simulator.github.state.world import Pull

_MARKER = re.compile(r"<!-- fettle run=\S+ key=thread-(?P<verdict>[a-z_]+) -->\s*")


@dataclass(frozen=True)
class ThreadOutcome:
    """One thread, and what became of it."""

    path: str
    line: int
    asked: str
    verdict: str
    """As the hidden mark of the answer says it; empty without an answer."""
    answer: str
    resolved: bool


async def submit(scene: Scene, pull: Pull, points: Sequence[ReviewPoint]) -> Review:
    """Review the pull request as the scene's reviewer: GitHub sends its signed webhook."""
    diff = await GitDir(scene.repository.gitdir).diff(pull.base, pull.head)
    comments = list(inlines(points, diff))
    return await scene.github.submit_review(pull, scene.reviewer, comments=comments)


def list_outcomes(scene: Scene, review: Review) -> list[ThreadOutcome]:
    """Return what became of each thread that the review opened, in their order."""
    threads = [remark.thread for remark in review.remarks]
    return [_to_outcome(scene, thread) for thread in threads]


def _to_outcome(scene: Scene, thread: Thread) -> ThreadOutcome:
    asked, *later = thread.remarks
    bot = scene.app.bot_login
    said = [remark.body for remark in later if remark.author.account.login == bot]
    mark = _MARKER.match(said[-1]) if said else None
    return ThreadOutcome(
        path=thread.path,
        line=thread.original_line,
        asked=asked.body,
        verdict=mark["verdict"] if mark else "",
        answer=said[-1][mark.end() :] if mark else "",
        resolved=thread.resolved,
    )
