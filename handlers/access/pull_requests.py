"""The rules for work on pull requests; decided from facts, without I/O.

GitHub sends the App every review and every failed check of an account. Neither was meant for Fettle
by itself: where a rule speaks against it, it is passed over without a comment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agents.requests import FixChecks, OnPull, Person
from handlers.access.issues import (
    AskerFacts,
    Refusal,
    asker_human,
    asker_may_write,
    installation_active,
    refusal,
    way_of,
)
from handlers.pull_request import ADDRESS_LABEL
from handlers.pull_request_review import ASKING


class PullFacts(AskerFacts):
    """What GitHub and the store say of a pull request now."""

    is_pull_request: bool = True
    pull_open: bool = True
    own: bool = False
    """Fettle opened it."""
    label_on: bool = False
    """It carries the label that lets Fettle in, put on by somebody with write access."""
    author: Person | None = None
    """Who opened it; None when the account is gone."""
    head: str = ""
    head_is_ours: bool = False
    """Fettle made its newest commit. Only looked up for failed checks."""
    of_updater: bool = False
    """A bot that keeps dependencies up to date opened it: Dependabot or Renovate."""
    head_is_updaters: bool = False
    """That bot made its newest commit. Only looked up for failed checks."""
    review_state: str = ""
    """State of the review, in lower case; empty where there is none."""
    has_substance: bool = False
    """It asks for changes, has a text besides praise, begins a thread, or answers Fettle in one."""
    reviewed: bool = False
    """People have submitted reviews. Only looked up for the label."""
    covered: bool = False
    """Another run has dealt with the review, or with the checks of this head."""


PullRule = Callable[[OnPull, PullFacts], str | None]


def decide(request: OnPull, facts: PullFacts) -> Refusal | None:
    """Return the first rule that speaks against the request, or None when it may run."""
    for rule in _rules(request):
        if text := rule(request, facts):
            silent = request.via in UNCALLED or rule in BY_THE_WAY
            return refusal(rule.__name__, text, silent=silent)
    return None


def still_pull_request(request: OnPull, facts: PullFacts) -> str | None:
    """Refuse issues."""
    if facts.is_pull_request:
        return None
    return f"#{request.number} is an issue, and this works on pull requests only."


def pull_open(request: OnPull, facts: PullFacts) -> str | None:
    """Refuse pull requests that were closed or merged in the meantime."""
    if facts.pull_open:
        return None
    return (
        f"pull request #{request.number} was closed before the work began. Open it again and "
        f"{way_of(request).again} if it still needs work."
    )


def label_on(request: OnPull, facts: PullFacts) -> str | None:
    """Refuse people's own pull requests without the label that lets Fettle work on them.

    Whether failed checks of other bots' updates are for Fettle says the policy.
    """
    update = isinstance(request, FixChecks) and facts.of_updater
    if facts.own or facts.label_on or update:
        return None
    return (
        f"the label `{ADDRESS_LABEL}` is not on, or was not put on by somebody with write access, "
        "and it was not Fettle that opened the pull request. Put the label on again if its reviews "
        "should be addressed."
    )


def anything_said(_request: OnPull, facts: PullFacts) -> str | None:
    """Pass over a label that was put on before the first review; that review will be addressed."""
    if facts.reviewed:
        return None
    return "nobody has submitted a review yet. The next one will be addressed."


def review_stands(_request: OnPull, facts: PullFacts) -> str | None:
    """Refuse reviews that were dismissed, and those that ask for nothing."""
    if facts.review_state in ASKING:
        return None
    now = f"is {facts.review_state.replace('_', ' ')}" if facts.review_state else "is not there"
    return f"the review {now} by now."


def review_has_substance(_request: OnPull, facts: PullFacts) -> str | None:
    """Refuse reviews that praise alone, and those around a reply in a thread between people."""
    if facts.has_substance:
        return None
    return "the review asks for nothing, and replies in no thread in which Fettle has spoken."


def not_covered(_request: OnPull, facts: PullFacts) -> str | None:
    """Refuse what another run has dealt with."""
    return "another run has dealt with this already." if facts.covered else None


def head_stands(request: OnPull, facts: PullFacts) -> str | None:
    """Refuse checks of a commit that is not the newest any more."""
    if not isinstance(request, FixChecks) or request.head == facts.head:
        return None
    return (
        f"the pull request has new commits since the checks failed on `{request.head[:7]}`. If they"
        " fail on those as well, it is looked at again."
    )


def head_is_ours(_request: OnPull, facts: PullFacts) -> str | None:
    """Refuse checks of what people have pushed: they look after it themselves."""
    if facts.head_is_ours or facts.head_is_updaters:
        return None
    return "the newest commit is not one that Fettle has pushed."


def _rules(request: OnPull) -> tuple[PullRule, ...]:
    return RULES.get((request.kind, request.via)) or RULES["", request.via]


UNCALLED = frozenset({"review", "checks", "watch", "merge"})
"""Ways of asking that were not addressed to Fettle."""
BY_THE_WAY: frozenset[PullRule] = frozenset({anything_said})
"""Rules whose refusal is not told to the asker either."""

WHERE: tuple[PullRule, ...] = (still_pull_request, pull_open)
WHO: tuple[PullRule, ...] = (installation_active, asker_human, asker_may_write)
# What the store alone can tell comes first: where it does, GitHub is not asked.
BY_REVIEW: tuple[PullRule, ...] = (
    *(not_covered, installation_active, *WHERE, label_on, review_stands),
    *(asker_human, asker_may_write, review_has_substance),
)
BY_CHECKS: tuple[PullRule, ...] = (
    *(not_covered, installation_active, *WHERE, head_stands),
    *(label_on, head_is_ours),
)
# The order in which people want to hear of it: who asked, then what about.
RULES: Mapping[tuple[str, str], tuple[PullRule, ...]] = {
    ("address_review", "review"): BY_REVIEW,
    ("address_review", "label"): (*WHO, *WHERE, label_on, anything_said),
    ("fix_checks", "checks"): BY_CHECKS,
    ("fix_checks", "command"): (*WHO, *WHERE, head_stands),
    ("fix_checks", "terminal"): (installation_active, *WHERE, head_stands),
    # Whoever may write can have any pull request worked on by a word, without the label.
    ("", "command"): (*WHO, *WHERE),
    ("update_branch", "merge"): (*WHO, *WHERE),
    # Whoever has this terminal has the App's key as well: there is nobody left to ask about.
    ("", "terminal"): (installation_active, *WHERE),
}
"""The rules by kind of request and way of asking; "" stands for any kind."""
