"""The rules of a repository's own policy: who, by what, with which models; what is wrong."""

from __future__ import annotations

import pytest

from agents.policy import (
    InvalidPolicy,
    MissingPolicy,
    PolicyFault,
    PolicyOrigin,
    ValidPolicy,
    parse_policy,
)
from agents.requests import Person
from handlers.access.issues import AskerFacts
from handlers.access.policy import decide, decide_command, is_among
from handlers.access.pull_requests import PullFacts
from tests.fakes.requests import (
    build_address_review,
    build_command,
    build_fix_checks,
    build_offer_setup,
    build_propose_guidance,
    build_remediate_alert,
    build_resolve_issue,
    build_update_branch,
)

MODELS = frozenset({"claude-opus-5-5", "claude-haiku-5-5"})
ADA = Person(id=4, login="ada")
LABELLED = build_resolve_issue(asked_by=ADA)
WRITER = AskerFacts(role_name="write", permission="write")


def parse_valid(text):
    return ValidPolicy(parse_policy(text.encode()), text, PolicyOrigin())


def judge(request, text, asker=WRITER):
    return decide(request, parse_valid(text), asker, MODELS)


@pytest.mark.parametrize(
    ("request_", "key", "silent"),
    [
        (LABELLED, "resolve", False),
        (build_address_review(via="label"), "address", False),
        (build_address_review(via="review"), "reviews", True),
        (build_address_review(via="command"), "commands", False),
        (build_update_branch(), "commands", False),
        (LABELLED.model_copy(update={"via": "command"}), "commands", False),
        (build_remediate_alert(), "alerts", True),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_trigger_that_is_off_starts_nothing_and_no_other_is_held_up(request_, key, silent):
    others = {"resolve", "address", "reviews", "commands", "alerts"} - {key}
    refusal = judge(request_, f"triggers: {{{key}: false}}")
    assert (refusal.rule, refusal.silent) == ("trigger-on", silent)
    assert f"`triggers.{key}` in `.github/fettle.yml`" in refusal.text
    assert (
        judge(request_, f"triggers: {{{', '.join(f'{each}: false' for each in others)}}}") is None
    )


@pytest.mark.parametrize(
    "request_",
    [
        LABELLED.model_copy(update={"via": "terminal"}),
        build_fix_checks(),
    ],
    ids=["terminal", "checks"],
)
def test_what_no_trigger_starts_none_holds_up(request_):
    off = (
        "triggers: {resolve: false, address: false, reviews: false, commands: false, alerts: false}"
    )
    assert judge(request_, off + "\nwho: {role: admin}", AskerFacts()) is None


@pytest.mark.parametrize(
    ("who", "role", "permission", "may"),
    [
        ("{}", "write", "write", True),
        ("{}", "triage", "read", False),
        ("{role: maintain}", "write", "write", False),
        ("{role: maintain}", "maintain", "write", True),
        ("{role: maintain}", "admin", "admin", True),
        ("{role: admin}", "maintain", "write", False),
        ("{role: maintain}", "release-crew", "write", False),
        ("{role: maintain}", "release-crew", "admin", True),
        ("{role: admin, people: [ADA]}", "write", "write", True),
        ("{role: admin, people: [ADA]}", "read", "read", False),
        ("{role: write, people: [ada]}", "", "", False),
    ],
)
def test_who_may_and_never_below_write(who, role, permission, may):
    policy = parse_policy(f"who: {who}".encode())
    assert is_among(policy.who, "ada", role, permission) is may
    refusal = judge(LABELLED, f"who: {who}", AskerFacts(role_name=role, permission=permission))
    assert (refusal is None) is may
    if refusal is not None:
        assert (refusal.rule, refusal.silent) == ("asker-among", False)


@pytest.mark.parametrize(("text", "rule"), [("who: {role: admin}", "asker-among"), ("{}", None)])
def test_who_may_approve(text, rule):
    command = build_command(verb="approve", asked_by=ADA)
    refusal = decide_command(command, parse_valid(text), "write", "write")
    assert (refusal.rule if refusal else None) == rule
    wrong = InvalidPolicy((PolicyFault(3, 5, "wrong"),), PolicyOrigin())
    assert decide_command(command, wrong, "admin", "admin").text.startswith("Nothing was decided")


def test_a_policy_names_models_that_the_operator_allows_and_no_others():
    assert judge(LABELLED, "models: {strong: claude-haiku-5-5}") is None
    refusal = judge(LABELLED, "models: {strong: gold-9, judge: gold-10}")
    assert refusal.rule == "models-allowed"
    assert "`gold-9` (`models.strong`) and `gold-10` (`models.judge`)" in refusal.text
    assert "FETTLE_MODELS_ALLOWED" in refusal.text


URL = "https://github.example/octo/lib/blob/main/.github/fettle.yml"
FAULTS = tuple(PolicyFault(line, 5, f"`key{line}` is wrong") for line in range(1, 9))


def test_a_policy_that_is_wrong_is_told_with_its_lines_and_where_they_are():
    refusal = decide(LABELLED, InvalidPolicy(FAULTS, PolicyOrigin(url=URL)), WRITER, MODELS)
    assert (refusal.rule, refusal.silent) == ("policy-valid", False)
    assert f"- [line 3, column 5]({URL}#L3): `key3` is wrong" in refusal.text
    assert "`key5`" in refusal.text
    assert "`key6`" not in refusal.text
    assert "and 3 more" in refusal.text


def test_of_an_owners_secret_policy_nothing_is_repeated():
    origin = PolicyOrigin(repository="octo/.github", url=URL, owners=True, secret=True)
    refusal = decide(LABELLED, InvalidPolicy(FAULTS, origin), WRITER, MODELS)
    assert "in `octo/.github`" in refusal.text
    assert "line 1, 2, 3, 4, 5" in refusal.text
    assert "key1" not in refusal.text
    assert URL not in refusal.text


@pytest.mark.parametrize(
    "request_",
    [build_address_review(), build_fix_checks()],
    ids=["review", "checks"],
)
def test_where_nobody_waits_for_an_answer_it_is_only_recorded(request_):
    refusal = decide(request_, InvalidPolicy(FAULTS, PolicyOrigin()), WRITER, MODELS)
    assert refusal.silent


def test_without_a_policy_nothing_is_held_up():
    assert decide(LABELLED, MissingPolicy(), WRITER, MODELS) is None


def test_code_is_adapted_to_other_bots_updates_where_the_owners_want_it():
    update = PullFacts(of_updater=True)
    refusal = judge(build_fix_checks(), "checks: {fix: true}", update)
    assert (refusal.rule, refusal.silent) == ("updates-adapted", True)
    assert "`remediation.adapt`" in refusal.text
    assert judge(build_fix_checks(), "remediation: {adapt: true}", update) is None
    assert judge(build_fix_checks(), "{}", PullFacts(own=True)) is None


def test_owners_can_do_without_proposals():
    request = build_propose_guidance()
    refusal = judge(request, "guidance: never", AskerFacts())
    assert (refusal.rule, refusal.silent) == ("guidance-wanted", True)
    assert "(`guidance` in `.github/fettle.yml`)" in refusal.text
    for text in ("guidance: monthly", "", "triggers: {commands: false}", "who: {role: admin}"):
        assert judge(request, text, AskerFacts()) is None
    assert judge(LABELLED, "guidance: never") is None


def test_owners_can_do_without_set_up_commands_of_a_model():
    request = build_offer_setup()
    refusal = judge(request, "setup: {second_look: false}", AskerFacts())
    assert (refusal.rule, refusal.silent) == ("setup-wanted", True)
    assert "(`setup.second_look` in `.github/fettle.yml`)" in refusal.text
    for text in ("", "guidance: never", "who: {role: admin}"):
        assert judge(request, text, AskerFacts()) is None
    assert judge(LABELLED, "setup: {second_look: false}") is None
