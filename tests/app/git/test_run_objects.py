"""A run goes on wherever its checkpoints are: the mirror may be new, or of an older version."""

from __future__ import annotations

import shutil

import pytest

from agents.errors import RunError
from agents.policy import Policy
from app.git.mirror.mirror import Mirror
from app.git.ref_names import run_refs, tree_refs
from app.git.run_objects import RunObjects
from app.git.worktree.run_repository import GitSource
from app.store.database import Database
from app.store.runs.checkpoints import StoredCheckpoints
from app.store.runs.runs import Runs
from tests.app.git.conftest import BOT, git, write_files
from tests.app.git.worktree.test_run_repository import Bare
from tests.fakes.requests import build_resolve_issue


class Worker:
    """One machine: a folder with mirrors and work trees, and the database that all share."""

    def __init__(self, estate, database, name, run_id="r1"):
        self.estate = estate
        home = estate.place / name
        group = estate.sandbox.owner[1]
        self.mirror = Mirror(home / "mirrors" / "1.git", group=group, allow_files=True)
        self.stored = StoredCheckpoints(database, run_id)
        self.fetched = 0
        self.source = GitSource(
            RunObjects(self.mirror, run_id, self.stored),
            home / "runs",
            run_id,
            sandbox=estate.sandbox,
            fetch=self.fetch,
            branch=lambda name, ref: self.mirror.fetch_branch(estate.url, None, name, ref),
            commit=lambda oid, ref: self.mirror.fetch_commit(estate.url, None, oid, ref),
            identity=self.identity,
            furnisher=Bare(),
            conceal=str,
            on_command=lambda _: None,
        )

    async def fetch(self):
        self.fetched += 1
        await self.mirror.fetch(self.estate.url, None)
        return await self.mirror.head_of("main")

    async def identity(self):
        return BOT


@pytest.fixture
async def machine(estate, sqlite_url):
    """Return a worker by its name."""
    estate.place.joinpath("one").mkdir()
    estate.place.joinpath("two").mkdir()
    git(estate.upstream, "config", "uploadpack.allowAnySHA1InWant", "true")
    database = Database(sqlite_url)
    database.migrate()
    await Runs(database).create("r1", build_resolve_issue())
    yield lambda name: Worker(estate, database, name)
    database.close()


async def work(worker):
    """Do as a stage does: change files, commit them, change more; return all ids."""
    base = await worker.source.fetch()
    tree = await worker.source.open(base, Policy())
    await tree.write("src/a.py", b"A = 2\n")
    first = await tree.snapshot()
    commit = await tree.commit(first, base, "second")
    await tree.write("src/new.py", b"NEW = 1\n")
    return base, commit, await tree.snapshot()


async def test_another_machine_goes_on_from_the_last_checkpoint(machine, estate):
    base, commit, last = await work(machine("one"))
    two = machine("two")
    await two.source.recover()
    tree = await two.source.open(base, Policy())
    await tree.restore(last)
    assert await tree.read("src/new.py") == b"NEW = 1\n"
    assert await tree.read("src/a.py") == b"A = 2\n"
    assert await two.mirror.message(commit) == "second"
    assert await tree.commit(last, commit, "third") == await tree.commit(last, commit, "third")
    await two.mirror.git.local("fsck", "--strict")
    here = await two.mirror.list_refs(run_refs("r1"))
    assert await two.stored.refs() == here
    fetched = two.fetched
    await two.source.recover()
    assert two.fetched == fetched, "what is here is not fetched again"
    await two.source.discard(forget=True)
    assert await two.stored.refs() == {}


async def test_a_tree_is_stored_before_anybody_is_told_its_id(machine, monkeypatch):
    """The database refuses: no id comes out, and the mirror does not count it as kept."""
    one = machine("one")
    tree = await one.source.open(await one.source.fetch(), Policy())
    await tree.write("big.bin", b"".join(n.to_bytes(8, "big") * 3 for n in range(4000)))
    monkeypatch.setattr("app.store.runs.checkpoints.LARGEST", 500)
    with pytest.raises(RunError, match="more of a run"):
        await tree.snapshot()
    assert await one.mirror.list_refs(tree_refs("r1")) == {}


async def test_merges_and_what_was_seen_of_branches_are_restored(machine, estate):
    """The branch is rewritten meanwhile: what the run saw of it is fetched by its id."""
    somebody = estate.place / "somebody"
    git(somebody, "checkout", "-q", "-b", "bot/7")
    write_files(somebody, {"src/b.py": "B = 3\n"})
    git(somebody, "commit", "-qam", "theirs")
    git(somebody, "push", "-q", str(estate.upstream), "bot/7")
    one = machine("one")
    _, commit, last = await work(one)
    seen = await one.source.branch("bot/7")
    merged = await one.source.merge(commit, seen)
    blended = await one.source.overlay(commit, last, ["src/new.py"])
    git(somebody, "reset", "-q", "--hard", estate.base)
    git(somebody, "push", "-qf", str(estate.upstream), "bot/7")
    shutil.rmtree(one.mirror.gitdir)

    two = machine("two")
    await two.source.recover()
    assert await two.mirror.show(merged.tree, "src/b.py") == b"B = 3\n"
    assert await two.mirror.show(blended, "src/new.py") == b"NEW = 1\n"
    assert seen in (await two.mirror.list_refs(f"{run_refs('r1')}/branches")).values()


async def test_a_run_of_a_version_without_checkpoints_gets_them_when_it_goes_on(machine, estate):
    one = machine("one")
    _, _, last = await work(one)
    await one.stored.forget()
    again = machine("one")
    await again.source.recover()
    two = machine("two")
    await two.source.recover()
    assert await two.mirror.list_refs(run_refs("r1")) == await one.mirror.list_refs(run_refs("r1"))
    assert await two.mirror.show(last, "src/new.py") == b"NEW = 1\n"


async def test_what_nobody_has_any_more_is_told_in_words(machine, estate):
    two = machine("two")
    await two.source.recover()
    with pytest.raises(RunError, match="deleted or rewritten"):
        await two.source.open("1" * 40, Policy())
