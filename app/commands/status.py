"""The texts of `/bot status` and `/bot why`: where a run stands, and what was decided so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.ports import Steer
from app.commands.budget import Allowance
from app.github.reporting.progress_text import describe_place
from app.github.transport import OutgoingText
from app.records.approvals import StoredApproval, format_moment
from app.store.runs import KeptRun, KeptTurn

LONGEST_END = 600
ASKING = "comment_draft"
"""The stage that asks people something; a run that is parked behind it waits for their answer."""

STANDING = {
    "queued": "**Waiting for its turn**{place}, since {at}.",
    "running": "**At work** in the stage {stage}, since {at}.",
    "done": "**Done**, since {at}. {text}",
    "refused": "**Not started**, on {at}. {text}",
    "cancelled": "**Cancelled** on {at}. {text}",
    "failed": "**Stopped** on {at}. {text}",
    "covered": "**Nothing to do**, on {at}. {text}",
}
BEGINNING = "**About to begin**, since {at}."
SILENT = (
    "**Interrupted** in the stage {stage}: the worker that had it has not answered since {since}."
    " Another one goes on with it by itself, within 90 seconds of that; what is said here meanwhile"
    " counts then, also `/bot cancel`."
)
FOR_ANSWERS = "**Waiting for a decision** in the stage {stage}, since {at}: {questions}."
FOR_WORDS = (
    "**Waiting for an answer** here, since {at}. Write it in a comment, or write `/bot go` to have"
    " it go on without."
)
FOR_ROOM = (
    "**Waiting for the model's server** in the stage {stage}, since {at}. It goes on by itself."
)
SPENT = (
    "It has spent ${usd:.2f} of ${limit:.2f} in {answers} model answers; all runs on this"
    " repository have spent ${today:.2f} of ${day:.2f} today (UTC)."
)
BEHIND = {1: "One more run waits behind it.", 2: "{number} more runs wait behind it."}
LINK = "Its steps are in [the progress comment]({url})."


@dataclass(frozen=True)
class RunStatus:
    """The state of a run."""

    run: KeptRun
    allowance: Allowance
    today: float
    """Dollars of all runs on the repository."""
    behind: int
    """How many runs wait for this one to end."""
    approvals: Sequence[StoredApproval]
    comment_id: int | None
    """The id of the run's progress comment, once there is one."""
    silent_since: float | None = None
    """Since when its worker has not answered; None: it does. Unix seconds."""
    place: tuple[int, float | None] | None = None
    """Its place in the queue, and for how many seconds it may wait; None: it waits for none."""


def status_text(status: RunStatus, issue_url: str, wording: OutgoingText) -> str:
    """Return the Markdown of `/bot status`; other people's words in it are still to be cleaned."""
    run = status.run
    parts = [
        _describe_state(status, issue_url, wording),
        SPENT.format(
            usd=run.usd,
            limit=status.allowance.usd,
            answers=run.answers,
            today=status.today,
            day=status.allowance.day,
        ),
    ]
    if status.behind:
        parts.append(BEHIND[min(2, status.behind)].format(number=status.behind))
    if status.comment_id is not None:
        parts.append(LINK.format(url=f"{issue_url}#issuecomment-{status.comment_id}"))
    return "\n\n".join([" ".join(parts), f"<sub>run `{run.id}`</sub>"])


def stage_name(step: str) -> str:
    """Return a step's name for people: `stage/check_quality/2~1` becomes `check quality (2)`."""
    name, _, number = step.removeprefix("stage/").partition("~")[0].rpartition("/")
    words = (name or number).replace("_", " ")
    return f"{words} ({number})" if name and number not in ("", "1") else words


def _describe_state(status: RunStatus, issue_url: str, wording: OutgoingText) -> str:
    run = status.run
    known = {"stage": f"`{stage_name(run.stage)}`", "at": format_moment(run.updated_at)}
    if run.state == "running" and status.silent_since is not None:
        return SILENT.format(since=format_moment(status.silent_since), **known)
    if run.state == "running" and not run.stage:
        return BEGINNING.format(**known)
    if run.state != "parked":
        known["place"] = f", {describe_place(*status.place)}" if status.place else ""
        text = wording.line(run.outcome.text, LONGEST_END) if run.outcome else ""
        return STANDING[run.state].format(text=text, **known).rstrip()
    waiting = [each for each in status.approvals if each.state == "waiting"]
    if waiting:
        questions = ", ".join(_question(each, issue_url) for each in waiting)
        return FOR_ANSWERS.format(questions=questions, **known)
    asked = run.stage.startswith(f"stage/{ASKING}/")
    return (FOR_WORDS if asked else FOR_ROOM).format(**known)


def _question(stored: StoredApproval, issue_url: str) -> str:
    if stored.comment_id is None:
        return f"`{stored.id}`"
    return f"[`{stored.id}`]({issue_url}#issuecomment-{stored.comment_id})"


LONGEST_REASON = 700
LONGEST_WORDS = 200
MOST = 20
"""Decisions that are told: the newest ones."""

SUBMIT = "submit_"
VERDICTS = ("decision", "verdict")
"""Under which names stages submit what they decided; everything else they submit is work."""
REASONS = ("reasoning", "missing")

HEAD = "**What was decided so far**, oldest first. `{login}` asked for this run on {at}."
NOTHING = "No decision has been made yet."
LEFT_OUT = "- {number} older ones are left out."
DECIDED = "- {at}, {stage}: **{verdict}**. {reason}"
APPROVAL = "- {at}, approval `{id}` for {tool}, in the stage {stage}: {standing}."
BECAUSE = " Reason: {reason}"
STEER = "- {at}, {by} {did}.{words}"
CANCELLED = {
    "comment": "cancelled the run",
    "label": "took the label off",
    "relabel": "put the label on again, so another run does the work",
    "issue": "closed the issue",
    "pull_request": "closed the pull request",
    "terminal": "cancelled the run on the machine that it runs on",
    "page": "cancelled the run on Fettle's page",
    "alert": "closed the alerts",
    "installation": "took the ground from under the run",
}
DID = {
    "go": "let the run go on",
    "budget": "let the run spend ${usd:.2f} more",
    "remark": "said something to the run",
}
ENDED = "- {at}: the run ended. {text}"


@dataclass(frozen=True)
class RunReasons:
    """The decisions of a run."""

    run: KeptRun
    turns: Sequence[KeptTurn]
    approvals: Sequence[StoredApproval]
    steers: Sequence[Steer]


def why_text(reasons: RunReasons, wording: OutgoingText) -> str:
    """Return the Markdown of `/bot why`; each of a model's or person's texts is cut to one line."""
    run = reasons.run
    dated = [
        *_list_submissions(reasons.turns, wording),
        *(
            (each.decided_at or each.asked_at, _approval(each, wording))
            for each in reasons.approvals
        ),
        *((each.at, _steer(each, wording)) for each in reasons.steers),
    ]
    if run.outcome is not None:
        text = wording.line(run.outcome.text, LONGEST_REASON)
        dated.append((run.updated_at, ENDED.format(at=format_moment(run.updated_at), text=text)))
    lines = [line for _, line in sorted(dated, key=lambda entry: entry[0])]
    if len(lines) > MOST:
        lines = [LEFT_OUT.format(number=len(lines) - MOST), *lines[-MOST:]]
    head = HEAD.format(login=run.asked_by, at=format_moment(run.created_at))
    return "\n\n".join([head, "\n".join(lines) or NOTHING, f"<sub>run `{run.id}`</sub>"])


def _list_submissions(
    turns: Sequence[KeptTurn], wording: OutgoingText
) -> Iterator[tuple[float, str]]:
    """Yield what each stage decided; of one that had to correct itself, what it said last."""
    last: dict[str, tuple[float, Mapping[str, Any]]] = {}
    for turn in turns:
        for block in turn.content or () if turn.kind == "answer" else ():
            said = block.get("input")
            name = str(block.get("name", ""))
            if name.startswith(SUBMIT) and isinstance(said, dict) and _first(said, VERDICTS):
                last[turn.stage] = (turn.at, said)
    for stage, (at, said) in last.items():
        line = DECIDED.format(
            at=format_moment(at),
            stage=stage_name(stage),
            verdict=wording.line(_first(said, VERDICTS).replace("_", " "), LONGEST_WORDS),
            reason=wording.line(_first(said, REASONS), LONGEST_REASON),
        )
        yield at, line.rstrip()


def _first(said: Mapping[str, Any], names: Sequence[str]) -> str:
    found = (said.get(name) for name in names)
    return next((each for each in found if isinstance(each, str) and each), "")


def _approval(stored: StoredApproval, wording: OutgoingText) -> str:
    stage = stored.asking.stage if stored.asking else ""
    told = APPROVAL.format(
        at=format_moment(stored.decided_at or stored.asked_at),
        id=stored.id,
        tool=wording.quote(stored.tool, LONGEST_WORDS),
        stage=wording.quote(stage_name(stage), LONGEST_WORDS),
        standing=stored.standing,
    )
    reason = wording.quote(stored.reason, LONGEST_REASON)
    return told + (BECAUSE.format(reason=reason) if stored.reason else "")


def _steer(steer: Steer, wording: OutgoingText) -> str:
    text = CANCELLED[steer.via] if steer.kind == "cancel" else DID[steer.kind]
    words = wording.quote(steer.words, LONGEST_REASON) if steer.words.strip() else ""
    return STEER.format(
        at=format_moment(steer.at),
        by=wording.quote(steer.by, LONGEST_WORDS),
        did=text.format(usd=steer.usd),
        words=f" Their words: {words}" if words else "",
    )
