"""Who may start what: the rules, and the texts people read when one says no."""

from __future__ import annotations

import pytest

from agents.requests import Person
from handlers.access.issues import BY_LABEL, RULES, IssueFacts, decide, may_write
from tests.fakes.requests import MARA, build_resolve_issue

REQUEST = build_resolve_issue()
GOOD = IssueFacts(role_name="write", permission="write", labels=("bug", "bot:resolve"))
SOMEONE = Person(id=9, login="someone")


def test_a_good_request_may_run():
    assert decide(REQUEST, GOOD) is None


@pytest.mark.parametrize(
    ("rule", "facts", "told"),
    [
        ("installation-active", {"installation_suspended": True}, "suspended"),
        ("asker-human", {"asker_is_bot": True}, "only people"),
        ("asker-may-write", {"role_name": "triage", "permission": "read"}, "`triage`"),
        ("asker-may-write", {"role_name": "", "permission": ""}, "`none`"),
        ("still-issue", {"is_pull_request": True}, "pull request"),
        ("issue-open", {"issue_open": False}, "closed"),
        ("label-on", {"labels": ("bug",)}, "taken off"),
        ("text-unchanged", {"edited": True, "editor": SOMEONE}, "`someone` edited"),
        ("text-unchanged", {"edited": True, "editor": None}, "somebody edited"),
    ],
)
def test_each_rule_refuses_and_says_what_to_do(rule, facts, told):
    refusal = decide(REQUEST, GOOD.model_copy(update=facts))
    assert refusal is not None
    assert refusal.rule == rule
    assert told in refusal.text
    assert refusal.text.startswith("Nothing was done: ")
    assert " again" in refusal.text


def test_every_rule_is_tested_above():
    marks = test_each_rule_refuses_and_says_what_to_do.pytestmark
    rules = {case[0] for case in marks[0].args[1]}
    assert rules == {rule.__name__.replace("_", "-") for rule in BY_LABEL}
    assert all(set(chosen) <= set(BY_LABEL) for chosen in RULES.values())


# --- asked for in a comment, or on the machine ----------------------------------------------------

OPERATOR = Person(id=0, login="root")
BY_COMMAND = REQUEST.model_copy(update={"via": "command"})
BY_TERMINAL = REQUEST.model_copy(update={"via": "terminal", "asked_by": OPERATOR})
REFUSALS = {
    "installation-active": {"installation_suspended": True},
    "asker-human": {"asker_is_bot": True},
    "asker-may-write": {"role_name": "triage", "permission": "read"},
    "still-issue": {"is_pull_request": True},
    "issue-open": {"issue_open": False},
    "label-on": {"labels": ("bug",)},
    "text-unchanged": {"edited": True, "editor": SOMEONE},
}


@pytest.mark.parametrize("rule", REFUSALS)
def test_a_command_needs_all_but_the_label(rule):
    refusal = decide(BY_COMMAND, GOOD.model_copy(update=REFUSALS[rule]))
    assert (refusal and refusal.rule) == (None if rule == "label-on" else rule)
    if refusal and rule != "still-issue":
        assert "label" not in refusal.text, "nobody set one"
        assert "write" in refusal.text
        assert " again" in refusal.text


@pytest.mark.parametrize("rule", REFUSALS)
def test_the_operator_needs_no_label_and_no_role_but_the_issue_must_stand(rule):
    nobody = IssueFacts(role_name="", permission="")
    assert decide(BY_TERMINAL, nobody) is None
    refusal = decide(BY_TERMINAL, nobody.model_copy(update=REFUSALS[rule]))
    held = {"installation-active", "still-issue", "issue-open", "text-unchanged"}
    assert (refusal and refusal.rule) == (rule if rule in held else None)
    if refusal and rule != "still-issue":
        assert "label" not in refusal.text
        assert "give the command on the machine again" in refusal.text


def test_an_edit_by_an_unknown_editor_is_not_taken_for_the_operators():
    refusal = decide(BY_TERMINAL, IssueFacts(edited=True, editor=None))
    assert refusal is not None
    assert refusal.rule == "text-unchanged"


def test_edits_by_the_asker_do_not_count_against_them():
    assert decide(REQUEST, GOOD.model_copy(update={"edited": True, "editor": MARA})) is None


def test_an_earlier_edit_by_somebody_does_not_count():
    assert decide(REQUEST, GOOD.model_copy(update={"editor": SOMEONE})) is None


def test_a_renamed_asker_is_known_by_the_id():
    renamed = Person(id=MARA.id, login="new-name")
    assert decide(REQUEST, GOOD.model_copy(update={"edited": True, "editor": renamed})) is None
    impostor = Person(id=5, login=MARA.login)
    assert decide(REQUEST, GOOD.model_copy(update={"edited": True, "editor": impostor}))


@pytest.mark.parametrize(
    ("role_name", "permission", "may"),
    [
        ("admin", "admin", True),
        ("maintain", "write", True),
        ("write", "write", True),
        ("triage", "read", False),
        ("read", "read", False),
        ("none", "none", False),
        ("", "", False),
        ("triage", "write", False),
        ("release-crew", "write", True),
        ("release-crew", "admin", True),
        ("write-docs", "read", False),
        ("admin-of-nothing", "none", False),
        ("", "write", True),
        ("Write", "read", False),
    ],
)
def test_roles(role_name, permission, may):
    assert may_write(role_name, permission) is may
