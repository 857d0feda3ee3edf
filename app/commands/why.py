"""Step 4: what `/bot why` says: what was decided about an issue so far, by whom, and for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.ports import Steer
from app.commands.status import moment, stage_name
from app.github.transport.outgoing_text import OutgoingText
from app.records.approvals import StoredApproval
from app.store.history import KeptRun, KeptTurn

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
    "issue": "closed the issue",
    "pull_request": "closed the pull request",
    "terminal": "cancelled the run on the machine that it runs on",
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
    """What is known of a run's decisions."""

    run: KeptRun
    turns: Sequence[KeptTurn]
    approvals: Sequence[StoredApproval]
    steers: Sequence[Steer]


def why_text(reasons: RunReasons, wording: OutgoingText) -> str:
    """Return the Markdown; of a model's or a person's words, one bounded line each."""
    run = reasons.run
    dated = [
        *_submitted(reasons.turns, wording),
        *(
            (each.decided_at or each.asked_at, _approval(each, wording))
            for each in reasons.approvals
        ),
        *((each.at, _steer(each, wording)) for each in reasons.steers),
    ]
    if run.outcome is not None:
        text = wording.line(run.outcome.text, LONGEST_REASON)
        dated.append((run.updated_at, ENDED.format(at=moment(run.updated_at), text=text)))
    lines = [line for _, line in sorted(dated, key=lambda entry: entry[0])]
    if len(lines) > MOST:
        lines = [LEFT_OUT.format(number=len(lines) - MOST), *lines[-MOST:]]
    head = HEAD.format(login=run.asked_by, at=moment(run.created_at))
    return "\n\n".join([head, "\n".join(lines) or NOTHING, f"<sub>run `{run.id}`</sub>"])


def _submitted(turns: Sequence[KeptTurn], wording: OutgoingText) -> Iterator[tuple[float, str]]:
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
            at=moment(at),
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
        at=moment(stored.decided_at or stored.asked_at),
        id=stored.id,
        tool=wording.quoted(stored.tool, LONGEST_WORDS),
        stage=wording.quoted(stage_name(stage), LONGEST_WORDS),
        standing=stored.standing,
    )
    reason = wording.quoted(stored.reason, LONGEST_REASON)
    return told + (BECAUSE.format(reason=reason) if stored.reason else "")


def _steer(steer: Steer, wording: OutgoingText) -> str:
    text = CANCELLED[steer.via] if steer.kind == "cancel" else DID[steer.kind]
    words = wording.quoted(steer.words, LONGEST_REASON) if steer.words.strip() else ""
    return STEER.format(
        at=moment(steer.at),
        by=wording.quoted(steer.by, LONGEST_WORDS),
        did=text.format(usd=steer.usd),
        words=f" Their words: {words}" if words else "",
    )
