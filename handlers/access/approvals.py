"""The rules for answers to approvals: whether an answer counts; decided from facts, without I/O.

The order of the rules keeps secrets: whoever may not write learns nothing about what is waiting,
and nobody learns whether an id belongs to another issue or to no issue at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.ports import ApprovalState
from agents.requests import Command, Frozen
from handlers.access.issues import Refusal, may_write

VERDICTS = {"approve": "approved", "deny": "denied"}
"""What each verb makes of an approval that waits."""

_NO_ID = re.compile(r"[^a-z0-9-]")


class AnsweredApproval(Frozen):
    """The approval that is answered, as it stands now."""

    repository_id: int
    number: int
    """The issue or pull request of its run."""
    state: ApprovalState
    standing: str
    """The same in words: `was approved by mara on 2026-02-01 at 09:30 UTC`."""
    decided_by: str = ""
    decided_via: str = ""
    readable: bool = True
    """Whether the stored record still says what people were shown."""
    moved: bool = False
    """The branch has another head than when the approval was asked for."""


class ApprovalFacts(Frozen):
    """What GitHub and the store say now, not when the delivery was signed."""

    role_name: str = ""
    """`role_name` of who answers, from the collaborator permission endpoint."""
    permission: str = ""
    """`permission` of the same answer."""
    asker_is_bot: bool = False
    through_app: str = ""
    """Name of the app that wrote the comment for the person; empty when they wrote it."""
    edited: bool = False
    """The comment is not, or no longer, what was delivered."""
    contradicted: bool = False
    """The same comment also gives the other answer."""
    own_button: bool = True
    """The check run whose button was pressed is ours and shows this approval."""
    asked: AnsweredApproval | None = None
    """None when there is no approval of that id."""
    waiting: tuple[str, ...] = ()
    """Ids of what waits for an answer on the same issue or pull request."""


def decide(command: Command, facts: ApprovalFacts) -> Refusal | None:
    """Return the first rule that speaks against the answer, or None when it counts."""
    for rule in RULES:
        if text := rule(command, facts):
            return Refusal(
                rule=rule.__name__.replace("_", "-"), text=f"Nothing was decided: {text}"
            )
    return None


def by_person(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse bots: a person is to decide."""
    if not facts.asker_is_bot:
        return None
    return (
        f"`{command.asked_by.login}` is a bot, and only what people say counts. Somebody with "
        "write access can write the same line in a comment."
    )


def by_hand(_command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse what an app wrote in somebody's name: nobody can tell whether they know of it."""
    if not facts.through_app:
        return None
    return (
        f"the comment was written by the app `{facts.through_app}`, and only what people write "
        "themselves counts. Write the same line in a comment of your own."
    )


def may_answer(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse people who could not push themselves."""
    if may_write(facts.role_name, facts.permission):
        return None
    return (
        f"`/bot {command.verb}` takes write access to `{command.repository.full_name}`, and the "
        f"role of `{command.asked_by.login}` is `{facts.role_name or facts.permission or 'none'}`. "
        "Somebody with write access has to say it."
    )


def unedited(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse comments that were changed: what was decided must stand where it was decided."""
    if not facts.edited:
        return None
    return (
        "the comment was edited after it was sent, and only comments as they were first sent "
        f"count. Write `{_line(command)}` in a new comment."
    )


def one_answer(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse a comment that says both: it is likely a quotation of the question."""
    if not facts.contradicted:
        return None
    return (
        f"the comment both approves and denies `{_id(command)}`. Write the one answer that you "
        "mean in a new comment."
    )


def one_approval(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse answers that name none, or more than one thing: each is decided for itself."""
    name = _id(command)
    if not name or name in {"all", "everything", "any"}:
        return (
            f"`/bot {command.verb}` needs the id of what it answers, one id on each line. "
            f"{_list_waiting(facts.waiting)}"
        )
    if command.verb == "approve" and command.words:
        return (
            f"`/bot approve {name}` must stand alone on its line, because an approval has no "
            "conditions and is for one call. To approve several, write a line for each; to ask for "
            f"something else, write `/bot deny {name}` and what you want instead."
        )
    return None


def known_here(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse ids that do not belong to this issue or pull request of this repository."""
    asked = facts.asked
    if asked is not None and facts.own_button and _belongs(command, asked):
        return None
    return (
        f"nothing with the id `{_id(command)}` was asked here. Check that it is typed as it "
        f"stands in the question. {_list_waiting(facts.waiting)}"
    )


def legible(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse when the stored record is damaged: nobody knows any more what would be approved."""
    if facts.asked is None or facts.asked.readable:
        return None
    return (
        f"the stored record of `{_id(command)}` is damaged and no longer says what people were "
        "shown. The operator of Fettle has to look at it; asking for the work again starts afresh."
    )


def still_open(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse when it was decided before; the same answer by the same person is no other one."""
    asked = facts.asked
    if asked is None or asked.state == "waiting" or _is_same(command, asked):
        return None
    return (
        f"`{_id(command)}` {asked.standing}, and the first answer is the one that counts. "
        f"{_list_waiting(facts.waiting)}"
    )


def head_unmoved(command: Command, facts: ApprovalFacts) -> str | None:
    """Refuse when the branch has moved: the call would act on what nobody was shown."""
    asked = facts.asked
    if asked is None or asked.state != "waiting" or not asked.moved:
        return None
    return (
        f"the branch has new commits since `{_id(command)}` was asked, so the call would act on "
        "something else than what was shown. It will not be run; if it is still needed, Fettle "
        "asks again, and that question is the one to answer."
    )


def _belongs(command: Command, asked: AnsweredApproval) -> bool:
    """Tell whether the answer stands where the approval was asked for; no box is elsewhere."""
    here = command.via in ("button", "board") or asked.number == command.number
    return here and asked.repository_id == command.repository.id


def _is_same(command: Command, asked: AnsweredApproval) -> bool:
    """Tell whether this answer was counted before, as after a crash before the reply."""
    told = (asked.state, asked.decided_by, asked.decided_via)
    return told == (VERDICTS[command.verb], command.asked_by.login, command.via)


def _list_waiting(ids: Sequence[str]) -> str:
    if not ids:
        return "Nothing waits for an answer here."
    return f"Waiting for an answer here: {', '.join(f'`{each}`' for each in ids)}."


def _line(command: Command) -> str:
    return f"/bot {command.verb} {_id(command)}".rstrip()


def _id(command: Command) -> str:
    """Return the id as it was typed, without characters that no id has."""
    return _NO_ID.sub("", command.approval)


# The rules about the person, which steering commands obey as well.
ABOUT_WHO = (by_person, by_hand, may_answer, unedited)

# The order in which people want to hear of it, and no more than they may know.
RULES = (
    *ABOUT_WHO,
    one_answer,
    one_approval,
    known_here,
    legible,
    still_open,
    head_unmoved,
)
