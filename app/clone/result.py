"""What a run on a clone came to: for programs one JSON object, for people Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.pipelines.stages.quality import CheckComparison, check_quality, headline
from agents.ports import Usage
from agents.run import Outcome
from app.store.runs import KeptStep

_CHECKING = f"stage/{check_quality.name}/"
LABEL = (
    "_There is no issue on GitHub here: where this speaks of a label or of `/bot`, add to what you"
    " asked for and run the same command again._"
)


@dataclass(frozen=True)
class CloneResult:
    """What `fettle resolve PATH` prints."""

    outcome: Outcome
    run_id: str
    base: str
    """The commit that the run began at."""
    branch: str | None
    """Also of a run that failed, when it had made commits by then."""
    commits: list[tuple[str, str]]
    """Id and subject, oldest first."""
    said: list[str]
    """What would have been said on the issue."""
    quality: CheckComparison | None
    spent: tuple[Usage, float, int]
    kept: Path | None = None
    """The folder of a run that failed."""

    @property
    def exit_code(self) -> int:
        """Return what the command ends with."""
        return exit_code(self.outcome)

    @property
    def headline(self) -> str:
        """Return how it ended, in a sentence or two."""
        pull = self.outcome.pull_request
        if pull is None:
            return self.outcome.text
        if not pull.draft:
            return f"Done: the change is on a branch. {self._checked}"
        return f"The change is on a branch, as a draft: its text says why. {self._checked}"

    @property
    def _checked(self) -> str:
        return headline(self.quality) if self.quality else "No check was run."

    @property
    def notes(self) -> list[str]:
        """Return what else people should know: each a sentence in Markdown."""
        notes = [*self.said]
        said = (self.outcome.text, *self.said)
        if any(word in text for text in said for word in ("label", "/bot")):
            notes.append(LABEL)
        if self.branch and self.branch not in self.outcome.text:
            notes.append(f"What was committed until then is on the branch `{self.branch}`.")
        if self.kept:
            notes.append(f"Conversation and log are kept in `{self.kept}` until you remove it.")
        return notes

    @property
    def text(self) -> str:
        """Return the pull request's title and body as Markdown, or what there is to say."""
        pull = self.outcome.pull_request
        if pull is not None:
            return f"# {pull.title}\n\n{pull.body}\n\n{self.reference}"
        return "\n\n".join([f"**{self.headline}**", *self.notes, self.reference])

    @property
    def reference(self) -> str:
        """Return the names of what came of it: branch and commit, if any, and the run."""
        tip = self.commits[-1][0] if self.commits else ""
        return refer_to(self.run_id, self.branch or "", tip)

    def json(self) -> str:
        """Return the result as one JSON object."""
        pull = self.outcome.pull_request
        usage, usd, answers = self.spent
        about = {
            "outcome": self.outcome.kind,
            "text": self.outcome.text,
            "run": self.run_id,
            "commit": self.commits[-1][0] if self.commits else None,
            "base": self.base,
            "branch": self.branch,
            "commits": [{"sha": sha, "subject": subject} for sha, subject in self.commits],
            "title": pull.title if pull else None,
            "body": pull.body if pull else None,
            "draft": pull.draft if pull else None,
            "comments": self.said,
            "quality": _checks(self.quality) if self.quality else [],
            "cost": {"usd": round(usd, 4), "turns": answers, "tokens": usage.model_dump()},
            "kept": str(self.kept) if self.kept else None,
        }
        return json.dumps(about, indent=2, ensure_ascii=False)


def refer_to(run_id: str, branch: str = "", commit: str = "") -> str:
    """Return the names by which people find again what a run made, and the run."""
    made = f"Branch `{branch}` at commit `{commit[:12]}`. " if branch and commit else ""
    return f"{made}Run `{run_id}`: `fettle runs show {run_id}` tells all of it."


def exit_code(outcome: Outcome) -> int:
    """Return 0 for a pull request that is ready, 1 for a failure, 2 when a person has to act."""
    if outcome.kind in ("failed", "cancelled"):
        return 1
    pull = outcome.pull_request
    return 0 if pull is not None and not pull.draft and outcome.ready else 2


def find_last_checks(steps: Iterable[KeptStep]) -> CheckComparison | None:
    """Return what a run's checks said last, by the steps that the engine recorded."""
    records = [each.record for each in steps if each.name.startswith(_CHECKING)]
    told = [each["output"] for each in records if each and not each["error"] and each["output"]]
    return CheckComparison.model_validate(told[-1]) if told else None


def _checks(quality: CheckComparison) -> list[dict[str, Any]]:
    before = {run.name: run.exit_code for run in quality.baseline.runs}
    return [
        {
            "check": run.name,
            "command": run.command,
            "exit_code_before": before[run.name],
            "exit_code_after": run.exit_code,
            "passed": run.exit_code == 0,
        }
        for run in quality.runs
    ]
