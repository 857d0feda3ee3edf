"""The `pull_request` handler: the label that lets Fettle in, and what calls a run back."""

from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

import handlers
from agents.requests import AddressReview, Person, Repository
from handlers.ignored import Ignored
from handlers.notifications import PullClosed

URL = "https://github.com/octo/hello/pull/31"
GHOST = {"login": "ghost", "id": 10137, "type": "User"}
PULL = {
    "number": 31,
    "title": "Add nine",
    "body": None,
    "user": {"login": "ada", "id": 7, "type": "User"},
    "html_url": URL,
    "labels": [{"id": 1, "name": "bot:address"}],
    "head": {"ref": "topic", "sha": "a" * 40},
}
PAYLOAD = {
    "action": "labeled",
    "number": 31,
    "pull_request": PULL,
    "label": {"id": 1, "name": "bot:address"},
    "repository": {"id": 99, "name": "hello", "owner": {"login": "octo"}, "default_branch": "main"},
    "sender": {"login": "mara", "id": 8, "type": "User"},
    "installation": {"id": 4242},
}

TOLD = PullClosed(
    installation_id=4242,
    repository=Repository(id=99, owner="octo", name="hello", default_branch="main"),
    number=31,
    merged=False,
    author_id=7,
    branch="topic",
)


def route(**changes):
    return handlers.route("pull_request", {**copy.deepcopy(PAYLOAD), **changes})


def test_the_label_asks_for_what_reviews_want_already():
    assert route() == AddressReview(
        installation_id=4242,
        repository=Repository(id=99, owner="octo", name="hello", default_branch="main"),
        number=31,
        title="Add nine",
        author=Person(id=7, login="ada"),
        asked_by=Person(id=8, login="mara"),
        url=URL,
        via="label",
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": None}, "label"),
        ({"label": {"name": "bot:resolve"}}, "label"),
        ({"label": {"name": "Bot:Address"}}, "label"),
        ({"installation": None}, "installation"),
        ({"sender": None}, "who put the label on"),
        ({"sender": GHOST}, "who put the label on"),
        ({"pull_request": {**PULL, "user": None}}, "author"),
        ({"pull_request": {**PULL, "user": GHOST}}, "author"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = route(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


@pytest.mark.parametrize(("action", "via"), [("unlabeled", "label"), ("closed", "pull_request")])
def test_a_run_is_called_back_by_the_label_or_the_pull_request(action, via):
    command, *told = route(action=action)
    by = Person(id=8, login="mara")
    assert told == ([TOLD.model_copy(update={"by": by})] if action == "closed" else [])
    assert (command.verb, command.via, command.comment_id) == ("cancel", via, None)
    assert (command.asked_by.id, command.number, command.repository.id) == (8, 31, 99)
    assert command.for_live_runs


@pytest.mark.parametrize(
    ("action", "changes"),
    [
        ("unlabeled", {"label": {"name": "bug"}}),
        ("unlabeled", {"label": None}),
        ("closed", {"installation": None}),
    ],
)
def test_what_calls_nothing_back(action, changes):
    assert isinstance(route(action=action, **changes), Ignored)


@pytest.mark.parametrize("merged", [True, False])
def test_whoever_waits_for_a_pull_request_is_told_of_its_end_whoever_closed_it(merged):
    found = route(action="closed", sender=None, pull_request={**PULL, "merged": merged})
    assert found == (TOLD.model_copy(update={"merged": merged}),)


def test_bots_may_call_back_but_not_ask():
    assert handlers.ROUTES["pull_request", "labeled"].people_only
    assert not handlers.ROUTES["pull_request", "unlabeled"].people_only
    assert not handlers.ROUTES["pull_request", "closed"].people_only


@pytest.mark.parametrize("action", ["edited", "review_requested", "assigned"])
def test_most_of_what_happens_to_pull_requests_is_not_even_kept(action):
    assert not handlers.is_handled("pull_request", action)


@pytest.mark.parametrize("number", [0, -1, "31", None, 2**63])
def test_numbers_are_numbers(number):
    with pytest.raises(ValidationError):
        route(pull_request={**PULL, "number": number})
