"""A mirror begins with what a clone has: that is not loaded again, and nothing else gets in."""

import os
import subprocess

import pytest

from app.git.mirror.mirror import Mirror
from app.git.seed_from_clone import LENT, seed
from app.git.user_clone import UserClone
from tests.app.clone.test_resolve import make_hostile
from tests.app.git.conftest import git, make_repository, write_files

LARGE = "a text that is only once in the history\n" * 4_000


class Estate:
    """GitHub as a folder, a person's clone of it, and the mirror that is not there yet."""

    def __init__(self, place):
        self.place = place
        self.upstream, self.clone = place / "upstream", place / "clone"
        make_repository(self.upstream, {"large.txt": LARGE, "a.py": "A = 1\n"})
        git(place, "clone", "-q", f"file://{self.upstream}", str(self.clone))
        write_files(self.upstream, {"a.py": "A = 2\n"})
        git(self.upstream, "commit", "-qam", "second")
        self.mirror = Mirror(place / "mirrors" / "7.git", allow_files=True)

    @property
    def url(self):
        return f"file://{self.upstream}"

    async def seed(self, remote="origin"):
        return await seed(self.mirror, UserClone(self.clone), remote, self.url, None)

    def lose(self, path):
        """Take a file's object away from GitHub, so that only who has it already can go on."""
        oid = git(self.upstream, "rev-parse", f"HEAD:{path}")
        (self.upstream / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        return oid


@pytest.fixture
def estate(place):
    return Estate(place)


def commit_here(clone, files, subject="mine"):
    write_files(clone, files)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", subject)
    return git(clone, "rev-parse", "HEAD")


async def test_what_the_clone_has_is_not_loaded_again(estate):
    newest = git(estate.upstream, "rev-parse", "HEAD")
    estate.lose("large.txt")

    assert await estate.seed()

    assert await estate.mirror.head_of("main") == newest
    assert await estate.mirror.show(newest, "large.txt") == LARGE.encode()
    assert await estate.mirror.show(newest, "a.py") == b"A = 2\n"
    assert not list(estate.mirror.gitdir.parent.glob("lent-*.git"))


async def test_nothing_that_was_only_made_here_gets_into_the_mirror(estate):
    mine = commit_here(estate.clone, {"notes.txt": "what nobody has seen yet\n"})
    planted = commit_here(estate.clone, {"planted.txt": "of another repository\n"})
    git(estate.clone, "update-ref", "refs/remotes/origin/planted", planted)

    assert await estate.seed()

    for oid in (mine, planted, git(estate.clone, "rev-parse", "HEAD:planted.txt")):
        assert not await estate.mirror.holds(oid)
    assert await estate.mirror.resolve("refs/remotes/origin/planted") is None
    assert not await estate.mirror.git.local("for-each-ref", LENT)


async def test_objects_borrowed_from_another_repository_stay_there(estate):
    secret = make_repository(estate.place / "private", {"secret.txt": "the private one's\n"})
    alternates = estate.clone / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{estate.place}/private/.git/objects\n")
    git(estate.clone, "update-ref", "refs/remotes/origin/main", secret)

    await estate.seed()

    assert not await estate.mirror.has_branches() or not await estate.mirror.holds(secret)
    await estate.mirror.fetch(estate.url, None)
    assert not await estate.mirror.holds(secret)


async def test_nothing_in_the_clone_runs_and_nothing_in_it_changes(estate):
    marker = estate.place / "marker"
    make_hostile(estate.clone, marker)
    before = sorted(
        (str(path), path.lstat().st_mtime_ns) for path in estate.clone.rglob("*") if path.is_file()
    )

    assert await estate.seed()

    after = sorted(
        (str(path), path.lstat().st_mtime_ns) for path in estate.clone.rglob("*") if path.is_file()
    )
    assert not marker.exists(), marker.read_text()
    assert after == before


async def test_a_mirror_that_is_there_is_left_alone(estate):
    await estate.mirror.fetch(estate.url, None)
    before = estate.mirror.gitdir.stat().st_ino
    assert not await estate.seed()
    assert estate.mirror.gitdir.stat().st_ino == before


@pytest.mark.parametrize("how", ["shallow", "broken", "no such remote", "trap", "gone"])
async def test_a_clone_of_no_use_costs_nothing(estate, how):
    gitdir = estate.clone / ".git"
    if how == "shallow":
        subprocess.run(["rm", "-rf", estate.clone], check=True)
        git(estate.place, "clone", "-q", "--depth=1", estate.url, str(estate.clone))
    elif how == "broken":
        for each in (*gitdir.glob("objects/pack/*.pack"), *gitdir.glob("objects/??/*")):
            each.chmod(0o644)
            each.write_bytes(b"nothing of git's")
    elif how == "trap":
        os.mkfifo(gitdir / "shallow")
    elif how == "gone":
        subprocess.run(["rm", "-rf", gitdir / "objects"], check=True)
    remote = "elsewhere" if how == "no such remote" else "origin"

    assert not await estate.seed(remote)

    await estate.mirror.fetch(estate.url, None)
    assert await estate.mirror.head_of("main") == git(estate.upstream, "rev-parse", "HEAD")
    assert not (estate.mirror.gitdir / "shallow").exists()
    assert not list(estate.mirror.gitdir.parent.glob("lent-*.git"))
