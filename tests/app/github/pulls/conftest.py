"""What tests of publishing share: a publisher of one run, and commits to publish."""

import subprocess

import pytest

from app.github.pulls.publisher import GitHubPublisher


@pytest.fixture
def publisher(scene, mirror):
    return GitHubPublisher(scene.github, mirror, scene.request, "run-1", scene.redactor, settle=0)


@pytest.fixture
async def commits(mirror):
    """Three commits of the mirror, each on the one before; the first is the default branch's."""
    first = await mirror.head_of("main")
    second = make_commit(mirror.gitdir, first, "Step 1/2")
    return [first, second, make_commit(mirror.gitdir, second, "Step 2/2")]


def make_commit(gitdir, parent, subject):
    name = ["-c", "user.name=x", "-c", "user.email=x@x"]
    command = ["git", "-C", gitdir, *name, "commit-tree", f"{parent}^{{tree}}", "-p", parent]
    answer = subprocess.run([*command, "-m", subject], capture_output=True, check=True)
    return answer.stdout.decode().strip()
