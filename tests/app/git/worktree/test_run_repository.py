"""The repository of a run: one branch is fetched and kept, and work trees are made from it."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import asynccontextmanager

import pytest

from agents.errors import RunError, ToolError, TransientError
from agents.policy import Policy
from agents.ports import SetupResult
from app.git.mirror.mirror import Mirror
from app.git.ref_names import branch_ref
from app.git.run_objects import RunObjects
from app.git.worktree.installed_dependencies import (
    CommandMounts,
    nothing_to_add_to,
    nothing_to_lend,
)
from app.git.worktree.run_repository import GitSource
from tests.app.git.conftest import BOT, TOKEN

HOSTILE = [
    "",
    "-x",
    "--upload-pack=touch hit",
    "a b",
    "a:refs/heads/main",
    "../main",
    "a..b",
    "a/../b",
    "/a",
    "a/",
    "a//b",
    "a.lock",
    "x.lock/y",
    "@{-1}",
    "a^",
    "a~1",
    "a*",
    "a?",
    "[a]",
    "a\\b",
    "a\nb",
    "a\0b",
    "half \ud83d",
    "a" * 251,
]


class Bare:
    """Installs nothing, and knows no images."""

    async def enter(self, image):
        assert image is None
        return self

    def place(self, own):
        return own

    async def set_up(self, base, policy, *, own=False):
        return SetupResult(source="nothing")

    async def find_mounts(self, base, policy):
        return CommandMounts()

    @asynccontextmanager
    async def open_addition(self, base, policy, sandbox, argv):
        async with nothing_to_add_to(base, argv) as addition:
            yield addition

    @asynccontextmanager
    async def lend_kits(self, base, sandbox, argv, kits):
        async with nothing_to_lend(argv, kits) as lent:
            yield lent

    async def forget(self):
        """Nothing is kept."""


@pytest.fixture
def make(estate):
    """Return the source of a run over an address, as a fresh process makes it."""

    def source(url=None, token=None, run_id="run-1", about=None, checkpoints=None):
        mirror, url = estate.mirror, url or estate.url

        async def fetch():
            await mirror.fetch(url, token)
            return await mirror.head_of("main")

        async def branch(name, ref):
            return await mirror.fetch_branch(url, token, name, ref)

        async def pull(number, ref):
            return await mirror.fetch_pull(url, token, number, ref)

        async def commit(oid, ref):
            await mirror.fetch_commit(url, token, oid, ref)

        async def identity():
            return BOT

        return GitSource(
            RunObjects(mirror, run_id, checkpoints),
            estate.place / "runs",
            run_id,
            sandbox=estate.sandbox,
            fetch=fetch,
            branch=branch,
            pull=pull,
            commit=commit,
            about=about,
            identity=identity,
            furnisher=Bare(),
            conceal=str,
            on_command=lambda _: None,
        )

    return source


@pytest.fixture
def source(make):
    return make()


def git(folder, *args):
    name = ["-c", "user.name=A", "-c", "user.email=a@b"]
    done = subprocess.run(["git", "-C", folder, *name, *args], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def grow(estate, branch, parent=None, subject="theirs"):
    """Put a commit on a branch upstream, out of nothing or on a parent; return it."""
    tree = git(estate.upstream, "rev-parse", f"{estate.base}^{{tree}}")
    on = ["-p", parent] if parent else []
    commit = git(estate.upstream, "commit-tree", *on, "-m", subject, tree)
    git(estate.upstream, "update-ref", f"refs/heads/{branch}", commit)
    return commit


def collect(mirror):
    """Throw away whatever no ref leads to."""
    git(mirror.gitdir, "reflog", "expire", "--expire=now", "--all")
    git(mirror.gitdir, "gc", "--quiet", "--prune=now")


# --- one branch -----------------------------------------------------------------------------------


async def test_a_branch_is_followed_until_it_is_gone(estate, source):
    assert await source.branch("bot/7-lexer") is None
    first = grow(estate, "bot/7-lexer", estate.base)
    assert await source.branch("bot/7-lexer") == first
    rewritten = grow(estate, "bot/7-lexer", estate.base, "another")
    assert await source.branch("bot/7-lexer") == rewritten
    git(estate.upstream, "update-ref", "-d", "refs/heads/bot/7-lexer")
    assert await source.branch("bot/7-lexer") is None
    assert await estate.mirror.resolve(branch_ref("run-1", "bot/7-lexer")) is None


async def test_only_that_branch_is_fetched(estate, source):
    grow(estate, "bot/7-lexer", estate.base)
    other = grow(estate, "other", estate.base, "not asked for")
    await source.branch("bot/7-lexer")
    assert not await estate.mirror.holds(other)


async def test_a_folder_of_branches_may_follow_a_branch_of_its_name(estate, source):
    grow(estate, "bot/7", estate.base)
    assert await source.branch("bot/7")
    git(estate.upstream, "update-ref", "-d", "refs/heads/bot/7")
    below = grow(estate, "bot/7/again", estate.base)
    assert await source.branch("bot/7/again") == below


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_names_are_refused_before_git_hears_of_them(make, server, name):
    source = make(f"{server.url}/upstream.git", TOKEN)
    with pytest.raises(RunError, match="cannot be the name of a branch"):
        await source.branch(name)
    assert server.seen == []


async def test_a_name_that_git_would_take_for_more_is_no_branch(estate, source):
    for name in ("HEAD", "FETCH_HEAD", "refs/heads/main", "mai", estate.base):
        assert await source.branch(name) is None


async def test_what_was_fetched_outlives_its_branch_while_the_run_lives(estate, source):
    head = grow(estate, "bot/7-lexer", estate.base)
    assert await source.branch("bot/7-lexer") == head
    git(estate.upstream, "update-ref", "-d", "refs/heads/bot/7-lexer")
    await source.fetch()
    collect(estate.mirror)
    assert await estate.mirror.holds(head)
    await source.discard(forget=True)
    collect(estate.mirror)
    assert not await estate.mirror.holds(head)


async def test_what_a_run_is_built_on_outlives_a_look_at_its_branch(estate, source):
    head = grow(estate, "bot/7-lexer", estate.base)
    await source.branch("bot/7-lexer")
    await source.open(head, Policy())
    git(estate.upstream, "update-ref", "-d", "refs/heads/bot/7-lexer")
    assert await source.branch("bot/7-lexer") is None
    collect(estate.mirror)
    assert await estate.mirror.holds(head)


async def test_over_http_the_token_opens_it_and_no_other(estate, make, server):
    head = grow(estate, "bot/7-lexer", estate.base)
    url = f"{server.url}/upstream.git"
    assert await make(url, TOKEN).branch("bot/7-lexer") == head
    assert await make(url, TOKEN).branch("bot/none") is None
    with pytest.raises(RunError, match="refused our token"):
        await make(url, "ghs_wrong").branch("bot/7-lexer")
    server.faults = [502] * 2
    with pytest.raises(TransientError):
        await make(url, TOKEN).branch("bot/7-lexer")


async def test_a_broken_mirror_is_made_anew_with_all_its_branches(estate, source):
    head = grow(estate, "bot/7-lexer", estate.base)
    shutil.rmtree(estate.mirror.objects)
    assert await source.branch("bot/7-lexer") == head
    assert await estate.mirror.head_of("main") == estate.base


# --- a pull request -------------------------------------------------------------------------------


def offer(estate, number, commit):
    """Have upstream offer the head of a pull request, as GitHub does also for those of forks."""
    git(estate.upstream, "update-ref", f"refs/pull/{number}/head", commit)


def make_orphan(estate, subject):
    """Return a commit of upstream that no branch holds, like one of a fork."""
    tree = git(estate.upstream, "rev-parse", f"{estate.base}^{{tree}}")
    return git(estate.upstream, "commit-tree", "-p", estate.base, "-m", subject, tree)


async def test_the_head_of_a_pull_request_is_followed(estate, source):
    assert await source.pull(31) is None
    first, second = make_orphan(estate, "one"), make_orphan(estate, "two")
    offer(estate, 31, first)
    assert await source.pull(31) == first
    offer(estate, 31, second)
    assert await source.pull(31) == second
    collect(estate.mirror)
    assert await estate.mirror.holds(second)
    git(estate.upstream, "update-ref", "-d", "refs/pull/31/head")
    assert await source.pull(31) is None


async def test_a_clone_has_no_pull_requests(estate, make):
    source = make()
    source._pull = None
    assert await source.pull(31) is None


async def test_what_a_run_saw_of_a_pull_request_goes_with_the_run(estate, source):
    head = make_orphan(estate, "theirs")
    offer(estate, 31, head)
    await source.pull(31)
    await source.discard(forget=True)
    collect(estate.mirror)
    assert not await estate.mirror.holds(head)


async def test_a_lost_mirror_is_fetched_again_with_the_pull_request_of_a_fork(estate, make):
    head = make_orphan(estate, "theirs")
    offer(estate, 31, head)
    assert await make(about=31).pull(31) == head
    shutil.rmtree(estate.mirror.gitdir)
    estate.mirror = Mirror(estate.mirror.gitdir, group=estate.sandbox.owner[1], allow_files=True)
    assert await make(about=31).fork_point(estate.base, head) == estate.base


async def test_work_is_replayed_on_what_somebody_pushed_meanwhile(estate, source):
    old = grow(estate, "feature", estate.base)
    await source.branch("feature")
    tree = await source.open(old, Policy())
    await tree.write("src/a.py", b"A = 10\n")
    ours = await tree.commit(await tree.snapshot(), old, "Ours")
    theirs = grow(estate, "feature", old, "theirs as well")
    assert await source.branch("feature") == theirs
    made = await source.merge(ours, theirs)
    assert made.conflicts == ()
    await tree.restore(made.tree)
    assert await tree.read("src/a.py") == b"A = 10\n"
    assert await source.message(ours) == "Ours"
    replayed = await tree.commit(made.tree, theirs, await source.message(ours))
    assert [words for _, words in await source.commits(old, replayed)] == ["theirs as well", "Ours"]
    blended = await source.overlay(theirs, replayed, ["src/a.py"])
    assert blended == made.tree
    await source.discard(forget=True)
    collect(estate.mirror)
    assert not await estate.mirror.holds(made.tree)


# --- where two branches part ----------------------------------------------------------------------


async def test_the_fork_point(estate, source):
    one = grow(estate, "bot/7-lexer", estate.base)
    two = grow(estate, "bot/7-lexer", one)
    trunk = grow(estate, "main", estate.base, "meanwhile")
    assert await source.fetch() == trunk
    head = await source.branch("bot/7-lexer")
    assert await source.fork_point(trunk, head) == estate.base
    assert await source.fork_point(one, two) == one
    assert await source.commits(estate.base, head) == [(one, "theirs"), (two, "theirs")]


async def test_histories_without_a_common_commit_are_told_in_words(estate, source):
    orphan = grow(estate, "bot/7-orphan")
    await source.branch("bot/7-orphan")
    with pytest.raises(RunError, match="no commit in common"):
        await source.fork_point(estate.base, orphan)


async def test_a_lost_mirror_is_fetched_again(estate, make):
    head = grow(estate, "bot/7-lexer", estate.base)
    await make().branch("bot/7-lexer")
    shutil.rmtree(estate.mirror.gitdir)
    estate.mirror = Mirror(estate.mirror.gitdir, group=estate.sandbox.owner[1], allow_files=True)
    assert await make().fork_point(estate.base, head) == estate.base


async def test_what_is_read_of_a_lost_mirror_is_fetched_again(estate, make):
    def lose():
        shutil.rmtree(estate.mirror.gitdir)
        group = estate.sandbox.owner[1]
        estate.mirror = Mirror(estate.mirror.gitdir, group=group, allow_files=True)
        return make()

    head = grow(estate, "main", estate.base)
    assert await lose().show(head, "src/a.py") is not None
    assert "src/a.py" in await lose().files(head)
    assert (await lose().message(head)).strip() == "theirs"
    assert await lose().commits(estate.base, head) == [(head, "theirs")]


async def test_the_files_of_a_commit_are_listed_once(estate, make):
    made = make()
    (await made.files(estate.base)).clear()
    shutil.rmtree(estate.mirror.gitdir)
    assert "src/a.py" in await made.files(estate.base)


async def test_no_file_is_told_of_a_commit_that_is_not_here(estate, make):
    """A mirror that another run fetched may be older than what this run stands on."""
    head = grow(estate, "main", estate.base)
    assert not await estate.mirror.holds(head)
    assert await make().show(head, "src/a.py") is not None


async def test_a_commit_that_is_nowhere_any_more_is_told_in_words(estate, source):
    gone = "1" * 40
    with pytest.raises(RunError, match="deleted or rewritten"):
        await source.fork_point(estate.base, gone)
    with pytest.raises(RunError, match="deleted or rewritten"):
        await source.open(gone, Policy())


# --- work on it -----------------------------------------------------------------------------------


async def test_a_work_tree_stands_on_the_branch(estate, source):
    clone = estate.place / "somebody"
    git(clone, "checkout", "-q", "-b", "bot/7-lexer")
    (clone / "src" / "lexer.py").write_text("L = 1\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Add a lexer")
    git(clone, "push", "-q", estate.upstream, "bot/7-lexer")

    head = await source.branch("bot/7-lexer")
    await source.set_up(head, Policy())
    tree = await source.open(head, Policy())

    assert await tree.read("src/lexer.py") == b"L = 1\n"
    await tree.write("src/lexer.py", b"L = 2\n")
    made = await tree.commit(await tree.snapshot(), head, "Count to two")
    commits = await source.commits(estate.base, made)
    assert [subject for _, subject in commits] == ["Add a lexer", "Count to two"]
    await tree.restore(head)
    assert await tree.read("src/lexer.py") == b"L = 1\n"
    await tree.restore(made)
    assert await tree.read("src/lexer.py") == b"L = 2\n"
    said = await tree.run(["git", "log", "-1", "--format=%s"], timeout=20)
    assert said.output == "Count to two\n"


async def test_a_folder_made_for_another_base_is_made_anew(estate, source, make):
    head = grow(estate, "bot/7-lexer", estate.base)
    tree = await source.open(estate.base, Policy())
    await tree.write("left.txt", b"x")
    await source.branch("bot/7-lexer")
    again = await make().open(head, Policy())
    with pytest.raises(ToolError, match="does not exist"):
        await again.read("left.txt")
