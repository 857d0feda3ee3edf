"""Set-ups as they are kept: built once, found again, reported when they fail, dropped in time."""

import asyncio
import os
import shutil
import time

import pytest

from agents.errors import TransientError
from agents.policy import Policy
from agents.ports import SetupResult
from app.dependencies.cache_entry import Manifest
from app.dependencies.install import Builder
from tests.app.dependencies.install.conftest import bash

COUNT = "mkdir node_modules && date +%s%N >node_modules/made"


async def read_made(tree):
    return (await bash(tree, "cat node_modules/made")).output


async def test_the_same_lock_file_finds_the_same_set_up_on_another_commit(ground):
    ground.commit({"package-lock.json": "{}"})
    _, one = await ground.run(COUNT)
    ground.commit({"README.md": "# Another\n"})
    again, two = await ground.run(COUNT, run_id="run-2")
    ground.commit({"package-lock.json": "{ }"})
    other, three = await ground.run(COUNT, run_id="run-3")

    assert (again.cached, other.cached) == (True, False)
    assert await read_made(one) == await read_made(two) != await read_made(three)


async def test_after_a_move_to_another_index_nothing_is_used_again(ground):
    def install_with(run_id, url):
        ground.indexes(PIP_INDEX_URL=url, PIP_CONFIG_FILE=os.devnull)
        return ground.run("mkdir -p node_modules", run_id=run_id)

    first, _ = await install_with("run-1", "http://127.0.0.1:1/simple")
    same, _ = await install_with("run-2", "http://somebody:password@127.0.0.1:1/simple")
    moved, _ = await install_with("run-3", "http://127.0.0.1:1/other")

    assert (first.cached, same.cached, moved.cached) == (False, True, False)


async def test_what_a_run_changes_is_set_up_for_it_alone_and_shown_on_demand(ground):
    ground.commit({"package-lock.json": "{}"})
    before, policy = ground.base, Policy.model_validate({"setup": {"run": [COUNT]}})
    source = ground.source()
    await source.set_up(before, policy)
    tree = await source.open(before, policy)
    first = await read_made(tree)
    change = ground.commit({"package-lock.json": "{ }"})
    await ground.mirror.fetch(f"file://{ground.place / 'somebody'}", None)

    await source.set_up(change, policy, own=True)
    await tree.use_set_up(change)
    await tree.restore(change, pristine=True)
    second = await read_made(tree)
    await tree.use_set_up(before)
    await tree.restore(before, pristine=True)
    other = await ground.source("run-2").set_up(change, policy)

    assert second != first == await read_made(tree)
    assert not other.cached, "another run is not given what a model's files have made"


async def test_other_repositories_have_their_own(ground):
    policy = Policy.model_validate({"setup": {"run": [COUNT]}})

    first = await ground.source(name="1").set_up(ground.base, policy)
    other = await ground.source(name="2").set_up(ground.base, policy)

    assert not first.cached
    assert not other.cached


async def test_a_file_that_a_command_names_decides_too(ground):
    ground.commit({"scripts/deps.sh": "mkdir node_modules"})
    await ground.run("bash ./scripts/deps.sh")
    ground.commit({"scripts/deps.sh": "mkdir -p node_modules/a"})

    result, _ = await ground.run("bash ./scripts/deps.sh", run_id="run-2")

    assert not result.cached


async def test_two_runs_at_once_build_it_once(ground):
    results = await asyncio.gather(
        ground.run(f"sleep 0.5; {COUNT}"), ground.run(f"sleep 0.5; {COUNT}", run_id="run-2")
    )

    assert sorted(result.cached for result, _ in results) == [False, True]
    assert len(ground.entries()) == 1


async def test_a_failure_is_said_and_keeps_the_other_recipes_from_nothing(ground):
    package = '{"dependencies": {"b": "1"}, "scripts": {"test": "b"}}'
    ground.commit({"package.json": package, "App.csproj": "<Project/>"})

    result, tree = await ground.run(policy=Policy())

    assert len(result.problems) == 2
    assert result.problems[0].startswith("`npm install")
    assert result.problems[1].startswith(".NET needs dotnet, which sandboxes here do not have")
    assert (await bash(tree, "true")).exit_code == 0


async def test_what_failed_is_tried_again_by_the_next_run_and_not_within_one(ground):
    fails = f"{COUNT}; exit 3"
    result, tree = await ground.run(fails)
    first = await read_made(tree)
    same, restarted = await ground.run(fails)
    other, second = await ground.run(fails, run_id="run-2")

    assert result.problems == (f"`{fails}` ended with exit code 3.",)
    assert (result.cached, same.cached, other.cached) == (False, True, False)
    assert await read_made(restarted) == first != await read_made(second)


async def test_what_served_one_run_alone_goes_with_it(ground):
    await ground.run("exit 3")
    await ground.source().discard(forget=True)

    assert ground.entries() == []


async def test_what_is_lost_is_installed_again_before_the_next_command(ground):
    _, tree = await ground.run(COUNT)
    before = await read_made(tree)
    shutil.rmtree(ground.entries()[0])

    assert await read_made(tree) not in {before, ""}


async def test_what_is_lost_and_cannot_be_installed_again_is_no_silent_loss(ground):
    await ground.run("mkdir node_modules")
    policy = Policy.model_validate({"setup": {"run": ["mkdir node_modules"]}})
    shutil.rmtree(ground.entries()[0])

    with pytest.raises(TransientError, match="gone from this machine"):
        await _make_failing(ground).find_mounts(ground.base, policy)
    with pytest.raises(TransientError, match="gone from this machine"):
        await _make_failing(ground).find_mounts(ground.base, policy)


def _make_failing(ground):
    class BrokenBuilder(Builder):
        async def build(self, *what):
            manifest = await super().build(*what)
            result = manifest.result.model_copy(update={"problems": ("No.",)})
            return manifest.model_copy(update={"result": result})

    return ground.set_ups(builder=BrokenBuilder).for_run("1", ground.mirror, "run-1")


async def test_a_set_up_that_died_half_way_is_not_used_and_goes(ground):
    class BuildKilled(BaseException):
        pass

    class Dies(Builder):
        async def build(self, *what):
            await super().build(*what)
            raise BuildKilled

    set_ups = ground.set_ups(builder=Dies)
    policy = Policy.model_validate({"setup": {"run": [COUNT]}})
    await ground._fetch()
    with pytest.raises(BuildKilled):
        await set_ups.for_run("1", ground.mirror, "run-1").set_up(ground.base, policy)
    assert list((ground.place / "setups" / "1").glob("new-*"))

    result, _ = await ground.run(COUNT)

    assert not result.cached
    assert not list((ground.place / "setups" / "1").glob("new-*"))


async def test_a_sandbox_that_cannot_hold_a_network_gets_none(ground):
    class Weak:
        name, level = "weak", "none"

        def __init__(self, owner):
            self.owner = owner

    weak = Weak(ground.sandbox.owner)
    set_ups = ground.set_ups(sandbox=weak).for_run("1", ground.mirror, "run-1")
    policy = Policy.model_validate({"setup": {"run": [COUNT]}})
    await ground._fetch()

    result = await set_ups.set_up(ground.base, policy)

    assert "The sandbox `weak` cannot give set-up commands a network" in result.problems[0]
    assert (await set_ups.find_mounts(ground.base, policy)).mounts == ()


async def test_what_was_compiled_holds_for_its_commit_alone(ground):
    ground.commit({".gitignore": "*.so\n", "Cargo.lock": ""})
    await ground.run("touch fast.so")
    ground.commit({"fast.c": "int a;"})

    result, _ = await ground.run("touch fast.so", run_id="run-2")

    assert not result.cached


def entry(ground, name, *, age, size=1, problems=()):
    """Put an entry there that was used so many seconds ago."""
    folder = ground.place / "setups" / "1" / name
    folder.mkdir(parents=True)
    result = SetupResult(source="s", problems=problems)
    manifest = Manifest(result=result, base="b", locked=True, made=time.time() - age, size=size)
    (folder / "manifest.json").write_text(manifest.model_dump_json())
    os.utime(folder / "manifest.json", (time.time() - age,) * 2)
    return folder


async def test_beyond_the_budget_the_longest_unused_go_and_those_in_use_stay(ground):
    ground.budget = 100
    hour = 3600
    kept = [entry(ground, "k-ok-1", age=1, size=90), entry(ground, "k-ok-2", age=hour, size=90)]
    gone = [
        entry(ground, "k-ok-3", age=9 * hour, size=1),
        entry(ground, "f-x", age=31 * 24 * hour, problems=("p",)),
    ]

    await ground.store.tidy()

    assert all(folder.exists() for folder in kept)
    assert not any(folder.exists() for folder in gone)


async def test_without_a_lock_file_newer_versions_are_looked_for_after_some_days(ground):
    await ground.run(COUNT)
    path = ground.entries()[0] / "manifest.json"
    manifest = Manifest.model_validate_json(path.read_text())
    assert not manifest.locked
    path.write_text(
        manifest.model_copy(update={"made": time.time() - 8 * 86_400}).model_dump_json()
    )

    result, _ = await ground.run(COUNT, run_id="run-2")

    assert not result.cached
