"""The `check_suite` handler: which failed checks are those of a pull request's head."""

from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

import handlers
from agents.requests import FixChecks, Repository
from handlers.ignored import Ignored
from handlers.notifications import Suspicion

HEAD = "a" * 40


def reference(number=31, repository=99, sha=HEAD):
    base = {"ref": "main", "sha": "b" * 40, "repo": {"id": repository, "name": "hello"}}
    head = {"ref": "bot/9-fix", "sha": sha, "repo": {"id": repository, "name": "hello"}}
    return {"id": 5, "number": number, "url": "https://x.example/1", "base": base, "head": head}


SUITE = {
    "id": 3,
    "head_sha": HEAD,
    "head_branch": "bot/9-fix",
    "status": "completed",
    "conclusion": "failure",
    "pull_requests": [reference()],
    "app": {"id": 15368, "slug": "github-actions"},
}
PAYLOAD = {
    "action": "completed",
    "check_suite": SUITE,
    "repository": {
        "id": 99,
        "name": "hello",
        "owner": {"login": "octo"},
        "default_branch": "main",
        "html_url": "https://github.com/octo/hello",
    },
    "sender": {"login": "fettle[bot]", "id": 31, "type": "Bot"},
    "installation": {"id": 4242},
}


def route(**changes):
    return handlers.route("check_suite", {**copy.deepcopy(PAYLOAD), **changes})


def suite(**changes):
    return {**SUITE, **changes}


def test_failed_checks_on_the_head_of_a_pull_request_ask_to_be_mended():
    found = route()
    assert isinstance(found, FixChecks)
    assert found.repository == Repository(id=99, owner="octo", name="hello", default_branch="main")
    assert (found.number, found.head, found.branch, found.via) == (31, HEAD, "bot/9-fix", "checks")
    assert (found.installation_id, found.asked_by.id, found.author.id) == (4242, 0, 0)
    assert found.url == "https://github.com/octo/hello/pull/31"
    assert found.title == "Failed checks on aaaaaaa"


@pytest.mark.parametrize("conclusion", ["timed_out", "startup_failure"])
def test_there_is_more_than_one_way_to_fail(conclusion):
    assert isinstance(route(check_suite=suite(conclusion=conclusion)), FixChecks)


@pytest.mark.parametrize(
    "conclusion",
    ["success", "neutral", "skipped", "cancelled", "action_required", "stale", None],
)
def test_what_no_change_mends_asks_for_nothing(conclusion):
    found = route(check_suite=suite(conclusion=conclusion))
    assert isinstance(found, Ignored)
    assert "not failed" in found.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"pull_requests": []},  # of a fork, or of none
        {"pull_requests": [reference(repository=100)]},
        {"pull_requests": [reference(sha="c" * 40)]},  # it has gone on
        {"pull_requests": [{**reference(), "head": None}]},
        {"head_branch": None},
    ],
)
def test_what_is_no_head_of_ours_asks_for_nothing(changes):
    found = route(check_suite=suite(**changes))
    assert isinstance(found, Ignored)
    assert "not the head" in found.reason


def test_a_pull_request_of_another_repository_on_the_same_commit_is_not_meant():
    """Somebody's fork may have one of any number; GitHub names it first."""
    spoofed = [reference(number=1, repository=100), reference(number=31), reference(number=40)]
    assert route(check_suite=suite(pull_requests=spoofed)).number == 31


def test_an_installation_has_to_be_named():
    assert isinstance(route(installation=None), Ignored)


@pytest.mark.parametrize("sha", ["", "main", "a" * 39, "A" * 40, f"{HEAD}\n", "../x"])
def test_commits_are_commits(sha):
    with pytest.raises(ValidationError):
        route(check_suite=suite(head_sha=sha))


def test_it_counts_whoever_pushed_the_commit():
    route = handlers.ROUTES["check_suite", "completed"]
    assert route.ours_too
    assert not route.people_only


def test_checks_that_fail_on_the_default_branch_raise_a_suspicion():
    found = route(check_suite=SUITE | {"head_branch": "main", "pull_requests": []})
    assert isinstance(found, Suspicion)
    assert (found.branch, found.head, found.named) == ("main", HEAD, ())
    other = route(check_suite=SUITE | {"head_branch": "release", "pull_requests": []})
    assert isinstance(other, Ignored)
