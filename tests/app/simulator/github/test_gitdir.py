"""A bare repository of the local GitHub: what is read from files is what git says."""

from __future__ import annotations

import pytest

from app.simulator.github.gitdir import GitDir, GitFailed, Signature

PEOPLE = (Signature("Mara", "mara@example.com", "2026-11-01T10:00:00+00:00"),) * 2
TAGGER = {"GIT_COMMITTER_NAME": "Mara", "GIT_COMMITTER_EMAIL": "mara@example.com"}


class CountedGit(GitDir):
    """Counts the processes."""

    started = 0

    async def run(self, *args, **more):
        self.started += 1
        return await super().run(*args, **more)


@pytest.fixture
async def repository(tmp_path):
    """Return a repository with two commits on its branch."""
    git = CountedGit(tmp_path)
    await git.create("main")
    first = await git.commit_files("main", None, {"a": b"1"}, "First", PEOPLE)
    await git.commit_files("main", first, {"a": b"2"}, "Second", PEOPLE)
    return git


async def list_refs(git, prefix):
    said = await git.text("for-each-ref", "--format=%(refname) %(objectname)", prefix)
    return [tuple(line.split(" ")) for line in said.splitlines()]


async def test_refs_are_those_that_git_lists(repository):
    head = await repository.resolve("main")
    for ref in ("refs/heads/a/b#c", "refs/heads/mainly", "refs/tags/v1", "refs/notes/fettle"):
        await repository.update_ref(ref, head)
    await repository.run("tag", "-a", "-m", "It is out", "v2", extra=TAGGER)
    await repository.run("pack-refs", "--all")
    await repository.update_ref("refs/heads/mainly", "0" * 40)
    await repository.update_ref("refs/heads/main", (await repository.commits(head))[1].sha)
    (repository.path / "refs/heads/b.lock").write_text(head)

    for prefix in ("refs/", "refs/heads/", "refs/pull/", "refs/tags/v1"):
        assert list((await repository.refs(prefix)).items()) == await list_refs(repository, prefix)


async def test_a_revision_is_a_branch_before_anything_else(repository):
    second, first = [commit.sha for commit in await repository.commits("main")]
    await repository.update_ref(f"refs/heads/{second}", first)

    assert await repository.resolve(second) == first
    assert await repository.resolve(first) == first
    assert await repository.resolve("refs/heads/main") == second
    assert await repository.resolve("main~1") == first
    assert await repository.resolve(second[:12]) == second
    assert await repository.resolve("nothing") is None
    assert await repository.resolve("e" * 40) is None


async def test_what_never_changes_is_asked_once_and_what_moves_each_time(repository):
    second, first = [commit.sha for commit in await repository.commits("main")]
    with pytest.raises(GitFailed):
        await repository.blob("e" * 40)
    one = await repository.diff(first, second)
    before = await repository.commits("main", limit=1)
    third = await repository.commit_files("main", second, {"a": b"3"}, "Third", PEOPLE)

    assert [commit.sha for commit in before] == [second]
    assert [commit.sha for commit in await repository.commits("main", limit=1)] == [third]
    assert await repository.entries("main", "") != await repository.entries(second, "")
    started = repository.started
    assert await repository.diff(first, second) == one
    assert repository.started == started
    assert await repository.diff(first, third) != one
    assert repository.started == started + 1
