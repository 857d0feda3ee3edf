"""What nobody could change since it was put back or taken is neither put back nor taken again."""

from __future__ import annotations

import dataclasses

import pytest


class Counting:
    """A sandbox that counts what runs in it."""

    def __init__(self, inner):
        self._inner, self.started = inner, 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def run(self, command):
        self.started += 1
        return await self._inner.run(command)


@pytest.fixture
def counted(estate):
    return dataclasses.replace(estate, sandbox=Counting(estate.sandbox))


async def test_files_are_put_back_and_taken_once(counted):
    tree = await counted.open()
    started = counted.sandbox.started
    await tree.restore(counted.base)
    await tree.restore(counted.base, pristine=True)
    assert counted.sandbox.started == started, "they were checked out a moment ago"

    assert await tree.snapshot() == await counted.mirror.tree_of(counted.base)
    assert counted.sandbox.started == started

    await tree.write("src/a.py", b"2\n")
    taken = await tree.snapshot()
    assert await tree.snapshot() == taken
    await tree.restore(taken)
    assert counted.sandbox.started == started + 1, "they are what was taken a moment ago"
    assert await tree.read("src/a.py") == b"2\n"


async def test_what_was_put_back_after_it_was_taken_is_not_taken_again(counted):
    tree = await counted.open()
    await tree.write("src/a.py", b"2\n")
    taken = await tree.snapshot()
    await tree.restore(counted.base)
    await tree.restore(taken)
    started = counted.sandbox.started
    assert await tree.snapshot() == taken
    assert counted.sandbox.started == started


@pytest.mark.parametrize("by_command", [True, False])
async def test_after_anything_was_written_they_are(counted, by_command):
    tree = await counted.open()
    before = await tree.snapshot()
    if by_command:
        await tree.run(["bash", "-c", "echo 2 >src/a.py"], timeout=20)
    else:
        await tree.write("src/a.py", b"2\n")
    assert await tree.snapshot() != before
    await tree.restore(counted.base)
    assert await tree.read("src/a.py") == b"A = 1\n"
    assert await tree.snapshot() == before


async def test_what_a_command_that_only_reads_left_at_home_goes_with_the_next_scrub(counted):
    tree = await counted.open()
    await tree.run(["bash", "-c", "touch ~/left"], timeout=20, writable=False)
    started = counted.sandbox.started
    await tree.restore(counted.base)
    assert counted.sandbox.started == started, "the files are as they were"
    await tree.restore(counted.base, pristine=True)
    listed = await tree.run(["bash", "-c", "ls ~"], timeout=20, writable=False)
    assert "left" not in listed.output


async def test_git_is_asked_once_what_lies_in_a_commit(estate, monkeypatch):
    mirror, base = estate.mirror, estate.base
    first = (await mirror.paths(base), await mirror.blobs(base), await mirror.links(base))
    refs = await mirror.paths("refs/remotes/origin/main")

    monkeypatch.setattr(mirror, "git", dataclasses.replace(mirror.git, gitdir=estate.place / "no"))
    assert (await mirror.paths(base), await mirror.blobs(base), await mirror.links(base)) == first
    assert refs == first[0]
    with pytest.raises(Exception, match="not a git repository"):
        await mirror.paths("refs/remotes/origin/main")  # a ref may have moved
