"""The progress comment as people read it: pure code from state to Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agents.ports import StepState, Usage
from agents.requests import Request
from agents.run import Outcome
from app.github.wording import Wording

LONGEST_SUMMARY = 160

BOXES: dict[StepState, str] = {
    "waiting": "- [ ] {title}",
    "running": "- [ ] **{title}** … at work",
    "done": "- [x] {title}",
    "failed": "- [ ] {title}: **failed**",
    "skipped": "- [ ] ~~{title}~~",
}
WORKING = "**At work on this.** `{login}` asked for it with the label `{label}`."
NEXT = "The result will be linked here."
HEADLINES = {
    "pull_request": "**Done.** {text}",
    "comment": "**Answered.** {text}",
    "refused": "**Not started.** {text}",
    "failed": "**Stopped.** {text}",
}
LINKS = {
    "pull_request": "Next: review [the pull request]({url}).",
    "comment": "Next: read [the answer]({url}).",
}
RULE = "Rule: `{rule}`."
AGAIN = "To try again, take the label `{label}` off and put it on again."


@dataclass(frozen=True)
class StageLine:
    """One line of the checklist."""

    key: str
    """The stage occurrence, like `implement/2`."""
    title: str
    state: StepState
    summary: str = ""


@dataclass(frozen=True)
class Progress:
    """All that the comment shows. Each change returns a new value."""

    request: Request
    run_id: str
    stages: tuple[StageLine, ...] = ()
    tokens: int = 0
    cost_usd: float = 0.0
    answers: int = 0
    outcome: Outcome | None = None

    def started(self, key: str, title: str) -> Progress:
        """Return the progress with this stage at work; a repeated call changes nothing."""
        if any(line.key == key and line.state != "failed" for line in self.stages):
            return self
        others = tuple(line for line in self.stages if line.key != key)
        return replace(self, stages=(*others, StageLine(key, title, "running")))

    def finished(self, key: str, summary: str) -> Progress:
        """Return the progress with this stage done."""
        return self._marked(
            lambda line: replace(line, state="done", summary=summary) if line.key == key else line
        )

    def with_spent(self, usage: Usage, cost_usd: float, answers: int) -> Progress:
        """Return the progress with these totals."""
        tokens = sum(usage.model_dump().values())
        return replace(self, tokens=tokens, cost_usd=cost_usd, answers=answers)

    def ended(self, outcome: Outcome) -> Progress:
        """Return the progress with its end; what is still at work then has failed."""
        bad = outcome.kind in {"failed", "refused"}
        last = self.stages[-1].key if self.stages else ""

        def settle(line: StageLine) -> StageLine:
            if line.state == "running" or (bad and line.key == last):
                return replace(line, state="failed" if bad else "done")
            return line

        return replace(self._marked(settle), outcome=outcome)

    def _marked(self, change: Callable[[StageLine], StageLine]) -> Progress:
        return replace(self, stages=tuple(change(line) for line in self.stages))


def render(progress: Progress, wording: Wording) -> str:
    """Return the comment's Markdown."""
    parts = [
        _headline(progress, wording),
        "\n".join(_line(line, wording) for line in progress.stages),
        _next(progress),
        _footer(progress),
    ]
    return "\n\n".join(part for part in parts if part)


def _headline(progress: Progress, wording: Wording) -> str:
    request, outcome = progress.request, progress.outcome
    if outcome is None:
        return WORKING.format(login=request.asked_by.login, label=request.label)
    return HEADLINES[outcome.kind].format(text=wording.text(outcome.text))


def _line(line: StageLine, wording: Wording) -> str:
    number = line.key.rpartition("/")[2]
    title = line.title + (f" ({number})" if number not in {"", "1"} else "")
    text = BOXES[line.state].format(title=title)
    # A failed stage's summary is the error, which the headline already tells.
    if not line.summary or line.state == "failed":
        return text
    return f"{text}: {wording.line(line.summary, LONGEST_SUMMARY)}"


def _next(progress: Progress) -> str:
    outcome, label = progress.outcome, progress.request.label
    if outcome is None:
        return NEXT
    parts = [LINKS[outcome.kind].format(url=outcome.url)] if outcome.url else []
    if outcome.rule:
        parts.append(RULE.format(rule=outcome.rule))
    if outcome.kind == "failed":
        parts.append(AGAIN.format(label=label))
    return " ".join(parts)


def _footer(progress: Progress) -> str:
    spent = (
        f"${progress.cost_usd:.2f} · {progress.answers} model answers · "
        f"{progress.tokens:,} tokens · "
        if progress.answers
        else ""
    )
    return f"<sub>{spent}run `{progress.run_id}`</sub>"
