"""A person's own clone: read from, given one new branch, otherwise left exactly as it was."""

import hashlib
import os
import subprocess

import pytest

from agents.errors import ConfigError, RunError
from app.git.mirror.mirror import Mirror
from app.git.ref_names import branch_ref
from app.git.user_clone import UserClone


def git(folder, *args, check=True):
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", *args],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


def fingerprint(folder):
    """Return what must not change: every file but new objects, the new branch and its log."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and "objects/" not in name and "/bot/" not in name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture
def person(estate):
    """A clone with everything that could go wrong: hooks, drivers, staged and unstaged work."""
    clone = estate.place / "person"
    git(estate.place, "clone", "-q", str(estate.upstream), str(clone))
    hit = f"touch {estate.place}/hit"
    for hook in ("reference-transaction", "post-checkout", "post-index-change", "pre-commit"):
        path = clone / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\n{hit}\n")
        path.chmod(0o755)
    for key, value in {
        "core.fsmonitor": f"{hit}; false",
        "core.sshCommand": hit,
        "core.alternateRefsCommand": f"{hit}; true",
        "uploadpack.packObjectsHook": hit,
        "filter.evil.clean": f"{hit}; cat",
        "diff.external": hit,
        "core.pager": f"{hit}; cat",
    }.items():
        git(clone, "config", key, value)
    (clone / ".gitattributes").write_text("* filter=evil\n")
    (clone / "src" / "a.py").write_text("A = 'unsaved work'\n")
    (estate.place / "hit").unlink(missing_ok=True)
    return clone


@pytest.fixture
def mirror(estate):
    return Mirror(estate.place / "mirrors" / "local.git", group=estate.sandbox.owner[1])


async def test_a_run_from_clone_to_branch(estate, person, mirror):
    before = fingerprint(person)
    clone = UserClone(person / "src")
    head = await clone.head()
    assert (head.commit, head.branch) == (estate.base, "main")
    estate.mirror = mirror
    base = await clone.bring(mirror)
    assert base == estate.base
    assert await clone.bring(mirror) == base

    tree = await estate.open(base=base)
    assert await tree.read("src/a.py") == b"A = 1\n"
    await tree.write("src/b.py", b"B = 3\n")
    commit = await tree.commit(await tree.snapshot(), base, "Step 1/1: b")
    await clone.deliver(mirror, commit, "bot/issue-1")
    await clone.deliver(mirror, commit, "bot/issue-1")

    assert fingerprint(person) == before
    assert not (estate.place / "hit").exists()
    assert git(person, "rev-parse", "refs/heads/bot/issue-1") == commit
    assert git(person, "show", "bot/issue-1:src/b.py") == "B = 3"
    git(person, "-c", "core.fsmonitor=false", "fsck", "--strict")
    assert (person / "src" / "a.py").read_text() == "A = 'unsaved work'\n"


async def test_a_branch_of_somebody_is_left_alone(estate, person, mirror):
    git(person, "-c", "core.hooksPath=/dev/null", "branch", "bot/issue-1")
    clone = UserClone(person)
    base = await clone.bring(mirror)
    estate.mirror = mirror
    tree = await estate.open(base=base)
    await tree.write("f", b"1")
    commit = await tree.commit(await tree.snapshot(), base, "m")
    with pytest.raises(RunError, match="is there already"):
        await clone.deliver(mirror, commit, "bot/issue-1")
    with pytest.raises(RunError, match="Nothing was pushed"):
        await clone.deliver(mirror, commit, "main")
    assert git(person, "rev-parse", "refs/heads/bot/issue-1") == base


@pytest.fixture
def old(person):
    """Their clone with a history like that of old projects: harmless, and refused by default."""

    def make(kind, raw):
        made = ("hash-object", "-t", kind, "-w", "--literally", "--stdin")
        return (
            subprocess.run(["git", "-C", person, *made], input=raw, capture_output=True, check=True)
            .stdout.decode()
            .strip()
        )

    blob = git(person, "rev-parse", "HEAD:README.md")
    inner = make("tree", b"100644 README.md\0" + bytes.fromhex(blob))
    padded = make("tree", b"040000 docs\0" + bytes.fromhex(inner))
    who = "Somebody <> 1200000000 +51800"
    first = make("commit", f"tree {padded}\nauthor {who}\ncommitter {who}\n\nold\n".encode())
    tree = git(person, "rev-parse", "HEAD^{tree}")
    new = git(person, "commit-tree", "-p", first, "-m", "new", tree)
    git(person, "reset", "-q", "--soft", new)
    return person, first


async def test_the_histories_of_old_projects_are_taken_by_every_way(old, mirror, estate):
    person, first = old
    clone = UserClone(person)

    head = await clone.bring(mirror)
    assert await mirror.show(first, "docs/README.md") == await mirror.show(head, "README.md")
    await clone.deliver(mirror, first, "bot/1-old")
    assert git(person, "rev-parse", "bot/1-old") == first
    await estate.mirror.fetch(f"file://{person}/.git", None)
    assert await estate.mirror.show(first, "docs/README.md")


@pytest.fixture
def partial(estate):
    """Return how to clone without the files that are not checked out."""
    git(estate.upstream, "config", "uploadpack.allowFilter", "true")
    git(estate.upstream, "config", "uploadpack.allowAnySHA1InWant", "true")
    grown = estate.place / "grown"
    git(estate.place, "clone", "-q", str(estate.upstream), str(grown))
    (grown / "README.md").write_text("# Another\n")
    git(grown, "commit", "-qam", "another")
    git(grown, "push", "-q", "origin", "HEAD")

    def clone(*how):
        source = f"file://{estate.upstream}"
        git(estate.place, "clone", "-q", "--filter=blob:none", *how, source, "partial")
        return estate.place / "partial"

    return clone


async def test_a_partial_clone_is_taken_without_the_history_that_it_lacks(partial, mirror, estate):
    person = partial()
    clone = UserClone(person)
    base = await clone.bring(mirror)
    assert await mirror.show(base, "README.md") == b"# Another\n"
    assert not await clone.lend(mirror, "origin", "refs/lent")
    estate.mirror = mirror
    tree = await estate.open(base=base)
    await tree.write("src/b.py", b"B = 3\n")
    commit = await tree.commit(await tree.snapshot(), base, "b")
    await clone.deliver(mirror, commit, "bot/issue-1")
    assert git(person, "show", "bot/issue-1:src/b.py") == "B = 3"
    assert git(person, "rev-parse", "bot/issue-1~2") == estate.base


async def test_one_that_lacks_files_of_its_commit_is_to_be_completed(partial, mirror):
    person = partial("--sparse")
    with pytest.raises(RunError, match="`git fetch --refetch --no-filter`, then try again"):
        await UserClone(person).bring(mirror)
    git(person, "fetch", "-q", "--refetch", "--no-filter")
    base = await UserClone(person).bring(mirror)
    assert await mirror.show(base, "src/a.py") == b"A = 1\n"


async def test_new_commits_are_brought_as_well(estate, person, mirror):
    await UserClone(person).bring(mirror)
    (person / "more").write_text("more")
    hookless = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    git(person, *hookless, "add", "more")
    git(person, *hookless, "commit", "-qm", "more")
    commit = await UserClone(person).bring(mirror)
    assert commit == git(person, "rev-parse", "HEAD")
    assert await mirror.show(commit, "more") == b"more"
    assert await mirror.show(commit, "README.md") == b"# Sample\n"


async def test_a_branch_of_the_clone_is_brought_and_the_clone_stays_as_it_is(
    estate, person, mirror
):
    hookless = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    git(person, *hookless, "branch", "bot/7-lexer")
    git(person, *hookless, "commit", "-qm", "on main alone", "--allow-empty")
    (estate.place / "hit").unlink(missing_ok=True)
    before, clone = fingerprint(person), UserClone(person)
    ref = branch_ref("run-1", "bot/7-lexer")

    assert await clone.bring_branch(mirror, "bot/7-lexer", ref) == estate.base
    assert await clone.bring_branch(mirror, "bot/7-lexer", ref) == estate.base
    assert await mirror.resolve(ref) == estate.base
    assert await clone.bring_branch(mirror, "bot/8-none", branch_ref("run-1", "bot/8-none")) is None
    assert await clone.bring_branch(mirror, "HEAD", branch_ref("run-1", "HEAD")) is None
    for name in ("../HEAD", "-x", "a..b", ""):
        with pytest.raises(RunError, match="cannot be the name"):
            await clone.bring_branch(mirror, name, ref)
    assert fingerprint(person) == before
    assert not (estate.place / "hit").exists()


async def test_shallow_clones_work(estate, mirror):
    for number in range(3):
        git(estate.place / "somebody", "commit", "-q", "--allow-empty", "-m", f"c{number}")
    git(estate.place / "somebody", "push", "-q", str(estate.upstream), "main")
    shallow = estate.place / "shallow"
    git(estate.place, "clone", "-q", "--depth=2", f"file://{estate.upstream}", str(shallow))
    clone = UserClone(shallow)
    base = await clone.bring(mirror)
    estate.mirror = mirror
    tree = await estate.open(base=base)
    result = await tree.run(["git", "log", "--format=%s"], timeout=20)
    assert result.output == "c2\nc1\n"
    await tree.write("f", b"1")
    commit = await tree.commit(await tree.snapshot(), base, "m")
    await clone.deliver(mirror, commit, "bot/x")
    assert git(shallow, "log", "--format=%s", "bot/x") == "m\nc2\nc1"


@pytest.mark.parametrize("how", ["odd", "link"])
async def test_of_where_a_history_ends_only_ids_are_taken_over(estate, mirror, how):
    clone = estate.place / "odd"
    git(estate.place, "clone", "-q", f"file://{estate.upstream}", str(clone))
    shallow, secret = clone / ".git" / "shallow", estate.place / "secret"
    head = git(clone, "rev-parse", "HEAD")
    secret.write_text(f"{head} canary\n")
    if how == "odd":
        shallow.write_text(secret.read_text())
    else:
        shallow.symlink_to(secret)
    await UserClone(clone).bring(mirror)
    kept = mirror.gitdir / "shallow"
    assert not kept.exists() or "canary" not in kept.read_text()
    assert await mirror.holds(head)


async def test_a_history_that_the_clone_lies_about_is_brought_as_it_is(estate, person, mirror):
    git(person, "commit", "-q", "--allow-empty", "-m", "second")
    head, first = (git(person, "rev-parse", each) for each in ("HEAD", "HEAD~1"))
    (person / ".git" / "info").mkdir(exist_ok=True)
    (person / ".git" / "info" / "grafts").write_text(f"{head}\n")
    git(person, "update-ref", f"refs/replace/{head}", first)

    assert await UserClone(person).bring(mirror) == head
    assert await mirror.continues(head, first)
    assert await mirror.show(head, "src/a.py") is not None


async def test_linked_work_trees_and_bare_clones_work(estate, person, mirror):
    hookless = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    linked = estate.place / "linked"
    git(person, *hookless, "worktree", "add", "-q", "--detach", str(linked))
    (estate.place / "hit").unlink(missing_ok=True)
    head = await UserClone(linked).head()
    assert (head.commit, head.branch) == (estate.base, None)
    assert await UserClone(linked).bring(mirror) == estate.base
    assert await UserClone(estate.upstream).bring(mirror) == estate.base
    await UserClone(linked).deliver(mirror, estate.base, "bot/linked")
    assert git(person, "rev-parse", "refs/heads/bot/linked") == estate.base
    assert not (estate.place / "hit").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which works as the clone's owner")
async def test_root_works_as_the_owner(estate, person, mirror):
    subprocess.run(["chown", "-R", "58997:58997", person], check=True)
    clone = UserClone(person)
    base = await clone.bring(mirror)
    estate.mirror = mirror
    tree = await estate.open(base=base)
    await tree.write("f", b"1")
    commit = await tree.commit(await tree.snapshot(), base, "m")
    await clone.deliver(mirror, commit, "bot/x")
    owners = {path.stat().st_uid for path in person.rglob("*")}
    assert owners == {58997}


async def test_what_is_no_clone_is_told(estate, tmp_path):
    with pytest.raises(ConfigError, match="not in a git repository"):
        UserClone(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(ConfigError, match="nothing checked out"):
        await UserClone(tmp_path).head()


@pytest.mark.parametrize("name", ["shallow", "refs/heads/x", "packed-refs", "info/exclude", "HEAD"])
async def test_a_pipe_in_the_clone_is_refused_before_git_waits_for_it(person, name):
    path = person / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is a pipe or a device"):
        await UserClone(person).head()


async def test_a_link_to_a_device_is_no_better(person):
    (person / ".git" / "shallow").symlink_to("/dev/tty")
    with pytest.raises(ConfigError, match="is a pipe or a device"):
        await UserClone(person).head()
