"""Words of the progress comment that depend on the kind of request and on how it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.requests import RemediateAlert, Request
from agents.text import code_span
from agents.text.literal import to_literal
from handlers.access.issues import LABELS, VERBS

LONGEST_NAME = 100

HOW: Mapping[str, str] = {
    "label": "`{login}` asked for {it} with the label `{label}`",
    "command": "`{login}` asked for {it} with `/bot {verb}`",
    "terminal": "`{login}` asked for {it} on the machine that Fettle runs on",
    "review": "`{login}` submitted [a review]({url}#pullrequestreview-{review})",
    "checks": "Checks failed on `{head}`",
    "merge": "`{login}` merged a change that this one stands on or shares files with",
    "watch": "Something fails since this was merged",
    "clock": "Fettle looked through what people said of its changes",
    "alert": "Fettle is to move {package} to another release",
    "schedule": "Fettle is to move {package} to another release",
}
"""`it`: what was asked for, as the sentence before has named it."""
WITHOUT = "Fettle is to do without the override of {package}"


@dataclass(frozen=True)
class KindWording:
    """The words for one kind of request."""

    next: str
    """Where people will find the result, said while the run works."""
    answered: str
    """How the headline begins of one that ends with a comment."""
    link: str
    """The link's text."""
    afresh: str = ""
    """How to ask again from the beginning."""


WORDS: Mapping[str, KindWording] = {
    "resolve_issue": KindWording(
        next="The result will be linked here.",
        answered="Answered.",
        link="the answer",
        afresh="set the label `{label}` again",
    ),
    "address_review": KindWording(
        next="Each thread gets its answer, and a summary of all will be linked here.",
        answered="Done.",
        link="the summary",
        afresh="write `/bot address`",
    ),
    "update_branch": KindWording(
        next="The result will be linked here.",
        answered="Done.",
        link="the result",
        afresh="write `/bot update`",
    ),
    "fix_checks": KindWording(
        next="What is found out will be linked here.",
        answered="Looked at.",
        link="what was found out",
    ),
    "revert_change": KindWording(
        next="The pull request that takes it back will be linked here.",
        answered="Nothing to take back.",
        link="the result",
        afresh="write `/bot undo`",
    ),
    "suspect_merge": KindWording(
        next="What is found out will be linked here.",
        answered="Looked at.",
        link="what was found out",
    ),
    **dict.fromkeys(
        ("propose_guidance", "offer_setup"),
        KindWording(
            next="The pull request that proposes it will be linked here.",
            answered="Looked through.",
            link="the result",
        ),
    ),
    "remediate_alert": KindWording(
        next="The result will be linked here.",
        answered="Done.",
        link="the result",
    ),
}


def words_of(request: Request) -> KindWording:
    """Return the words for the request's kind."""
    return WORDS[request.kind]


def describe_asker(request: Request, it: str) -> str:
    """Return who asked and how, as the beginning of a sentence."""
    retires = request.via == "schedule" and getattr(request, "retire", None) is not None
    return (WITHOUT if retires else HOW[request.via]).format(
        it=it,
        login=request.asked_by.login,
        url=request.url,
        label=LABELS.get(request.kind, ""),
        verb="retry" if request.again else VERBS.get(request.kind, "retry"),
        review=getattr(request, "review_id", 0),
        head=getattr(request, "head", "")[:7],
        package=code_span(to_literal(getattr(request, "package", ""))[:LONGEST_NAME]),
    )


def describe_restart(request: Request) -> str:
    """Return how to start over, as the end of a sentence; empty where `/bot retry` is enough."""
    way = words_of(request).afresh.format(label=LABELS.get(request.kind, ""))
    return f"; to start afresh, {way}" if way else ""


def called_for(request: Request) -> bool:
    """Tell whether a person on GitHub asked, and so expects an answer there at once."""
    if isinstance(request, RemediateAlert):
        return request.via == "command"
    return request.via not in ("checks", "watch", "merge", "clock")
