"""What the demo showed, as plain values: the JSON object that `fettle demo --json` ends with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from agents.ports import Usage
from agents.run import Outcome
from app.local.github.gitdir import GitDir
from app.local.github.state import Pull
from app.local.judge import Verdict
from app.local.scene import Scene


@dataclass(frozen=True)
class Spending:
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
class DemoResult:
    """The one object."""

    pull_requests: list[dict[str, Any]]
    comments: list[dict[str, str]]
    upstream_tests: dict[str, Any]
    """`before` and `after` the change: exit code and last line of upstream's later tests."""
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
        """Return whether there is one pull request and upstream's tests went from red to green."""
        before, after = self.upstream_tests["before"], self.upstream_tests["after"]
        return (
            len(self.pull_requests) == 1
            and before["exit_code"] == 1
            and after is not None
            and after["exit_code"] == 0
        )

    def json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


async def collect(
    scene: Scene, outcome: Outcome, spending: Spending, verdicts: tuple[Verdict, Verdict | None]
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
        seconds=round(spending.seconds, 2),
        own_seconds=round(spending.own_seconds, 2),
        turns=spending.answers,
        tokens=spending.usage.model_dump(),
        cost_usd=round(spending.usd, 4),
        outcome=outcome.text,
    )


async def _pull(scene: Scene, pull: Pull) -> dict[str, Any]:
    git = GitDir(scene.repository.gitdir)
    commits = await git.commits(f"{pull.base_sha}..{pull.head_sha}")
    return {
        "number": pull.issue.number,
        "title": pull.issue.title,
        "head": pull.head,
        "base": pull.base,
        "draft": pull.draft,
        "body": pull.issue.body,
        "commits": [{"sha": c.sha, "message": c.message} for c in reversed(commits)],
    }
