"""The `pull_request_review` handler: which reviews may ask for changes, and whose."""

from __future__ import annotations

import copy

import pytest

import handlers
from agents.requests import AddressReview, Person, Repository
from handlers.ignored import Ignored

MARA = {"login": "mara", "id": 8, "type": "User"}
FETTLE = {"login": "fettle[bot]", "id": 31, "type": "Bot"}
GHOST = {"login": "ghost", "id": 10137, "type": "User"}
URL = "https://github.com/octo/hello/pull/31"
PULL = {
    "number": 31,
    "title": "Add nine",
    "user": FETTLE,
    "html_url": URL,
    "labels": [{"id": 1, "name": "bug"}],
}
REVIEW = {"id": 77, "state": "changes_requested", "body": "Not so.", "user": MARA}
PAYLOAD = {
    "action": "submitted",
    "review": REVIEW,
    "pull_request": PULL,
    "repository": {"id": 99, "name": "hello", "owner": {"login": "octo"}, "default_branch": "main"},
    "sender": MARA,
    "installation": {"id": 4242},
}


def route(**changes):
    return handlers.route("pull_request_review", {**copy.deepcopy(PAYLOAD), **changes})


def review(**changes):
    return {**REVIEW, **changes}


def pull(**changes):
    return {**PULL, **changes}


def test_a_review_asks_for_what_it_says():
    assert route() == AddressReview(
        installation_id=4242,
        repository=Repository(id=99, owner="octo", name="hello", default_branch="main"),
        number=31,
        title="Add nine",
        author=Person(id=31, login="fettle[bot]"),
        asked_by=Person(id=8, login="mara"),
        url=URL,
        review_id=77,
        via="review",
    )


def test_it_knows_when_it_was_submitted_however_late_it_comes():
    asked = route(review=review(submitted_at="2026-02-01T09:30:00Z"))
    assert asked.submitted_at == 1_769_938_200.0


@pytest.mark.parametrize("state", ["commented", "approved"])
@pytest.mark.parametrize("body", ["Rename it.", "", None])
def test_one_that_only_comments_is_looked_at_later_with_its_comments(body, state):
    found = route(review=review(state=state, body=body))
    assert isinstance(found, AddressReview)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"review": review(state="dismissed")}, "asks for nothing"),
        ({"review": review(state="pending")}, "asks for nothing"),
        ({"review": review(state="CHANGES_REQUESTED")}, "asks for nothing"),
        ({"review": review(user=FETTLE), "sender": FETTLE}, "not a person's"),
        ({"review": review(user=None)}, "nobody can be named"),
        ({"review": review(user=GHOST), "sender": GHOST}, "nobody can be named"),
        ({"sender": {**MARA, "id": 9}}, "not sent by its author"),
        ({"sender": None}, "not sent by its author"),
        ({"installation": None}, "installation"),
        ({"pull_request": pull(user=None)}, "nobody can be named"),
        ({"pull_request": pull(user=GHOST, labels=None)}, "nobody can be named"),
    ],
)
def test_what_asks_for_nothing_says_why(changes, reason):
    found = route(**changes)
    assert isinstance(found, Ignored)
    assert reason in found.reason


def test_reviews_of_peoples_own_work_are_none_of_ours():
    found = route(pull_request=pull(user=MARA))
    assert isinstance(found, Ignored)
    assert "bot:address" in found.reason


@pytest.mark.parametrize("labels", [[{"name": "bot:address"}], None])
def test_unless_the_label_is_on_or_the_delivery_does_not_say(labels):
    assert isinstance(route(pull_request=pull(user=MARA, labels=labels)), AddressReview)


@pytest.mark.parametrize("action", ["edited", "dismissed"])
def test_reviews_that_change_later_are_not_even_kept(action):
    """What was submitted counts; whether it was dismissed is asked when the run begins."""
    assert not handlers.is_handled("pull_request_review", action)


def test_bots_are_dropped_at_the_door():
    assert handlers.ROUTES["pull_request_review", "submitted"].people_only
