"""The rules for commands that steer a run: whether one counts; decided from facts, without I/O.

The rules about the person come first, the same as for approvals: whoever may not write learns
nothing about runs. A remark that does not count gets no reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from agents.requests import Command, Frozen, Verb
from handlers.access.approvals import ABOUT_WHO, ApprovalFacts
from handlers.access.issues import Refusal
from handlers.command_parser import VERBS
from handlers.issue_comment import UNREADABLE
from handlers.issues import RESOLVE_LABEL

COMMANDS = (
    "`/bot status`, `/bot why`, `/bot go`, `/bot cancel`, `/bot retry`, `/bot undo`,"
    " `/bot budget +$2`, `/bot approve ID`, `/bot deny ID`, and on pull requests `/bot address` and"
    " `/bot update`"
)
BEGIN = (
    f"To have work begin, put the label `{RESOLVE_LABEL}` on an issue, or write `/bot address` on a"
    " pull request."
)
_WORD = re.compile(r"[A-Za-z0-9_-]{1,30}")


class LaneFacts(Frozen):
    """What the store says of the issue now."""

    live: bool = False
    """A run is under way, or waits for its turn."""
    ended: bool = False
    """There was a run that has ended."""
    stages: tuple[str, ...] = ()
    """The stages that the newest ended run has done, in order."""
    room: float = 0.0
    """Dollars that the operator lets people add to what the run may spend."""
    most: float = 0.0
    """Dollars that the operator lets one run spend."""


CommandRule = Callable[[Command, LaneFacts], str | None]


def decide(command: Command, facts: ApprovalFacts, standing: LaneFacts) -> Refusal | None:
    """Return the first rule that speaks against the command, or None when it counts."""
    who = ((rule.__name__, rule(command, facts)) for rule in ABOUT_WHO)
    what = ((rule.__name__, rule(command, standing)) for rule in RULES.get(command.verb, ()))
    for found in (who, what):
        for name, text in found:
            if text:
                return Refusal(rule=name.replace("_", "-"), text=f"Nothing was done: {text}")
    return None


def known_command(command: Command, _standing: LaneFacts) -> str | None:
    """Refuse words that mean nothing, and say what was likely meant."""
    word = command.words if _WORD.fullmatch(command.words) else ""
    close = get_close_matches(word.lower(), list(VERBS), n=1)
    meant = f" Did you mean `/bot {close[0]}`?" if close else ""
    named = f"`/bot {word}`" if word else "what stands behind `/bot` there"
    return f"{named} is no command.{meant} There are {COMMANDS}."


def amount_readable(command: Command, _standing: LaneFacts) -> str | None:
    """Refuse a budget without an amount."""
    if command.usd is not None:
        return None
    return "it is not clear how many dollars more you mean. Write it like `/bot budget +$2`."


def under_way(command: Command, standing: LaneFacts) -> str | None:
    """Refuse to steer where no run is live."""
    if standing.live:
        return None
    again = " To have the last one taken up again, write `/bot retry`." if standing.ended else ""
    return (
        f"no run is under way here, so there is nothing for `/bot {command.verb}` to act on.{again}"
        f" {BEGIN}"
    )


def room_left(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse more than the operator allows."""
    if standing.room > 0:
        return None
    return (
        f"the run may spend ${standing.most:.2f} already, and that is the most that the operator "
        "of Fettle lets one run spend. The operator can raise FETTLE_RUN_BUDGET_USD."
    )


def heard_of(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse to tell of runs where there was none."""
    if standing.live or standing.ended:
        return None
    return f"Fettle has not worked on this, so there is nothing to tell. {BEGIN}"


def author_known(command: Command, _standing: LaneFacts) -> str | None:
    """Refuse issues and pull requests whose author's account is gone."""
    shown = command.issue is not None or command.pull_request is not None
    if shown or command.via in ("button", "page"):  # they show none: the last run was shown it
        return None
    return (
        "the account of whoever opened this is gone, so nobody can be named whose wish or work it "
        "is. Somebody can open it anew."
    )


def on_pull_request(command: Command, _standing: LaneFacts) -> str | None:
    """Refuse on an issue what takes a branch and its reviews."""
    if command.issue is None:
        return None
    return (
        f"`/bot {command.verb}` works on pull requests, and this is an issue. Write it on the pull "
        f"request that is meant. To have the issue resolved, put the label `{RESOLVE_LABEL}` on it."
    )


def nothing_under_way(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse a second run beside the first."""
    if not standing.live:
        return None
    return (
        "a run is under way already. To tell it something, just write a comment; to begin anew, "
        "write `/bot cancel` first, and `/bot retry` once it has ended."
    )


def nothing_at_work(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse to take back what is still being done."""
    if not standing.live:
        return None
    return "a run is under way. Write `/bot cancel` first, and `/bot undo` once it has ended."


def something_done(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse to take back where nothing was done."""
    if standing.ended:
        return None
    return f"no run has worked on this yet, so there is nothing to take back. {BEGIN}"


def something_ended(_command: Command, standing: LaneFacts) -> str | None:
    """Refuse to retry where no run has ended."""
    if standing.ended:
        return None
    return f"no run has worked on this yet, so there is none to take up again. {BEGIN}"


def beginning_known(command: Command, standing: LaneFacts) -> str | None:
    """Refuse to begin at a stage that the last run did not do."""
    names = dict.fromkeys(each.partition("/")[0] for each in standing.stages)
    if not command.stage or command.stage in (*names, *standing.stages):
        return None
    did = ", ".join(f"`{each}`" for each in names) or "none that is still known"
    if command.stage == UNREADABLE:
        return (
            "`/bot retry` takes no words besides `from` and a stage. What the run should know can "
            f"be said in a comment of its own, before. The stages of the last run: {did}."
        )
    return (
        f"the last run did no stage `{_name_stage(command.stage)}`. Write `/bot retry` alone to do "
        f"all of it anew, or `/bot retry from` one of these: {did}."
    )


def _name_stage(stage: str) -> str:
    return stage if _WORD.fullmatch(stage) else "of that name"


# For each verb, in the order in which people want to hear of it.
RULES: Mapping[Verb, tuple[CommandRule, ...]] = {
    "go": (under_way,),
    "cancel": (under_way,),
    "budget": (amount_readable, under_way, room_left),
    "status": (heard_of,),
    "why": (heard_of,),
    "retry": (author_known, nothing_under_way, something_ended, beginning_known),
    "undo": (nothing_at_work, something_done),
    # While another run is under way they wait for its end, as a review does.
    "address": (on_pull_request, author_known),
    "update": (on_pull_request, author_known),
    "unknown": (known_command,),
}
