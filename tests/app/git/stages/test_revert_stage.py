"""The revert pipeline over real git: after each kind of merge, and where it cannot be done."""

from __future__ import annotations

import pytest

from tests.app.git.conftest import git
from tests.app.git.stages.conftest import RUN, EstatePublisher, run_pipeline
from tests.app.git.stages.test_update_stage import Somebody, tip_of
from tests.fakes.model import ListModel
from tests.fakes.requests import build_revert_change

FILES = {
    ".github/fettle.yml": (
        "quality: [{name: unit, run: 'sh check.sh'}]\nprotected_paths: [kept/**]\n"
    ),
    "kept/price.txt": "1\n",
    ".github/workflows/ci.yml": "on: push\n",
    "check.sh": "! grep -r BROKEN src\n",
    "src/a.txt": "one\ntwo\nthree\n",
    "src/b.txt": "b\n",
}
BRANCH = "bot/31-change"
NUMBER = 31


@pytest.fixture
def somebody(estate):
    person = Somebody(estate)
    person.commits("main", FILES, "Set up")
    return person


@pytest.fixture
def change(estate, somebody):
    """Two commits of Fettle's pull request, which change a file, add one, and take one away."""
    somebody.commits(BRANCH, {"src/a.txt": "one\nTWO\nthree\n"}, "First", "main")
    git(somebody.folder, "rm", "-q", "src/b.txt")
    head = somebody.commits(BRANCH, {"src/new.txt": "new\n"}, "Second")
    git(estate.upstream, "update-ref", f"refs/pull/{NUMBER}/head", head)
    return head


class Merging:
    """The buttons of GitHub that merge, by name; each returns the commit that it made."""

    def __init__(self, somebody):
        self.somebody = somebody

    def __call__(self, how, head):
        folder = self.somebody.folder
        other = self.somebody.commits("main", {"other.txt": "o\n"}, "Meanwhile", "main")
        git(folder, "checkout", "-q", "main")
        if how == "merge":
            git(folder, "merge", "-q", "--no-ff", "-m", "Merge pull request #31", head)
        elif how == "squash":
            git(folder, "merge", "-q", "--squash", head)
            git(folder, "commit", "-q", "-m", "Change things (#31)\n\n* First\n\n* Second")
        else:
            git(folder, "checkout", "-q", "-B", "rebased", head)
            git(folder, "rebase", "-q", other)
            git(folder, "checkout", "-q", "-B", "main", "rebased")
        git(folder, "push", "-q", str(self.somebody.estate.upstream), "main")
        return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def revert(estate, make):
    async def run(merged, **more):
        request = build_revert_change(merged=merged, **more)
        publisher = EstatePublisher(estate=estate)
        outcome = await run_pipeline(
            request, model=ListModel([]), source=make(run_id=RUN), publisher=publisher
        )
        return outcome, publisher

    return run


def files_of(estate, commit):
    listed = git(estate.mirror.gitdir, "ls-tree", "-r", commit).splitlines()
    return dict(line.split("\t")[::-1] for line in listed)


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
async def test_all_of_it_is_taken_back_and_what_came_after_stays(
    estate, somebody, change, revert, how
):
    before = tip_of(estate, "main")
    merged = Merging(somebody)(how, change)
    somebody.commits("main", {"src/c.txt": "later\n"}, "Later", "main")

    outcome, publisher = await revert(merged)

    assert outcome.kind == "pull_request", outcome.text
    [pull] = publisher.opened
    now, then = files_of(estate, pull.head), files_of(estate, before)
    assert {path for path in now if now[path] != then.get(path)} == {"other.txt", "src/c.txt"}
    assert then.keys() <= now.keys()
    assert not pull.draft
    assert pull.title == 'Revert "Change things"'
    assert pull.body.startswith("Takes back #31, as @mara asked: `main` becomes as it was at ")
    assert "3 files changed back" in pull.body
    assert "| `unit` | passed | passed |" in pull.body
    assert publisher.comments["revert"].startswith("#2 takes this back.")
    message = git(estate.mirror.gitdir, "log", "-1", "--format=%B", pull.head)
    assert f"This takes back #31, which was merged as {merged}." in message
    assert "Fettle-Run: 0006-run" in message


async def merge_more(estate, somebody, files):
    """Merge the pull request with what people have put there."""
    head = somebody.commits(BRANCH, files, "By hand")
    git(estate.upstream, "update-ref", f"refs/pull/{NUMBER}/head", head)
    return Merging(somebody)("merge", head)


async def test_a_protected_file_becomes_as_it_was(estate, somebody, change, revert):
    outcome, publisher = await revert(await merge_more(estate, somebody, {"kept/price.txt": "2\n"}))

    assert outcome.kind == "pull_request", outcome.text
    [pull] = publisher.opened
    assert git(estate.mirror.gitdir, "show", f"{pull.head}:kept/price.txt") == "1"


async def test_a_workflow_is_left_to_people(estate, somebody, change, revert):
    workflow = {".github/workflows/ci.yml": "on: pull_request\n"}
    outcome, publisher = await revert(await merge_more(estate, somebody, workflow))

    assert outcome.kind == "failed"
    assert "no policy and no approval opens that to a run" in outcome.text
    assert not publisher.opened


async def test_what_breaks_without_it_makes_a_draft(estate, somebody, change, revert):
    merged = Merging(somebody)("merge", change)
    somebody.commits(
        "main", {"check.sh": "test -e src/new.txt\n"}, "Later work builds on it", "main"
    )

    outcome, publisher = await revert(merged)

    assert outcome.kind == "pull_request"
    assert not outcome.ready
    assert publisher.opened[0].draft
    assert "It is a draft" in publisher.comments["revert"]


async def test_what_was_changed_since_in_the_same_places_is_left_to_people(
    estate, somebody, change, revert
):
    merged = Merging(somebody)("merge", change)
    somebody.commits("main", {"src/a.txt": "one\nTWO and more\nthree\n"}, "Later", "main")

    outcome, publisher = await revert(merged)

    assert outcome.kind == "comment"
    assert not publisher.opened
    told = publisher.comments["revert"]
    assert "- `src/a.txt`" in told
    assert f"`git revert -m 1 {merged[:12]}`" in told


async def test_what_is_taken_back_already_is_not_taken_back_again(estate, somebody, change, revert):
    merged = Merging(somebody)("merge", change)
    git(somebody.folder, "revert", "--no-edit", "-m", "1", merged)
    git(somebody.folder, "push", "-q", str(estate.upstream), "main")

    outcome, publisher = await revert(merged)

    assert outcome.kind == "comment"
    assert publisher.comments["revert"].startswith("There is nothing to take back: `main` has")


async def test_a_branch_that_was_rewritten_or_is_gone_is_said(estate, somebody, change, revert):
    merged = Merging(somebody)("merge", change)
    git(somebody.folder, "push", "-q", "-f", str(estate.upstream), f"{merged}~1:refs/heads/main")

    outcome, publisher = await revert(merged)
    assert outcome.kind == "comment"
    assert f"{merged[:12]}, which its merge made, is not in `main`" in publisher.comments["revert"]

    outcome, publisher = await revert(merged, base_branch="release")
    assert "is not in `release` any more" in publisher.comments["revert"]


async def test_where_its_commits_are_gone_nobody_guesses(estate, somebody, change, revert):
    merged = Merging(somebody)("rebase", change)
    git(estate.upstream, "update-ref", "-d", f"refs/pull/{NUMBER}/head")

    outcome, publisher = await revert(merged)

    assert outcome.kind == "comment"
    assert "nobody can tell which commits in `main` are its" in publisher.comments["revert"]
