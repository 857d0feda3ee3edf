"""Whether a run about alerts may begin: severities and scopes, others' runs, what GitHub says."""

from __future__ import annotations

import pytest

from agents.policy.sections import Remediation
from agents.requests import AlertSummary
from handlers.access import alerts as access_alerts
from handlers.access.alerts import AlertFacts
from handlers.access.issues import AskerFacts
from tests.handlers.test_dependabot_alert import route


def request(*told, via="alert"):
    return route().model_copy(update={"told": told, "via": via})


def alert(number=7, severity="high", scope="runtime"):
    return AlertSummary(alert=number, severity=severity, scope=scope)


@pytest.mark.parametrize(
    ("told", "policy", "wanted"),
    [
        ([alert()], {}, True),
        ([alert(severity="medium")], {}, False),
        ([alert(severity="medium"), alert(8, "critical")], {}, True),
        ([alert(severity="low")], {"severities": ("low",)}, True),
        ([alert()], {"severities": ()}, False),
        ([alert(scope="development")], {}, True),
        ([alert(scope="development")], {"scope": "runtime"}, False),
        ([alert(scope="development"), alert(8)], {"scope": "runtime"}, True),
        ([alert(scope="")], {"scope": "runtime"}, True),
        # The one that is bad enough is for development, the other one is not bad enough.
        ([alert(scope="development"), alert(8, "low")], {"scope": "runtime"}, False),
    ],
)
def test_the_policy_says_which_alerts_are_worth_a_run(told, policy, wanted):
    refusal = access_alerts.policy_wants(request(*told), Remediation(**policy))
    assert (refusal is None) == wanted
    if refusal is not None:
        assert (refusal.rule, refusal.silent) == ("policy-wants", True)


def test_the_clock_asks_for_nothing_where_the_owners_say_never():
    never = Remediation(schedule="never")
    assert access_alerts.policy_wants(request(alert(), via="schedule"), never) is not None
    assert access_alerts.policy_wants(request(alert()), never) is None


def test_what_another_run_has_read_is_covered_whatever_came_of_it():
    asking = request(alert(7), alert(8))
    assert access_alerts.not_covered(asking, [frozenset({7, 8, 9})]).silent
    assert access_alerts.not_covered(asking, [frozenset({7}), frozenset({8})]) is None
    assert access_alerts.not_covered(asking, []) is None
    assert access_alerts.not_covered(request(), [frozenset({7})]) is None


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({}, None),
        ({"archived": True}, "repository-writable"),
        ({"still_open": 0}, "alerts-open"),
    ],
)
def test_what_github_says_now(facts, rule):
    refusal = access_alerts.decide(request(alert()), AlertFacts(**facts))
    assert (refusal.rule if refusal else None) == rule
    assert refusal is None or refusal.silent


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        ({"role_name": "write"}, None),
        ({"role_name": "admin"}, None),
        ({"role_name": "triage", "permission": "read"}, "asker-may-write"),
        ({"role_name": "read"}, "asker-may-write"),
        ({}, "asker-may-write"),
        ({"role_name": "write", "asker_is_bot": True}, "asker-human"),
    ],
)
def test_whoever_asks_in_a_comment_has_to_be_somebody_who_may_write(facts, rule):
    asked = request(alert(), via="command")
    refusal = access_alerts.asked_by_people(asked, AskerFacts(**facts))
    assert (refusal.rule if refusal else None) == rule
    if refusal is not None:
        assert not refusal.silent  # somebody waits for an answer
        assert "`/bot retry`" in refusal.text or "write access" in refusal.text


@pytest.mark.parametrize("via", ["terminal", "alert", "schedule"])
def test_where_nobody_asks_in_a_comment_no_role_is_looked_at(via):
    assert access_alerts.asked_by_people(request(alert(), via=via), AskerFacts()) is None
