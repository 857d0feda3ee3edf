"""Step 4: the rules for work on issues: who asked, may they, and is the issue still as they saw it.

Decided from facts, without I/O. What holds for every request is here as well, and the words in
which people are refused; `pull_requests.py` and `alerts.py` use them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.requests import Frozen, Person, Request, ResolveIssue
from handlers.issues import RESOLVE_LABEL
from handlers.pull_request import ADDRESS_LABEL

MAY_WRITE = frozenset({"write", "maintain", "admin"})
MAY_NOT_WRITE = frozenset({"read", "triage", "none"})


class AskerFacts(Frozen):
    """What GitHub says now, read when the run starts, not when the delivery was signed."""

    role_name: str = ""
    """`role_name` of the asker from the collaborator permission endpoint; empty without access."""
    permission: str = ""
    """`permission` of the same answer: admin, write, read or none; GitHub folds other roles in."""
    asker_is_bot: bool = False
    installation_suspended: bool = False


class IssueFacts(AskerFacts):
    """What GitHub says of the asker and of the issue."""

    issue_open: bool = True
    is_pull_request: bool = False
    labels: tuple[str, ...] = ()
    """Names of the labels that are on the issue now."""
    edited: bool = False
    """Title or body differ from those of the request."""
    editor: Person | None = None
    """Who made the latest of these edits; None when GitHub does not tell."""


class Refusal(Frozen):
    """Why a request is not worked on: the rule that decided and the text people read."""

    rule: str
    text: str
    silent: bool = False
    """No comment tells of it: the request was not meant for Fettle, or is dealt with already."""


class Way(Frozen):
    """One way in which requests come, in the words of refusals."""

    asked: str
    """What the asker did, behind their name."""
    again: str
    """How to ask again once the reason of the refusal is gone."""
    afresh: str
    """How to ask again while the first request still stands: a label has to come off first."""


WAYS: Mapping[str, Way] = {
    "label": Way(
        asked="put the label `{label}` on",
        again="put the label `{label}` on again",
        afresh="take the label off and put it on again",
    ),
    "command": Way(
        asked="wrote `/bot {verb}`", again="write `/bot {verb}` again", afresh="write it again"
    ),
    "review": Way(
        asked="submitted a review", again="submit it again", afresh="submit a review as well"
    ),
    "terminal": Way(
        asked="asked for it on the machine",
        again="give the command on the machine again",
        afresh="give the command on the machine again",
    ),
    "merge": Way(
        asked="merged a change of the same files",
        again="write `/bot update`",
        afresh="write `/bot update`",
    ),
    "watch": Way(asked="failed", again="write `/bot undo` there", afresh="write `/bot undo` there"),
    "checks": Way(
        asked="failed", again="have the checks run again", afresh="have the checks run again"
    ),
}
LABELS = {"resolve_issue": RESOLVE_LABEL, "address_review": ADDRESS_LABEL}
"""The label that asks for each kind of request."""
VERBS = {"address_review": "address", "update_branch": "update", "revert_change": "undo"}
"""The verb of `/bot` that asks for each kind of request the first time."""


def decide(request: ResolveIssue, facts: IssueFacts) -> Refusal | None:
    """Return the first rule that speaks against the request, or None when it may run."""
    for rule in RULES[request.via]:
        if text := rule(request, facts):
            return refusal(rule.__name__, text)
    return None


def refusal(rule: str, text: str, *, silent: bool = False) -> Refusal:
    """Return the refusal by the rule whose function has this name."""
    told = f"Nothing was done: {text}"
    return Refusal(rule=rule.replace("_", "-"), text=told, silent=silent)


def installation_active(request: Request, facts: AskerFacts) -> str | None:
    """Refuse while the owner has suspended the installation."""
    if not facts.installation_suspended:
        return None
    return (
        f"the app's installation on `{request.repository.owner}` is suspended, so it may not act "
        "there. An owner can lift the suspension in the settings under GitHub Apps; then "
        f"{way_of(request).again}."
    )


def asker_human(request: Request, facts: AskerFacts) -> str | None:
    """Refuse bots: two bots that label for each other would never stop."""
    if not facts.asker_is_bot:
        return None
    way = way_of(request)
    return (
        f"the bot `{request.asked_by.login}` {way.asked}, and only people may start work. "
        f"Somebody with write access can {way.afresh}."
    )


def asker_may_write(request: Request, facts: AskerFacts) -> str | None:
    """Refuse people who could not push themselves: the triage role may label, but not write."""
    if may_write(facts.role_name, facts.permission):
        return None
    way = way_of(request)
    return (
        f"`{request.asked_by.login}` {way.asked}, but starting work on "
        f"`{request.repository.full_name}` takes write access and their role is "
        f"`{facts.role_name or facts.permission or 'none'}`. Somebody with write access can "
        f"{way.afresh}."
    )


def still_issue(request: ResolveIssue, facts: IssueFacts) -> str | None:
    """Refuse pull requests, which GitHub lists as issues too."""
    if not facts.is_pull_request:
        return None
    return (
        f"#{request.number} is a pull request, and this works on issues only. Ask for it again at "
        "the issue that the pull request is about."
    )


def issue_open(request: ResolveIssue, facts: IssueFacts) -> str | None:
    """Refuse issues that were closed in the meantime."""
    if facts.issue_open:
        return None
    return (
        f"issue #{request.number} was closed before the work began. Open it again and "
        f"{way_of(request).again} if it still needs work."
    )


def label_on(request: ResolveIssue, facts: IssueFacts) -> str | None:
    """Refuse when the label was taken off: that is how people call a request back."""
    if request.label in facts.labels:
        return None
    return (
        f"the label `{request.label}` was taken off before the work began. Put it on again if the "
        "issue should be worked on."
    )


def text_unchanged(request: ResolveIssue, facts: IssueFacts) -> str | None:
    """Refuse when somebody other than the asker has changed what the asker approved."""
    if not facts.edited or (facts.editor and facts.editor.id == request.asked_by.id):
        return None
    way = way_of(request)
    who = f"`{facts.editor.login}`" if facts.editor else "somebody"
    return (
        f"{who} edited the title or the text of issue #{request.number} after "
        f"`{request.asked_by.login}` {way.asked}, so it is no longer what they asked for. Read the "
        f"issue as it is now, then {way.afresh}."
    )


def way_of(request: Request) -> Way:
    """Return the way in which the request came, with its label and its verb filled in."""
    named = {
        "label": LABELS.get(request.kind, ""),
        "verb": "retry" if request.again else VERBS.get(request.kind, "retry"),
    }
    way = WAYS[request.via].model_dump()
    return Way(**{name: text.format(**named) for name, text in way.items()})


def may_write(role_name: str, permission: str) -> bool:
    """Tell whether a role of that name, with that folded permission, may push.

    `role_name` decides for GitHub's own roles, because `permission` folds maintain into write
    and triage into read. A custom role has a name that its organisation made up (it says nothing:
    "write-docs" may only read), so for it `permission` decides: the built-in role it inherits.
    The same holds for old servers that send no `role_name` at all.
    https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user
    """
    if role_name in MAY_WRITE:
        return True
    return role_name not in MAY_NOT_WRITE and permission in {"write", "admin"}


IssueRule = Callable[[ResolveIssue, IssueFacts], str | None]

# The order in which people want to hear of it: who asked, then what about.
BY_LABEL: tuple[IssueRule, ...] = (
    installation_active,
    asker_human,
    asker_may_write,
    still_issue,
    issue_open,
    label_on,
    text_unchanged,
)
RULES: Mapping[str, tuple[IssueRule, ...]] = {
    "label": BY_LABEL,
    "command": tuple(rule for rule in BY_LABEL if rule is not label_on),
    # Whoever has this terminal has the App's key as well: there is nobody left to ask about.
    "terminal": (installation_active, still_issue, issue_open, text_unchanged),
}
"""The rules by the way in which the request came."""
