"""New comments: whose commands are passed on, and as what."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

import handlers
from handlers.ignored import Ignored
from handlers.issue_comment import digest

MARA = {"login": "mara", "id": 8, "type": "User"}
BOT = {"login": "mara[bot]", "id": 80, "type": "Bot"}
GHOST = {"login": "ghost", "id": 10137, "type": "User"}
URL = "https://github.com/octo/hello/issues/12"


def comment(**changes):
    return {
        "id": 555,
        "body": "Go on.\r\n\r\n/bot approve k3f9x2",
        "user": MARA,
        "html_url": f"{URL}#issuecomment-555",
        **changes,
    }


PAYLOAD = {
    "action": "created",
    "issue": {"number": 12, "title": "t", "body": None, "user": None, "html_url": URL},
    "comment": comment(),
    "repository": {
        "id": 99,
        "name": "hello",
        "owner": {"login": "octo"},
        "default_branch": "main",
    },
    "sender": MARA,
    "installation": {"id": 4242},
}


def routed(**changes):
    return handlers.route("issue_comment", {**PAYLOAD, **changes})


def test_a_command_is_passed_on_with_all_that_it_takes_to_judge_it():
    [command] = routed()
    assert (command.verb, command.approval, command.reason) == ("approve", "k3f9x2", "")
    assert (command.asked_by.id, command.asked_by.login) == (8, "mara")
    assert (command.via, command.comment_id, command.check_run_id) == ("comment", 555, None)
    assert command.digest == digest("Go on.\r\n\r\n/bot approve k3f9x2")
    assert (command.installation_id, command.repository.id, command.number) == (4242, 99, 12)
    assert command.lane == "octo/hello#12/commands"
    assert command.url == f"{URL}#issuecomment-555"


def test_a_denial_carries_its_reason():
    [command] = routed(comment=comment(body="/bot deny k3f9x2 keep\nthe history"))
    assert (command.verb, command.reason) == ("deny", "keep\nthe history")


def test_each_command_of_a_comment_is_one_and_none_is_doubled():
    body = "/bot approve aaa222\n/bot approve bbb333\n/bot approve aaa222"
    assert [each.approval for each in routed(comment=comment(body=body))] == ["aaa222", "bbb333"]


def test_comments_on_pull_requests_count_too():
    pull = {**PAYLOAD["issue"], "pull_request": {"url": "x"}}
    assert len(routed(issue=pull)) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"comment": comment(body="Thanks!")}, "no command"),
        ({"comment": comment(body=None)}, "no command"),
        ({"comment": comment(body="> /bot approve k3f9x2")}, "no command"),
        ({"comment": comment(user=BOT), "sender": BOT}, "not a person's"),
        ({"comment": comment(user=None)}, "nobody can be named"),
        ({"comment": comment(user=GHOST), "sender": GHOST}, "nobody can be named"),
        ({"sender": {**MARA, "id": 9}}, "not sent by its author"),
        ({"sender": None}, "not sent by its author"),
        ({"installation": None}, "installation"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = routed(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_comments_that_change_later_are_not_even_kept(action):
    assert not handlers.known("issue_comment", action)
    assert isinstance(handlers.route("issue_comment", {**PAYLOAD, "action": action}), Ignored)


@pytest.mark.parametrize("login", ["m\u0430ra", "mara\n", "ma ra", ""])
def test_a_login_that_cannot_be_one_fails_its_delivery(login):
    with pytest.raises(ValidationError):
        routed(comment=comment(user={**MARA, "login": login}))


def test_bots_are_dropped_at_the_door():
    assert handlers.ROUTES["issue_comment", "created"].people_only
    assert handlers.ROUTES["check_run", "requested_action"].people_only
