"""Which commands count, and the texts people read when one does not."""

from __future__ import annotations

import pytest

from agents.requests import Person, ShownSubject
from handlers.access.approvals import ABOUT_WHO, ApprovalFacts
from handlers.access.steering import RULES, LaneFacts, decide
from handlers.issue_comment import UNREADABLE
from tests.fakes.requests import build_command

ISSUE = ShownSubject(
    title="t", body="b", author=Person(id=4, login="jo"), url="https://example.org/12"
)
COMMAND = build_command(verb="cancel", comment_id=5, digest="d", issue=ISSUE)
GOOD = ApprovalFacts(role_name="write", permission="write")
LIVE = LaneFacts(live=True, room=3.0, most=8.0)
ENDED = LaneFacts(ended=True, stages=("triage", "implement"))
NOTHING = LaneFacts()


def refuse_command(standing, facts=GOOD, **changes):
    found = decide(COMMAND.model_copy(update=changes), facts, standing)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({"verb": "cancel"}, LIVE),
        ({"verb": "go"}, LIVE),
        ({"verb": "remark"}, LIVE),
        ({"verb": "budget", "usd": 2.0}, LIVE),
        ({"verb": "status"}, LIVE),
        ({"verb": "why"}, ENDED),
        ({"verb": "retry"}, ENDED),
        ({"verb": "retry", "stage": "implement"}, ENDED),
    ],
)
def test_a_good_command_counts(changes, standing):
    assert decide(COMMAND.model_copy(update=changes), GOOD, standing) is None


CASES = [
    ("known-command", {"verb": "unknown", "words": "cancle"}, LIVE, "Did you mean `/bot cancel`?"),
    ("known-command", {"verb": "unknown", "words": "Retyr"}, LIVE, "Did you mean `/bot retry`?"),
    ("known-command", {"verb": "unknown", "words": "xyzzy"}, LIVE, "There are `/bot status`"),
    ("known-command", {"verb": "unknown", "words": ""}, LIVE, "what stands behind `/bot`"),
    ("amount-readable", {"verb": "budget", "usd": None}, LIVE, "`/bot budget +$2`"),
    ("under-way", {"verb": "budget", "usd": 2.0}, NOTHING, "the label `bot:resolve`"),
    ("under-way", {"verb": "cancel"}, ENDED, "write `/bot retry`"),
    ("under-way", {"verb": "go"}, NOTHING, "no run is under way"),
    ("room-left", {"verb": "budget", "usd": 2.0}, LaneFacts(live=True, most=8.0), "$8.00"),
    ("heard-of", {"verb": "status"}, NOTHING, "has not worked on this"),
    ("author-known", {"verb": "retry", "issue": None}, ENDED, "account of whoever opened this"),
    ("on-pull-request", {"verb": "address"}, LIVE, "this is an issue"),
    ("nothing-under-way", {"verb": "retry"}, LIVE, "`/bot cancel` first"),
    ("something-ended", {"verb": "retry"}, NOTHING, "none to take up again"),
    ("nothing-at-work", {"verb": "undo"}, LIVE, "`/bot cancel` first"),
    ("something-done", {"verb": "undo"}, NOTHING, "nothing to take back"),
    ("beginning-known", {"verb": "retry", "stage": "deploy"}, ENDED, "`triage`, `implement`"),
    ("beginning-known", {"verb": "retry", "stage": UNREADABLE}, ENDED, "takes no words"),
]


@pytest.mark.parametrize(("rule", "changes", "standing", "told"), CASES)
def test_each_rule_refuses_and_says_what_to_do(rule, changes, standing, told):
    found = refuse_command(standing, **changes)
    assert found.rule == rule
    assert told in found.text
    assert found.text.startswith("Nothing was done: ")


def test_every_rule_is_tested_above():
    names = {rule.__name__.replace("_", "-") for rules in RULES.values() for rule in rules}
    assert names == {rule for rule, *_ in CASES}


@pytest.mark.parametrize("verb", sorted({*RULES, "remark"}))
@pytest.mark.parametrize(
    "facts",
    [
        {"asker_is_bot": True},
        {"through_app": "slack"},
        {"role_name": "triage", "permission": "read"},
        {"role_name": "write-docs", "permission": "read"},
        {"role_name": "", "permission": ""},
        {"edited": True},
    ],
)
def test_who_may_is_judged_first_and_tells_nothing_else(verb, facts):
    names = {rule.__name__.replace("_", "-") for rule in ABOUT_WHO}
    for standing in (LIVE, ENDED, NOTHING):
        told = {refuse_command(standing, GOOD.model_copy(update=facts), verb=verb).text}
        assert refuse_command(standing, GOOD.model_copy(update=facts), verb=verb).rule in names
        assert told == {refuse_command(NOTHING, GOOD.model_copy(update=facts), verb=verb).text}


@pytest.mark.parametrize(
    "word", ["@all", "`x`", "![x](https://evil.example)", "</b>", "\u0430pprove"]
)
def test_what_was_typed_cannot_break_out_of_the_text(word):
    assert word not in refuse_command(LIVE, verb="unknown", words=word).text
    assert word not in refuse_command(ENDED, verb="retry", stage=word).text
