"""The result of the demo as plain values: the object that `fettle demo --json` prints."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from agents.ports import Usage
from agents.run import Outcome
from app.demo.alerts.chapter import AlertsResult
from app.demo.review_chapter import ThreadOutcome, list_outcomes
from app.demo.scene import Scene
from app.demo.upstream_tests import TestRun
from app.simulator.github.gitdir import GitDir
from app.simulator.github.state.reviews import Review
from app.simulator.github.state.world import Pull


@dataclass(frozen=True)
class DemoCost:
    """What the run took: seconds from label to end, the server's own counts, tokens, dollars."""

    seconds: float
    numbers: dict[str, float]
    usage: Usage
    usd: float
    answers: int

    @property
    def own_seconds(self) -> float:
        """Return what neither the model nor commands of the repository took."""
        waited = self.numbers.get("fettle_model_seconds_total", 0.0)
        return self.seconds - waited - self.numbers.get("fettle_command_seconds_total", 0.0)


@dataclass(frozen=True)
class ReviewResult:
    """What came of the review of the pull request."""

    reviewer: str
    threads: list[ThreadOutcome]
    commits: list[dict[str, str]]
    """Those that were pushed as the answer, oldest first."""
    summary: str
    """The comment in which every thread stands; empty when there is none."""
    asked_again: bool
    """The reviewer was asked for another look."""
    seconds: float
    """From the submission of the review to the end of the run."""
    turns: int
    cost_usd: float
    outcome: str

    @property
    def whole(self) -> bool:
        """Return whether no thread stayed without an answer."""
        return bool(self.threads) and all(thread.verdict for thread in self.threads)


@dataclass(frozen=True)
class DemoResult:
    """The one object."""

    pull_requests: list[dict[str, Any]]
    comments: list[dict[str, str]]
    upstream_tests: dict[str, Any]
    """`before` the change and `after` all of it: exit code and last line of upstream's later tests.
    """
    review: ReviewResult | None
    """None when there was no pull request to review."""
    alerts: AlertsResult | None
    """None where there is neither an index with the packages nor npm."""
    seconds: float
    """From setting the label to the end of the run."""
    own_seconds: float
    """Of these, what neither the model nor the repository's commands took."""
    turns: int
    tokens: dict[str, int]
    cost_usd: float
    outcome: str

    @property
    def as_promised(self) -> bool:
        """Return whether there is one pull request, reviewed, with an answer in every thread.

        Upstream's tests have to have gone from red to green, and no attack may work any more.
        """
        before, after = self.upstream_tests["before"], self.upstream_tests["after"]
        return (
            len(self.pull_requests) == 1
            and self.review is not None
            and self.review.whole
            and before["exit_code"] == 1
            and after is not None
            and after["exit_code"] == 0
            and (self.alerts is None or self.alerts.whole)
        )

    def json(self) -> str:
        """Return the result as JSON text."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


async def collect(
    scene: Scene,
    outcome: Outcome,
    spending: DemoCost,
    verdicts: tuple[TestRun, TestRun | None],
    *,
    review: ReviewResult | None = None,
    alerts: AlertsResult | None = None,
) -> DemoResult:
    """Gather the result from the local GitHub's state and the server's counts."""
    before, after = verdicts
    return DemoResult(
        pull_requests=[await _pull(scene, pull) for pull in scene.pulls()],
        comments=[
            {"author": comment.author.account.login, "body": comment.body}
            for comment in scene.issue.comments
        ],
        upstream_tests={"before": asdict(before), "after": asdict(after) if after else None},
        review=review,
        alerts=alerts,
        seconds=round(spending.seconds, 2),
        own_seconds=round(spending.own_seconds, 2),
        turns=spending.answers,
        tokens=spending.usage.model_dump(),
        cost_usd=round(spending.usd, 4),
        outcome=outcome.text,
    )


async def collect_review(
    scene: Scene, review: Review, head: str, outcome: Outcome, spending: DemoCost
) -> ReviewResult:
    """Gather what came of a review. `head`: the commit that was reviewed."""
    pull = review.pull
    said = [comment.body for comment in pull.issue.comments if "key=ledger" in comment.body]
    return ReviewResult(
        reviewer=review.author.account.login,
        threads=list_outcomes(scene, review),
        commits=await _commits(scene, f"{head}..{pull.head_sha}"),
        summary=said[-1] if said else "",
        asked_again=review.author.account in pull.requested,
        seconds=round(spending.seconds, 2),
        turns=spending.answers,
        cost_usd=round(spending.usd, 4),
        outcome=outcome.text,
    )


async def _pull(scene: Scene, pull: Pull) -> dict[str, Any]:
    return {
        "number": pull.issue.number,
        "title": pull.issue.title,
        "head": pull.head,
        "base": pull.base,
        "draft": pull.draft,
        "body": pull.issue.body,
        "commits": await _commits(scene, f"{pull.base_sha}..{pull.head_sha}"),
    }


async def _commits(scene: Scene, span: str) -> list[dict[str, str]]:
    """Return the commits of a span, oldest first."""
    commits = await GitDir(scene.repository.gitdir).commits(span)
    return [{"sha": c.sha, "message": c.message} for c in reversed(commits)]
