"""The text of the comment that asks for a decision, and later shows what people decided."""

from __future__ import annotations

from functools import partial

from app.github.approvals.action_text import ToolCallText
from app.github.transport import OutgoingText
from app.records.approvals import StoredApproval, format_moment

LONGEST_REASON = 1000
"""Characters of a reason; more of it would crowd out what is decided."""
LONGEST_NAME = 200

WAITING = (
    "**Waiting for a decision.** {asked}Fettle wants to do something that takes a person's yes. It"
    " waits until {until}, and does nothing else meanwhile."
)
APPROVED = "**Approved** by {by}{via} on {at}: the call below may run, once, as it stands here."
DENIED = "**Denied** by {by}{via} on {at}: the call below is not run. Fettle goes on without it."
EXPIRED = (
    "**Expired** on {at}: nobody answered in time. The call below is not run. The run ends with a"
    " report, and what it did until then is kept."
)
VOID = "**Void** since {at}: the call below is not run, and can no longer be approved."
VIA = {
    "comment": "",
    "button": " with a button",
    "terminal": " on the machine that Fettle runs on",
    "page": " on Fettle's page",
    "board": " on Fettle's dashboard issue",
}
CALL = "The tool {tool}, in the stage {stage}, with exactly this:"
WHY = (
    "Why it asks: {reason} (rule {rule}; the reason may hold words of the call, which are not"
    " Fettle's). It stands on commit {head}."
)
ESCAPES = (
    "Look twice: what cannot be seen, or not told apart, is written as an escape like `\\u202e`,"
    " {count} characters in all."
)
LETTERS = "Look twice, not all letters are what they seem: {letters}."
HOW = """To answer, write one of these at the start of a line, in a new comment:

- yes: `/bot approve {id}`
- no: `/bot deny {id}` and, if you like, why, and what to do instead

Whoever may write to this repository can answer, and the first answer counts. It is for this one \
call and nothing else. Edited comments and comments of bots do not count."""


def format_question(
    stored: StoredApproval, action: ToolCallText, wording: OutgoingText, *, login: str
) -> str:
    """Return the text of the comment as of now. `login`: on whose request the run works."""
    parts = [_describe_state(stored, wording, login), *_call(stored, action, wording)]
    if stored.state == "waiting":
        parts.append(HOW.format(id=stored.id))
    return wording.text("\n\n".join(parts))


def _describe_state(stored: StoredApproval, wording: OutgoingText, login: str) -> str:
    at = format_moment(stored.decided_at or stored.expires_at)
    by, via = wording.quote(stored.decided_by, LONGEST_NAME), VIA.get(stored.decided_via, "")
    said = wording.quote(stored.reason, LONGEST_REASON)
    match stored.state:
        case "waiting":
            asked = f"@{login}, " if login else ""
            return WAITING.format(asked=asked, until=format_moment(stored.expires_at))
        case "approved":
            return APPROVED.format(by=by, via=via, at=at)
        case "denied":
            return _add_reason(DENIED.format(by=by, via=via, at=at), said)
        case "expired":
            return EXPIRED.format(at=at)
        case "void":
            return _add_reason(VOID.format(at=at), wording.line(stored.reason, LONGEST_REASON))


def _add_reason(told: str, reason: str) -> str:
    return f"{told} Reason: {reason}" if reason else told


def _call(stored: StoredApproval, action: ToolCallText, wording: OutgoingText) -> list[str]:
    asking = stored.asking
    assert asking is not None
    name = partial(wording.quote, limit=LONGEST_NAME)
    parts = [
        CALL.format(tool=name(asking.tool), stage=name(asking.stage)),
        action.block,
        WHY.format(
            reason=wording.quote(asking.reason, LONGEST_REASON),
            rule=name(asking.rule),
            head=name(asking.head[:12]),
        ),
    ]
    if action.shown.escaped:
        parts.append(ESCAPES.format(count=action.shown.escaped))
    if action.shown.letters:
        parts.append(LETTERS.format(letters="; ".join(action.shown.letters)))
    return parts
