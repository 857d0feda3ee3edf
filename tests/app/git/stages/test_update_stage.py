"""The update pipeline over real git: two parents, real marks, what the base brings, a race."""

from __future__ import annotations

import pytest

from agents.ports import PullSnapshot
from tests.app.git.conftest import git, write_files
from tests.app.git.stages.conftest import RUN, EstatePublisher, run_pipeline
from tests.fakes.model import ListModel, use
from tests.fakes.people import MemoryApprovals
from tests.fakes.pull_requests import MemoryReviewing
from tests.fakes.requests import build_update_branch

BRANCH = "bot/31-add"
FILES = {
    ".github/fettle.yml": "quality: [{name: unit, run: 'sh check.sh'}]\n",
    ".github/workflows/ci.yml": "on: push\n",
    "check.sh": "! grep -r '<<<<<<<\\|BROKEN' src\n",
    "src/a.txt": "one\ntwo\nthree\n",
}
SETTLED = "one\nours and theirs\nthree\n"


class Reviewing(MemoryReviewing):
    """Its pull request is where the repository's branch is."""

    async def pull(self):
        return self.is_now.model_copy(update={"head": tip_of(self.estate, BRANCH)})


def tip_of(estate, branch):
    return git(estate.upstream, "rev-parse", f"refs/heads/{branch}")


class Somebody:
    """Somebody with a clone."""

    def __init__(self, estate):
        self.estate, self.folder = estate, estate.place / "somebody"

    def commits(self, branch, files, words="By hand", start=None):
        git(self.folder, "checkout", "-q", "-B", branch, start or "HEAD")
        write_files(self.folder, files)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", words)
        git(self.folder, "push", "-q", str(self.estate.upstream), branch)
        return git(self.folder, "rev-parse", "HEAD")


@pytest.fixture
def somebody(estate):
    person = Somebody(estate)
    person.commits("main", FILES, "Set up")
    return person


@pytest.fixture
def update(estate, make):
    async def run(answers, before=lambda: None):
        request = build_update_branch()
        pull = PullSnapshot(
            number=31,
            title="Add",
            body="",
            state="open",
            draft=False,
            own=True,
            author_may_write=True,
            branch=BRANCH,
            head="",
            base="main",
            conflicts=True,
            foreign=False,
        )
        reviewing = Reviewing(pull)
        reviewing.estate = estate
        publisher = EstatePublisher(estate=estate, before=before)
        outcome = await run_pipeline(
            request,
            model=ListModel(list(answers)),
            source=make(run_id=RUN),
            publisher=publisher,
            approvals=MemoryApprovals(),
            reviewing=reviewing,
        )
        return outcome, publisher

    return run


def settle():
    told = [{"path": "src/a.txt", "how": "Both wanted the second line."}]
    done = {"settled": told, "besides": [], "undecided": [], "summary": "Both changed a line."}
    return [
        [use("read", path="src/a.txt"), use("bash", command="sh check.sh", timeout=30)],
        [use("submit_resolution", **done)],  # sent back: the marks are still there
        [use("write", path="src/a.txt", content=SETTLED)],
        [use("submit_resolution", **done)],
    ]


def commit_contradiction(somebody):
    ours = somebody.commits(BRANCH, {"src/a.txt": "one\nours\nthree\n"}, "Ours", "main")
    theirs = somebody.commits(
        "main",
        {
            "src/a.txt": "one\ntheirs\nthree\n",
            ".github/workflows/ci.yml": "on: [push, pull_request]\n",
            "AGENTS.md": "Be kind.\n",
        },
        "Theirs",
        "main",
    )
    return ours, theirs


async def test_a_contradiction_is_settled_into_one_commit_with_two_parents(
    estate, somebody, update
):
    ours, theirs = commit_contradiction(somebody)

    outcome, publisher = await update(settle())

    assert outcome.kind == "comment", outcome.text
    head = tip_of(estate, BRANCH)
    assert git(estate.upstream, "log", "-1", "--format=%P", head).split() == [ours, theirs]
    assert git(estate.upstream, "show", f"{head}:src/a.txt") == SETTLED.strip()
    changed = git(estate.upstream, "diff", "--name-only", theirs, head).split()
    assert changed == ["src/a.txt"], "what the base brings stands there as it does in the base"
    message = git(estate.upstream, "log", "-1", "--format=%B", head)
    assert message.startswith(f"Merge `main` into `{BRANCH}`\n\nBoth changed a line.")
    assert "| `unit` | passed | passed | passed |" in publisher.comments["update"]


async def test_what_is_pushed_meanwhile_comes_first_and_the_merge_stays_one(
    estate, somebody, update
):
    ours, theirs = commit_contradiction(somebody)
    hands = []

    def push_by_hand():
        if not hands:
            hands.append(somebody.commits(BRANCH, {"hand.txt": "by hand\n"}, "By hand", ours))

    outcome, _ = await update(settle(), push_by_hand)

    assert outcome.kind == "comment", outcome.text
    head = tip_of(estate, BRANCH)
    assert git(estate.upstream, "log", "-1", "--format=%P", head).split() == [*hands, theirs]
    assert git(estate.upstream, "show", f"{head}:src/a.txt") == SETTLED.strip()
    assert git(estate.upstream, "show", f"{head}:hand.txt") == "by hand"


async def test_a_rename_on_the_one_side_is_carried_over_by_git_alone(estate, somebody, update):
    somebody.commits(BRANCH, {"src/a.txt": "one\ntwo\nthree\nours\n"}, "Ours", "main")
    git(somebody.folder, "checkout", "-q", "main")
    git(somebody.folder, "mv", "src/a.txt", "src/b.txt")
    somebody.commits("main", {"src/c.txt": "new\n"}, "Theirs", "main")

    outcome, _ = await update([])

    assert outcome.kind == "comment", outcome.text
    files = git(estate.upstream, "ls-tree", "-r", "--name-only", BRANCH, "src/").split()
    assert [name for name in files if name.endswith("txt")] == ["src/b.txt", "src/c.txt"]
    assert git(estate.upstream, "show", f"{BRANCH}:src/b.txt") == "one\ntwo\nthree\nours"
