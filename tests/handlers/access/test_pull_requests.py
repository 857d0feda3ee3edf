"""Who may have pull requests worked on, and where Fettle holds its tongue."""

from __future__ import annotations

import pytest

from agents.requests import (
    Again,
    Person,
)
from handlers.access.pull_requests import RULES, PullFacts, decide
from tests.fakes.requests import MARA, build_address_review, build_fix_checks, build_update_branch

HEAD = "a" * 40
REQUESTS = {
    "review": build_address_review(review_id=77),
    "label": build_address_review(via="label"),
    "command": build_address_review(via="command"),
    "terminal": build_address_review(via="terminal"),
    "update": build_update_branch(),
    "update-terminal": build_update_branch(via="terminal"),
    "checks": build_fix_checks(asked_by=MARA, head=HEAD),
    "checks-again": build_fix_checks(asked_by=MARA, head=HEAD, via="command"),
    "checks-terminal": build_fix_checks(asked_by=MARA, head=HEAD, via="terminal"),
}
GOOD = PullFacts(
    role_name="write",
    permission="write",
    own=True,
    author=Person(id=31, login="fettle"),
    head=HEAD,
    head_is_ours=True,
    review_state="changes_requested",
    has_substance=True,
    reviewed=True,
)
BAD = {
    "installation-active": {"installation_suspended": True},
    "asker-human": {"asker_is_bot": True},
    "asker-may-write": {"role_name": "triage", "permission": "read"},
    "still-pull-request": {"is_pull_request": False},
    "pull-open": {"pull_open": False},
    "label-on": {"own": False},
    "anything-said": {"reviewed": False},
    "review-stands": {"review_state": "dismissed"},
    "review-has-substance": {"has_substance": False},
    "not-covered": {"covered": True},
    "head-stands": {"head": "b" * 40},
    "head-is-ours": {"head_is_ours": False},
}
HELD = {
    "review": {
        *("installation-active", "asker-human", "asker-may-write", "still-pull-request"),
        *("pull-open", "label-on", "review-stands", "review-has-substance", "not-covered"),
    },
    "label": {
        *("installation-active", "asker-human", "asker-may-write", "still-pull-request"),
        *("pull-open", "label-on", "anything-said"),
    },
    "command": {
        *("installation-active", "asker-human", "asker-may-write", "still-pull-request"),
        "pull-open",
    },
    "terminal": {"installation-active", "still-pull-request", "pull-open"},
    "checks": {
        *("installation-active", "still-pull-request", "pull-open", "label-on", "not-covered"),
        *("head-stands", "head-is-ours"),
    },
}
HELD["update"] = HELD["command"]
HELD["update-terminal"] = HELD["terminal"]
HELD["checks-again"] = HELD["command"] | {"head-stands"}
HELD["checks-terminal"] = HELD["terminal"] | {"head-stands"}


@pytest.mark.parametrize("way", REQUESTS)
def test_good_requests_may_run(way):
    assert decide(REQUESTS[way], GOOD) is None


@pytest.mark.parametrize("way", REQUESTS)
@pytest.mark.parametrize("rule", BAD)
def test_each_way_is_held_to_its_rules_and_no_others(way, rule):
    refusal = decide(REQUESTS[way], GOOD.model_copy(update=BAD[rule]))
    assert (refusal and refusal.rule) == (rule if rule in HELD[way] else None)
    if refusal:
        assert refusal.text.startswith("Nothing was done: ")


def test_every_rule_is_tested_above():
    every = {rule.__name__.replace("_", "-") for rules in RULES.values() for rule in rules}
    assert every == set(BAD)


@pytest.mark.parametrize("rule", BAD)
@pytest.mark.parametrize("way", ["review", "checks"])
def test_whom_nobody_called_says_nothing(way, rule):
    """A review on any pull request of an account must not make Fettle talk."""
    refusal = decide(REQUESTS[way], GOOD.model_copy(update=BAD[rule]))
    assert refusal is None or refusal.silent


@pytest.mark.parametrize("rule", BAD)
@pytest.mark.parametrize("way", sorted(set(REQUESTS) - {"review", "checks"}))
def test_whoever_called_for_it_is_told_unless_it_only_waits_for_reviews(way, rule):
    refusal = decide(REQUESTS[way], GOOD.model_copy(update=BAD[rule]))
    assert refusal is None or refusal.silent == (rule == "anything-said")


def test_a_label_of_somebody_who_may_not_write_is_refused_and_does_not_count_for_reviews():
    triage = GOOD.model_copy(update={"own": False, "role_name": "triage", "permission": "read"})
    refusal = decide(REQUESTS["label"], triage)
    assert refusal
    assert "`mara` put the label `bot:address` on, but" in refusal.text
    unlabelled = decide(REQUESTS["review"], GOOD.model_copy(update={"own": False}))
    assert (unlabelled and unlabelled.rule) == "label-on"
    assert (
        decide(REQUESTS["review"], GOOD.model_copy(update={"own": False, "label_on": True})) is None
    )


def test_checks_of_a_bots_update_are_looked_at_while_the_bot_made_the_newest_commit():
    update = {"own": False, "head_is_ours": False, "of_updater": True, "head_is_updaters": True}
    facts = GOOD.model_copy(update=update)
    assert decide(REQUESTS["checks"], facts) is None
    pushed = facts.model_copy(update={"head_is_updaters": False})
    refusal = decide(REQUESTS["checks"], pushed)
    assert (refusal and refusal.rule) == "head-is-ours"
    refusal = decide(REQUESTS["review"], facts)
    assert (refusal and refusal.rule) == "label-on", "a review of it is not for Fettle"


@pytest.mark.parametrize("state", ["dismissed", "pending", ""])
def test_reviews_that_do_not_ask(state):
    refusal = decide(REQUESTS["review"], GOOD.model_copy(update={"review_state": state}))
    assert (refusal and refusal.rule) == "review-stands"


@pytest.mark.parametrize(
    ("way", "again", "words"),
    [
        ("command", False, "wrote `/bot address`"),
        ("update", False, "wrote `/bot update`"),
        ("update", True, "wrote `/bot retry`"),
        ("checks-again", True, "wrote `/bot retry`"),
    ],
)
def test_refusals_name_what_was_written(way, again, words):
    request = REQUESTS[way].model_copy(update={"again": Again(run_id="r") if again else None})
    refusal = decide(request, GOOD.model_copy(update=BAD["asker-may-write"]))
    assert refusal
    assert words in refusal.text
