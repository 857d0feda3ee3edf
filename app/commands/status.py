"""Step 4: what `/bot status` says: where a run is, what it waits for, what it has spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.commands.budget import Allowance
from app.github.transport.outgoing_text import OutgoingText
from app.records.approvals import StoredApproval
from app.store.history import KeptRun

LONGEST_END = 600
ASKING = "comment_draft"
"""The stage that asks people something; a run that is parked behind it waits for their answer."""

STANDING = {
    "queued": "**Waiting for its turn**, since {at}.",
    "running": "**At work** in the stage {stage}, since {at}.",
    "done": "**Done**, since {at}. {text}",
    "refused": "**Not started**, on {at}. {text}",
    "cancelled": "**Cancelled** on {at}. {text}",
    "failed": "**Stopped** on {at}. {text}",
    "covered": "**Nothing to do**, on {at}. {text}",
}
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
    """What is known of a run now."""

    run: KeptRun
    allowance: Allowance
    today: float
    """Dollars of all runs on the repository."""
    behind: int
    """How many runs wait for it to end."""
    approvals: Sequence[StoredApproval]
    comment_id: int | None
    """Its progress comment, once it has one."""


def status_text(status: RunStatus, issue_url: str, wording: OutgoingText) -> str:
    """Return the Markdown; what is not Fettle's own is still to be made fit to be published."""
    run = status.run
    parts = [
        _standing(status, issue_url, wording),
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
    """Return the name of a step as people read it: `stage/check_quality/2~1`: check quality (2)."""
    name, _, number = step.removeprefix("stage/").partition("~")[0].rpartition("/")
    words = (name or number).replace("_", " ")
    return f"{words} ({number})" if name and number not in ("", "1") else words


def moment(at: float) -> str:
    """Return the time as people all over the world read it alike."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d at %H:%M} UTC"


def _standing(status: RunStatus, issue_url: str, wording: OutgoingText) -> str:
    run = status.run
    known = {"stage": f"`{stage_name(run.stage)}`", "at": moment(run.updated_at)}
    if run.state != "parked":
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
