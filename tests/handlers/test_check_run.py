"""Buttons under check runs: which of them answer."""

from __future__ import annotations

import pytest

import handlers
from handlers.ignored import Ignored

MARA = {"login": "mara", "id": 8, "type": "User"}
URL = "https://github.com/octo/hello/runs/7"


def pull(number, repository_id):
    return {"number": number, "base": {"ref": "main", "repo": {"id": repository_id}}}


def check_run(**changes):
    return {
        "id": 7,
        "external_id": "k3f9x2",
        "html_url": URL,
        "pull_requests": [pull(3, 1), pull(12, 99)],
        **changes,
    }


PAYLOAD = {
    "action": "requested_action",
    "check_run": check_run(),
    "requested_action": {"identifier": "approve:k3f9x2"},
    "repository": {
        "id": 99,
        "name": "hello",
        "owner": {"login": "octo"},
        "default_branch": "main",
    },
    "sender": MARA,
    "installation": {"id": 4242},
}


def route(**changes):
    return handlers.route("check_run", {**PAYLOAD, **changes})


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_button_is_an_answer(verb):
    [command] = route(requested_action={"identifier": f"{verb}:k3f9x2"})
    assert (command.verb, command.approval, command.words) == (verb, "k3f9x2", "")
    assert (command.via, command.comment_id, command.check_run_id) == ("button", None, 7)
    assert (command.number, command.asked_by.id, command.url) == (12, 8, URL)


@pytest.mark.parametrize("pulls", [[], [pull(3, 1)]])
def test_a_check_run_need_not_be_in_a_pull_request_of_this_repository(pulls):
    [command] = route(check_run=check_run(pull_requests=pulls))
    assert command.number == 0


def test_a_button_takes_up_the_last_run_of_the_issue_that_it_stands_for():
    [command] = route(
        check_run=check_run(external_id="verdict/31"),
        requested_action={"identifier": "retry:31"},
    )
    assert (command.verb, command.number, command.approval) == ("retry", 31, "")
    assert (command.via, command.check_run_id, command.stage) == ("button", 7, "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"requested_action": None}, "none that answers"),
        ({"requested_action": {"identifier": "k3f9x2"}}, "none that answers"),
        ({"requested_action": {"identifier": "merge:k3f9x2"}}, "none that answers"),
        ({"requested_action": {"identifier": "approve:k3f9x2 all"}}, "none that answers"),
        ({"requested_action": {"identifier": "retry:0"}}, "none that answers"),
        ({"requested_action": {"identifier": "retry:31"}}, "another check run"),
        ({"check_run": check_run(external_id="other2")}, "another check run"),
        ({"check_run": check_run(external_id=None)}, "another check run"),
        ({"installation": None}, "installation"),
        ({"sender": None}, "no person"),
        ({"sender": {**MARA, "type": "Bot"}}, "no person"),
        ({"sender": {**MARA, "login": "ghost"}}, "no person"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = route(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


def test_what_machines_report_is_not_even_kept():
    for action in ("created", "completed"):
        assert not handlers.is_handled("check_run", action)
