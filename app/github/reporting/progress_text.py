"""Render the state of a run as the Markdown of its progress comment.

`wording_by_kind.py` has the words that depend on the kind of request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from agents.ports import StepState, Usage
from agents.requests import RemediateAlert, Request
from agents.run import Outcome
from app.github.alerts.issue_text import is_discreet, public_text
from app.github.reporting.wording_by_kind import describe_asker, describe_restart, words_of
from app.github.transport import OutgoingText

LONGEST_SUMMARY = 160
LONGEST_WHY = 300

LineState = StepState | Literal["cancelled"]
KEEPING = "keep_work"
"""The stage that saves unfinished work of an ended run; it is never the cause of a failure."""

BOXES: dict[LineState, str] = {
    "waiting": "- [ ] {title}",
    "running": "- [ ] **{title}** … at work",
    "done": "- [x] {title}",
    "failed": "- [ ] {title}: **failed**",
    "skipped": "- [ ] ~~{title}~~",
    "cancelled": "- [ ] {title}: **cancelled**",
}
PARKED = "- [ ] **{title}** … waiting for a person: {links}"
MOVED = (
    "The worker that had this run stopped answering; another one goes on with it since"
    " {at:%Y-%m-%d at %H:%M} UTC. Nothing is done twice."
)
PAUSED = "- [ ] **{title}** … waiting for {why}"
WORKING = "**At work on this.** {asked}."
QUEUED = "**{place}.** {asked}."
WAITING = (
    "**Waiting for a decision.** {asked}, and it cannot go on before somebody with write access has"
    " answered {what}."
)
RESTING = "**Waiting for {what}.** {asked}."
NEXT_PAUSED = "It goes on by itself then. Nothing is lost meanwhile, and nothing is spent."
NEXT_QUEUED = (
    "It begins by itself once a place is free. `/bot cancel` takes it out of the queue; nothing is"
    " spent meanwhile."
)
NEXT_PARKED = "Next: answer {links}. Nothing is lost meanwhile, and nothing is spent."
HEADLINES = {
    "pull_request": "**Done.** {text}",
    "comment": "**{answered}** {text}",
    "refused": "**Not started.** {text}",
    "cancelled": "**Cancelled.** {text}",
    "failed": "**Stopped.** {text}",
    "covered": "**Nothing to do.** {text}",
}
KEPT = "See [what it had made]({url})."
LINKS = {
    "pull_request": "Next: review [the pull request]({url}).",
    "comment": "Next: read [{link}]({url}).",
    "cancelled": KEPT,
    "failed": KEPT,
}
RULE = "Rule: `{rule}`."
AGAIN = {
    "cancelled": "To go on after all, write `/bot retry`.",
    "failed": "To try again, write `/bot retry`{afresh}.",
}


@dataclass(frozen=True)
class StageLine:
    """One line of the checklist."""

    key: str
    """The stage occurrence, like `implement/2`."""
    title: str
    state: LineState
    summary: str = ""
    waits_for: tuple[str, ...] = ()
    """Ids of the approvals that the stage needs to go on."""
    pause: str = ""
    """Why the stage waits, if not for approvals."""


@dataclass(frozen=True)
class Progress:
    """Everything that the progress comment shows. Each change returns a new value."""

    request: Request
    run_id: str
    stages: tuple[StageLine, ...] = ()
    tokens: int = 0
    cost_usd: float = 0.0
    answers: int = 0
    outcome: Outcome | None = None
    caution: str = ""
    """A warning about the machine that the run works on, as Markdown."""
    moved_at: float | None = None
    """When another worker than before took it up, if one did; unix seconds."""
    pages: str = ""
    """The address of the pages, where whoever can read this comment can see the run."""
    queued: str = ""
    """Its place in the queue, in words, while it waits for one at work."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Links to where the approvals are asked, by id."""

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Return the ids of the approvals that the run needs to go on."""
        return tuple(ident for line in self.stages for ident in line.waits_for)

    def queue(self, place: int, seconds: float | None) -> Progress:
        """Return the progress of a run that waits for a place, by its likely wait in seconds."""
        return replace(self, queued=describe_place(place, seconds))

    def start_stage(self, key: str, title: str) -> Progress:
        """Return the progress with this stage at work; repeated, it only ends the waiting."""
        going = replace(self._map_stages(lambda line: replace(line, pause="")), queued="")
        if any(line.key == key and line.state != "failed" for line in going.stages):
            return going.park_stage(key, ())
        others = tuple(line for line in going.stages if line.key != key)
        return replace(going, stages=(*others, StageLine(key, title, "running")))

    def finish_stage(self, key: str, summary: str) -> Progress:
        """Return the progress with this stage done."""
        return self._map_stages(
            lambda line: (
                replace(line, state="done", summary=summary, waits_for=())
                if line.key == key
                else line
            )
        )

    def park_stage(self, key: str, approvals: Sequence[str]) -> Progress:
        """Return the progress with this stage waiting for these decisions."""
        return self._map_stages(
            lambda line: replace(line, waits_for=tuple(approvals)) if line.key == key else line
        )

    def pause_stage(self, key: str, why: str) -> Progress:
        """Return the progress with this stage waiting for something other than decisions."""
        return self._map_stages(lambda line: replace(line, pause=why) if line.key == key else line)

    def with_questions(self, links: Mapping[str, str]) -> Progress:
        """Return the progress with links to where these approvals are asked."""
        return replace(self, questions={**self.questions, **links})

    def with_spent(self, usage: Usage, cost_usd: float, answers: int) -> Progress:
        """Return the progress with these totals; `cost_usd` is in dollars."""
        tokens = sum(usage.model_dump().values())
        return replace(self, tokens=tokens, cost_usd=cost_usd, answers=answers)

    def end(self, outcome: Outcome) -> Progress:
        """Return the progress with the outcome; a stage still at work then has failed."""
        bad = _BAD.get(outcome.kind)
        worked = [line.key for line in self.stages if not line.key.startswith(f"{KEEPING}/")]

        def settle(line: StageLine) -> StageLine:
            line = replace(line, waits_for=(), pause="")
            if bad and line.key in worked[-1:]:
                return replace(line, state=bad)
            return replace(line, state=bad or "done") if line.state == "running" else line

        return replace(self._map_stages(settle), outcome=outcome)

    def _map_stages(self, change: Callable[[StageLine], StageLine]) -> Progress:
        return replace(self, stages=tuple(change(line) for line in self.stages))


def describe_place(place: int, seconds: float | None) -> str:
    """Return a place in the queue, counted from 1, with its likely wait in seconds, if known."""
    ends = {1: "st", 2: "nd", 3: "rd"}
    ordinal = f"{place:,}{ends.get(place % 10, 'th') if place % 100 not in (11, 12, 13) else 'th'}"
    ordinal = f"{ordinal} in the queue"
    if seconds is None:
        return ordinal
    minutes = max(1, round(seconds / 60))
    hours = round(minutes / 60)
    wait = f"{minutes} minutes" if minutes < 90 else f"{hours} hours"
    return f"{ordinal}, about {'1 minute' if minutes == 1 else wait}"


_BAD: Mapping[str, LineState] = {
    "failed": "failed",
    "refused": "failed",
    "cancelled": "cancelled",
}


def render(progress: Progress, wording: OutgoingText) -> str:
    """Return the comment's Markdown."""
    stages = () if is_discreet(progress.request) else progress.stages
    parts = [
        _headline(progress, wording),
        "\n".join(_line(line, progress, wording) for line in stages),
        _report(progress, wording),
        _next(progress),
        _describe_move(progress),
        progress.caution,
        _footer(progress),
    ]
    return "\n\n".join(part for part in parts if part)


def _describe_move(progress: Progress) -> str:
    """Return that the run goes on elsewhere; once it has ended nobody needs to know."""
    if progress.moved_at is None or progress.outcome is not None:
        return ""
    return MOVED.format(at=datetime.fromtimestamp(progress.moved_at, UTC))


def _headline(progress: Progress, wording: OutgoingText) -> str:
    request, outcome = progress.request, progress.outcome
    if outcome is not None:
        answered = words_of(request).answered
        text = public_text(outcome) if is_discreet(request) else outcome.text
        return HEADLINES[outcome.kind].format(text=wording.text(text), answered=answered)
    if progress.queued:
        return QUEUED.format(place=progress.queued, asked=describe_asker(request, "it"))
    number, pause = len(progress.waits_for), _pause(progress)
    if number:
        headline, what = WAITING, "one question" if number == 1 else f"{number} questions"
    elif pause:
        headline, what = RESTING, wording.line(pause.partition(": ")[0], LONGEST_WHY)
    else:
        headline, what = WORKING, ""
    it = "it" if headline is WORKING else "this"
    return headline.format(asked=describe_asker(request, it), what=what)


def _report(progress: Progress, wording: OutgoingText) -> str:
    """Return all that a run about alerts has to say of its failure: it says it nowhere else."""
    request, outcome = progress.request, progress.outcome
    if not isinstance(request, RemediateAlert) or is_discreet(request):
        return ""
    return wording.text(outcome.report) if outcome and outcome.kind == "failed" else ""


def _pause(progress: Progress) -> str:
    return next((line.pause for line in progress.stages if line.pause), "")


def _line(line: StageLine, progress: Progress, wording: OutgoingText) -> str:
    number = line.key.rpartition("/")[2]
    title = line.title + (f" ({number})" if number not in {"", "1"} else "")
    if line.waits_for:
        return PARKED.format(title=title, links=_links(line.waits_for, progress))
    if line.pause and line.state == "running":
        return PAUSED.format(title=title, why=wording.line(line.pause, LONGEST_WHY))
    text = BOXES[line.state].format(title=title)
    # The summary of a stage that went wrong is the error, which the headline already tells.
    if not line.summary or line.state in ("failed", "cancelled"):
        return text
    return f"{text}: {wording.line(line.summary, LONGEST_SUMMARY)}"


def _next(progress: Progress) -> str:
    outcome, words = progress.outcome, words_of(progress.request)
    if outcome is None and progress.waits_for:
        return NEXT_PARKED.format(links=_links(progress.waits_for, progress))
    if outcome is None and progress.queued:
        return NEXT_QUEUED
    if outcome is None:
        return NEXT_PAUSED if _pause(progress) else words.next
    link = LINKS.get(outcome.kind, "") if outcome.url else ""
    parts = [link.format(url=outcome.url, link=words.link)] if link else []
    if outcome.rule:
        parts.append(RULE.format(rule=outcome.rule))
    if outcome.kind in AGAIN:
        parts.append(AGAIN[outcome.kind].format(afresh=describe_restart(progress.request)))
    return " ".join(parts)


def _links(idents: Sequence[str], progress: Progress) -> str:
    """Return the approvals, each with the way to its question where that is known."""
    shown = [
        f"[`{ident}`]({url})" if (url := progress.questions.get(ident)) else f"`{ident}`"
        for ident in idents
    ]
    return ", ".join(shown)


def _footer(progress: Progress) -> str:
    spent = (
        f"${progress.cost_usd:.2f} · {progress.answers} model answers · "
        f"{progress.tokens:,} tokens · "
        if progress.answers
        else ""
    )
    name = f"`{progress.run_id}`"
    if progress.pages and not is_discreet(progress.request):
        name = f"[{name}]({progress.pages}/runs/{progress.run_id})"
    return f"<sub>{spent}run {name}</sub>"
