"""Before whom a pull request is brought: labels, assignees and reviewers of the policy."""

import pytest

from agents.policy import PullRequests
from app.github.pulls.attention import NOT_ASKED
from app.github.pulls.publisher import GitHubPublisher
from tests.app.github.pulls.test_publisher import BRANCH, open_pull

TERMS = PullRequests(
    labels=("bot", "needs review"), assignees=("ada", "bob"), reviewers=("bob", "ada")
)


@pytest.fixture
def pull(scene):
    """Return the pull request as the local GitHub knows it."""

    def find():
        issues = scene.repository.issues.values()
        [found] = [each for each in issues if each.pull]
        return found

    return find


def names(accounts):
    return [each.login for each in accounts]


def remarks(pull):
    return [each.body for each in pull.comments]


async def test_labels_assignees_and_reviewers_are_as_named(scene, publisher, commits, pull):
    await open_pull(publisher, commits, terms=TERMS)
    assert [each.name for each in pull().labels] == ["bot", "needs review"]
    assert names(pull().assignees) == ["ada", "bob"]
    assert names(pull().pull.requested) == ["bob", "ada"]
    assert remarks(pull()) == []

    before = len(scene.server.requests)
    await open_pull(publisher, commits, terms=TERMS)
    sent = [each.path for each in scene.server.requests[before:] if each.method == "POST"]
    assert not [path for path in sent if "labels" in path or "assign" in path or "review" in path]


async def test_without_a_word_in_the_policy_nobody_is_asked(scene, publisher, commits, pull):
    await open_pull(publisher, commits)
    assert (pull().labels, pull().assignees, pull().pull.requested) == ([], [], [])
    paths = [each.path for each in scene.server.requests if each.method == "POST"]
    assert not [path for path in paths if path.endswith(("labels", "assignees", "reviewers"))]


async def test_of_a_draft_nobody_is_asked_for_a_review_until_it_is_ready(
    scene, publisher, mirror, commits, pull
):
    await open_pull(publisher, commits, draft=True, terms=TERMS)
    assert names(pull().assignees) == ["ada", "bob"]
    assert names(pull().pull.requested) == []

    later = GitHubPublisher(scene.github, mirror, scene.request, "run-2", scene.redactor, settle=0)
    pull().labels.clear()
    await open_pull(later, commits, terms=TERMS)
    assert names(pull().pull.requested) == ["bob", "ada"]
    assert pull().labels == [], "somebody took them off"


async def test_what_people_changed_later_runs_leave(scene, publisher, mirror, commits, pull):
    await open_pull(publisher, commits, terms=TERMS)
    pull().assignees.clear()
    pull().pull.requested.clear()
    later = GitHubPublisher(scene.github, mirror, scene.request, "run-2", scene.redactor, settle=0)
    await open_pull(later, commits, title="Another", terms=TERMS)
    assert (pull().assignees, pull().pull.requested) == ([], [])


async def test_whom_github_does_not_take_is_named_once_and_the_others_are_asked(
    publisher, commits, pull
):
    terms = PullRequests(assignees=("nobody", "ada"), reviewers=("bob", "ghost", "octo/core"))
    await open_pull(publisher, commits, terms=terms)
    await open_pull(publisher, commits, terms=terms)
    assert names(pull().assignees) == ["ada"]
    assert names(pull().pull.requested) == ["bob"]
    [said] = remarks(pull())
    assert NOT_ASKED.partition("{")[0].strip() in said
    for line in (
        "- `nobody` could not be assigned.",
        "- `ghost` could not be asked for a review.",
        "- `octo/core` could not be asked for a review.",
    ):
        assert line in said
    assert "`ada`" not in said


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_where_github_refuses_it_the_pull_request_stands(
    scene, publisher, commits, pull, status
):
    for path in ("labels", "assignees", "requested_reviewers"):
        scene.server.faults.status("POST", path, status, times=9)
    opened = await open_pull(publisher, commits, terms=TERMS)
    assert opened.branch == BRANCH
    [said] = remarks(pull())
    assert said.count("\n- ") == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"labels": ["a,b"]},
        {"labels": [" "]},
        {"assignees": ["octo/core"]},
        {"reviewers": ["octo/core/x"]},
        {"reviewers": ["@ada"]},
        {"reviewers": ["a"] * 16},
    ],
)
def test_what_can_be_no_name_is_refused(wrong):
    with pytest.raises(ValueError, match="validation error"):
        PullRequests(**wrong)
