"""New comments: whose commands are passed on, and as what."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

import handlers
from agents.requests import Person, ShownSubject
from handlers.ignored import Ignored
from handlers.issue_comment import UNREADABLE, digest

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


PULL = {**PAYLOAD["issue"], "pull_request": {"url": "x"}}


def route(**changes):
    return handlers.route("issue_comment", {**PAYLOAD, **changes})


def test_a_command_is_passed_on_with_all_that_it_takes_to_judge_it():
    [command] = route()
    assert (command.verb, command.approval, command.words) == ("approve", "k3f9x2", "")
    assert (command.asked_by.id, command.asked_by.login) == (8, "mara")
    assert (command.via, command.comment_id, command.check_run_id) == ("comment", 555, None)
    assert command.digest == digest("Go on.\r\n\r\n/bot approve k3f9x2")
    assert (command.installation_id, command.repository.id, command.number) == (4242, 99, 12)
    assert command.lane == "99#12/commands"
    assert command.url == f"{URL}#issuecomment-555"


def test_a_denial_carries_its_reason():
    [command] = route(comment=comment(body="/bot deny k3f9x2 keep\nthe history"))
    assert (command.verb, command.words) == ("deny", "keep\nthe history")


def test_each_command_of_a_comment_is_one_and_none_is_doubled():
    body = "/bot approve aaa222\n/bot approve bbb333\n/bot approve aaa222"
    assert [each.approval for each in route(comment=comment(body=body))] == ["aaa222", "bbb333"]


def test_comments_on_pull_requests_count_too():
    assert len(route(issue=PULL)) == 1


@pytest.mark.parametrize(
    "body",
    ["Thanks!", "> /bot cancel", "```\n/bot cancel\n```", "Say `/bot cancel`, they told me."],
)
def test_a_comment_without_commands_is_a_remark(body):
    [command] = route(comment=comment(body=body))
    assert (command.verb, command.words, command.comment_id) == ("remark", body, 555)
    assert command.digest == digest(body)
    assert command.for_live_runs


def test_a_remark_ends_where_a_mail_quotes_what_it_answers():
    [command] = route(comment=comment(body="Mind the tests.\n\nOn Monday, Eve S. wrote:\n> x"))
    assert command.words == "Mind the tests."


def test_a_remark_is_bounded():
    [command] = route(comment=comment(body="a" * 100_000))
    assert len(command.words) == 8000


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("/bot cancel wrong issue", {"verb": "cancel", "words": "wrong issue"}),
        ("/bot budget +$2.50", {"verb": "budget", "usd": 2.5}),
        ("/bot budget lots", {"verb": "budget", "usd": None}),
        ("/bot status", {"verb": "status"}),
        ("/bot why", {"verb": "why"}),
        ("/bot cancle", {"verb": "unknown", "words": "cancle"}),
        ("/bot go", {"verb": "go", "words": ""}),
        ("/bot go the second", {"verb": "go", "words": "the second"}),
        (
            "Keep `add`.\n\n/bot go the second\n\nThanks",
            {"verb": "go", "words": "the second\n\nKeep `add`.\n\n\nThanks"},
        ),
    ],
)
def test_other_commands(body, expected):
    [command] = route(comment=comment(body=body))
    assert {name: getattr(command, name) for name in expected} == expected
    assert not command.for_live_runs


def test_a_retry_carries_the_issue_as_the_delivery_showed_it():
    issue = {**PAYLOAD["issue"], "body": "It fails.", "user": {"login": "jo", "id": 4}}
    [command] = route(comment=comment(body="/bot retry from implement"), issue=issue)
    assert command.stage == "implement"
    assert command.issue == ShownSubject(
        title="t", body="It fails.", author=Person(id=4, login="jo"), url=URL
    )


@pytest.mark.parametrize("body", ["/bot retry", "/bot address", "/bot update"])
@pytest.mark.parametrize("issue", [PULL, PAYLOAD["issue"], {**PAYLOAD["issue"], "user": GHOST}])
def test_what_nobody_can_be_named_for_is_not_carried(issue, body):
    [command] = route(comment=comment(body=body), issue=issue)
    assert (command.issue, command.pull_request, command.stage) == (None, None, "")


@pytest.mark.parametrize("verb", ["retry", "address", "update"])
def test_what_asks_for_a_run_says_whether_it_stands_on_a_pull_request(verb):
    shown = ShownSubject(title="t", body="", author=Person(id=4, login="jo"), url=URL)
    author = {"user": {"login": "jo", "id": 4}}
    said = comment(body=f"/bot {verb}")
    [command] = route(comment=said, issue={**PULL, **author})
    assert (command.verb, command.issue, command.pull_request) == (verb, None, shown)
    [command] = route(comment=said, issue={**PAYLOAD["issue"], **author})
    assert (command.verb, command.issue, command.pull_request) == (verb, shown, None)
    assert not command.for_live_runs


def test_a_comment_on_a_pull_request_is_a_remark_as_well():
    [command] = route(comment=comment(body="Mind the tests."), issue=PULL)
    assert (command.verb, command.words, command.for_live_runs) == (
        "remark",
        "Mind the tests.",
        True,
    )


def test_words_behind_a_retry_are_no_stage():
    [command] = route(comment=comment(body="/bot retry and be careful"))
    assert command.stage == UNREADABLE


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"comment": comment(body=None)}, "says nothing"),
        ({"comment": comment(body=" \n")}, "says nothing"),
        ({"comment": comment(body="Thanks!", user=BOT), "sender": BOT}, "not a person's"),
        ({"comment": comment(body="Thanks!"), "sender": None}, "not sent by its author"),
        ({"comment": comment(user=BOT), "sender": BOT}, "not a person's"),
        ({"comment": comment(user=None)}, "nobody can be named"),
        ({"comment": comment(user=GHOST), "sender": GHOST}, "nobody can be named"),
        ({"sender": {**MARA, "id": 9}}, "not sent by its author"),
        ({"sender": None}, "not sent by its author"),
        ({"installation": None}, "installation"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = route(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_comments_that_change_later_are_not_even_kept(action):
    assert not handlers.is_handled("issue_comment", action)
    assert isinstance(handlers.route("issue_comment", {**PAYLOAD, "action": action}), Ignored)


@pytest.mark.parametrize("login", ["m\u0430ra", "mara\n", "ma ra", ""])
def test_a_login_that_cannot_be_one_fails_its_delivery(login):
    with pytest.raises(ValidationError):
        route(comment=comment(user={**MARA, "login": login}))


def test_bots_are_dropped_at_the_door():
    assert handlers.ROUTES["issue_comment", "created"].people_only
    assert handlers.ROUTES["check_run", "requested_action"].people_only
