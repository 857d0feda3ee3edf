"""Whose answer counts: the rules, and the texts people read when one says no."""

from __future__ import annotations

import pytest

from handlers.access.approvals import RULES, AnsweredApproval, ApprovalFacts, decide
from tests.fakes.requests import build_command

COMMAND = build_command(verb="approve", approval="k3f9x2", comment_id=5, digest="d")
ASKED = AnsweredApproval(repository_id=9, number=7, state="waiting", standing="waits for an answer")
GOOD = ApprovalFacts(
    role_name="write", permission="write", asked=ASKED, waiting=("k3f9x2", "q8d2aa")
)
READER = {"role_name": "read", "permission": "read"}


def make_facts(**changes):
    return {"asked": ASKED.model_copy(update=changes)}


def refuse_command(facts=None, **changes):
    found = decide(COMMAND.model_copy(update=changes), GOOD.model_copy(update=facts or {}))
    assert found is not None
    return found


def test_a_good_answer_counts():
    assert decide(COMMAND, GOOD) is None
    denial = COMMAND.model_copy(update={"verb": "deny", "words": "no"})
    assert decide(denial, GOOD) is None


CASES = [
    ("by-person", {"asker_is_bot": True}, {}, "only what people say"),
    ("by-hand", {"through_app": "slack"}, {}, "`slack`"),
    ("may-answer", READER, {}, "`read`"),
    ("may-answer", {"role_name": "", "permission": ""}, {}, "`none`"),
    ("may-answer", {"role_name": "triage", "permission": "read"}, {}, "`triage`"),
    ("unedited", {"edited": True}, {}, "new comment"),
    ("one-answer", {"contradicted": True}, {}, "both approves and denies"),
    ("one-approval", {}, {"approval": ""}, "`k3f9x2`, `q8d2aa`"),
    ("one-approval", {}, {"approval": "all"}, "one id on each line"),
    ("one-approval", {"waiting": ()}, {"approval": ""}, "Nothing waits"),
    ("one-approval", {}, {"words": "q8d2aa"}, "stand alone"),
    ("known-here", {"asked": None}, {}, "`k3f9x2` was asked here"),
    ("known-here", make_facts(repository_id=98), {}, "asked here"),
    ("known-here", make_facts(number=13), {}, "asked here"),
    ("known-here", {"own_button": False}, {}, "asked here"),
    ("legible", make_facts(readable=False), {}, "damaged"),
    ("still-open", make_facts(state="denied", standing="was denied by jo"), {}, "was denied by jo"),
    ("still-open", make_facts(state="expired", standing="expired"), {}, "expired"),
    ("still-open", make_facts(state="void", standing="became void"), {}, "became void"),
    ("head-unmoved", make_facts(moved=True), {}, "new commits"),
]


@pytest.mark.parametrize(("rule", "facts", "changes", "told"), CASES)
def test_each_rule_refuses_and_says_what_to_do(rule, facts, changes, told):
    found = refuse_command(facts, **changes)
    assert found.rule == rule
    assert told in found.text
    assert found.text.startswith("Nothing was decided: ")


def test_every_rule_is_tested_above():
    assert {case[0] for case in CASES} == {rule.__name__.replace("_", "-") for rule in RULES}


@pytest.mark.parametrize(
    "facts", [{}, {"asked": None}, make_facts(state="denied", standing="by jo")]
)
def test_whoever_may_not_write_learns_nothing(facts):
    told = {
        refuse_command({**READER, **facts}, approval=name).text for name in ("k3f9x2", "nothing")
    }
    assert len(told) == 1
    assert "k3f9x2" not in told.pop()


def test_nobody_learns_whether_an_id_belongs_elsewhere():
    nowhere = refuse_command({"asked": None})
    other_repository = refuse_command(make_facts(repository_id=98))
    other_issue = refuse_command(make_facts(number=13))
    decided_elsewhere = refuse_command(
        make_facts(number=13, state="denied", standing="was denied by jo")
    )
    assert nowhere == other_repository == other_issue == decided_elsewhere


def test_a_button_counts_where_its_check_run_stands():
    pressed = {"via": "button", "number": 77, "comment_id": None, "check_run_id": 3}
    assert decide(COMMAND.model_copy(update=pressed), GOOD) is None
    assert refuse_command(make_facts(repository_id=98), **pressed).rule == "known-here"


def test_the_same_answer_again_is_no_other_answer():
    mine = {"state": "approved", "decided_by": "mara", "decided_via": "comment"}
    assert decide(COMMAND, GOOD.model_copy(update=make_facts(**mine))) is None
    assert refuse_command(make_facts(**mine), verb="deny").rule == "still-open"
    theirs = make_facts(**mine | {"decided_by": "jo"})
    assert refuse_command(theirs).rule == "still-open"
    elsewhere = make_facts(**mine | {"decided_via": "terminal"})
    assert refuse_command(elsewhere).rule == "still-open"


def test_what_was_typed_cannot_break_out_of_the_text():
    found = refuse_command({"asked": None}, approval="x`@all](http://evil.example)")
    assert "@" not in found.text
    assert "evil.example" not in found.text
