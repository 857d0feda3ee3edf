"""Set-ups of repositories with several projects, of locks that their tool refuses, and of time."""

import json
import shutil

import pytest

from agents.analysis.languages import InstallPlan, InstallRecipe, go_to
from agents.pipelines.stages.onboarding import cut_output
from agents.policy import Policy
from tests.app.dependencies.install.conftest import bash, wheel

DETECT = Policy()
has_npm = pytest.mark.skipif(
    not str(shutil.which("npm")).startswith("/usr/"), reason="sandboxes see no npm here"
)
LIBRARY = {"web/lib/package.json": '{"name": "lib", "version": "1.0.0"}', "web/lib/index.js": ""}
STALE_LOCK = {
    "name": "web",
    "lockfileVersion": 3,
    "requires": True,
    "packages": {"": {"name": "web"}},
}


def lay_web(**more):
    manifest = {"name": "web", "dependencies": {"lib": "file:./lib"}, **more}
    return {**LIBRARY, "web/package.json": json.dumps(manifest)}


async def serve(ground, index, *names):
    served = await index("localhost", tls=False)
    for name in names:
        file, data = wheel(name, "1.0", {f"{name}.py": "VALUE = 41\n"})
        served.page(f"/simple/{name.replace('_', '-')}/", f'<a href="/files/{file}">{file}</a>')
        served.page(f"/files/{file}", data)
    ground.indexes(PIP_INDEX_URL=f"{served.url}/simple")


UNBUILDABLE = """\
[project]
name = "a"
version = "1"
requires-python = ">=99"
[build-system]
requires = []
build-backend = "no"
backend-path = ["."]
"""


@has_npm
async def test_each_project_is_installed_where_it_lies_though_one_cannot_be_built(ground, index):
    """What cannot be built keeps nothing else from its own tests, and nothing from the others."""
    await serve(ground, index, "pytest", "demo_dep")
    ground.commit({
        **lay_web(),
        "api/requirements.txt": "demo-dep==1.0\n",
        "api/tests/test_a.py": "",
        "pyproject.toml": UNBUILDABLE,
        "test_a.py": "",
    })  # fmt: skip

    result, tree = await ground.run(policy=DETECT)
    look = "python3 -c 'import {}, sys; print({}.VALUE, sys.prefix)'; ".format
    root, api = look("pytest", "pytest"), look("demo_dep", "demo_dep")
    seen = await bash(tree, f"{root}{go_to('api', ['api'])}{api}cd ../web && ls node_modules")

    assert seen.output.split() == ["41", "/setup/venv", "41", "/setup/venvs/api", "lib"]
    assert any(
        "cd api && export PATH=/setup/venvs/api/bin:$PATH" in each.command
        for each in result.commands
    )
    [missing, problem] = result.problems
    assert missing.startswith("`pyproject.toml` asks for python `>=99`.")
    assert problem.startswith("`pip install -e .` ended with exit code 2. It says: ")
    assert problem.endswith("No module named 'no'.")


@has_npm
async def test_a_lock_that_npm_refuses_has_a_second_way_that_leaves_the_tree_alone(ground):
    lock = json.dumps(STALE_LOCK)
    ground.commit({**lay_web(), "web/package-lock.json": lock})

    result, tree = await ground.run(policy=DETECT)

    assert result.problems == ()
    [note] = result.notes
    assert note.startswith("`cd web && ")
    assert "ended with exit code 1. It says: " in note
    assert "in sync" in note
    assert "npm install --ignore-scripts" in note
    assert (await tree.read("web/package-lock.json")).decode() == lock
    assert (await bash(tree, "ls web/node_modules")).output.split() == ["lib"]
    failed = cut_output(result.commands[0])
    assert "Missing: lib@1.0.0 from lock file" in failed
    assert "--include" not in failed, "npm's list of options says nothing"


async def build(ground, *recipes, timeout):
    """Follow these recipes as one plan; return the report."""
    await ground._fetch()
    folder = ground.place / "building"
    folder.mkdir()
    plan = InstallPlan(recipes, "here", timeout)
    return await ground.set_ups().builder.build(ground.mirror, folder, ground.base, plan)


def recipe(kind, *commands, **more):
    return InstallRecipe(kind, commands, "true", "", **more)


async def test_a_slow_recipe_does_not_take_the_time_of_the_others(ground):
    slow, quick = recipe("slow", "sleep 60"), recipe("quick", "mkdir ~/quick")
    manifest = await build(ground, slow, quick, timeout=8)

    assert [each.command for each in manifest.result.commands] == [
        "sleep 60",
        "mkdir ~/quick",
        "sleep 60",
    ], "with the time that is left it is tried once more"
    assert [each.exit_code == 0 for each in manifest.result.commands] == [False, True, False]
    [problem] = manifest.result.problems
    assert problem.startswith("`sleep 60` was stopped: ")
    assert "of the set-up's 8 s" in problem or "longer than its 8 s" in problem
    assert manifest.home == ("quick",)


async def test_what_no_check_needs_is_told_and_not_missing(ground):
    gems = recipe("Ruby", "exit 7", needless=True)
    manifest = await build(ground, recipe("a", "exit 3"), gems, timeout=30)

    assert [each[:9] for each in manifest.result.problems] == ["`exit 3` "]
    [note] = manifest.result.notes
    assert note.startswith("`exit 7` ended with exit code 7. No check of the repository needs that")


async def test_what_a_second_way_installs_is_no_longer_what_the_lock_names(ground):
    second = recipe("a", "true")
    first = recipe("a", "echo 'error: x is not in sync' >&2; exit 2", locked=True, otherwise=second)
    manifest = await build(ground, first, recipe("b", "true", locked=True), timeout=30)

    assert not manifest.locked
    assert manifest.result.problems == ()
    assert "It says: x is not in sync. So `true` was used instead" in manifest.result.notes[0]


async def test_runs_are_told_that_nobody_watches(ground):
    _, tree = await ground.run("true")
    assert (await bash(tree, "echo $CI")).output == "1\n"


async def test_a_file_of_a_folder_and_of_a_second_way_decides_what_is_found_again(ground):
    async def find_key(**files):
        ground.commit({name.replace("__", "/"): text for name, text in files.items()})
        run = ground.set_ups().for_run("1", ground.mirror, "run-1")
        return (await run._plan(await ground._fetch(), DETECT))[1]

    ground.commit({"api/uv.lock": "", "api/requirements-dev.txt": "", "api/test_a.py": ""})
    first = await find_key(README="1")
    locked = await find_key(**{"api__uv.lock": "# another"})
    listed = await find_key(**{"api__requirements-dev.txt": "# another"})

    assert len({first, locked, listed}) == 3
    assert await find_key(README="2") == listed


@has_npm
@pytest.mark.parametrize("folder", ["web", "../..", "/tmp", "web/../../x"])
async def test_what_is_added_in_a_folder_is_there_for_the_checks_too(ground, folder):
    """A check begins with the tree alone: what no commit holds is gone from it by then."""
    ground.commit({**LIBRARY, "web/package.json": "{}"})
    _, tree = await ground.run()
    add = f"cd {folder} && npm install --ignore-scripts --no-audit --no-fund /workspace/web/lib"
    await tree.run(["bash", "-c", "--", add], timeout=60, network="indexes")
    await tree.restore(ground.base, pristine=True)

    seen = await bash(tree, "ls web/node_modules")
    assert (seen.output.split() == ["lib"]) is (folder == "web")
    assert not (ground.place.parent / "node_modules").exists()


has_go = pytest.mark.skipif(
    not str(shutil.which("go", path="/usr/bin")).startswith("/usr/"),
    reason="sandboxes see no go here",
)
COMPILED = "go build -x -o /dev/null . 2>&1 | grep -c /compile"
"""How many packages are compiled, of Go's own and of the project."""


@has_go
async def test_what_go_has_compiled_is_there_for_each_run_which_adds_to_it(ground):
    hello = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("hello") }\n'
    ground.commit({"go.mod": "module example.test/hello\n\ngo 1.19\n", "main.go": hello})

    result, tree = await ground.run(policy=DETECT)
    assert result.problems == ()
    assert [each.command for each in result.commands] == ["go mod download"]
    assert (await bash(tree, COMPILED)).output == "1\n", "Go's own packages are there"
    await tree.write("main.go", hello.replace("hello", "other").encode())
    assert (await bash(tree, COMPILED)).output == "1\n"
    assert (await bash(tree, COMPILED)).output == "0\n", "what the run compiled is kept for it"

    _, other = await ground.run(policy=DETECT, run_id="run-2")
    await other.write("main.go", hello.replace("hello", "other").encode())
    assert (await bash(other, COMPILED)).output == "1\n", "and for no other"


async def test_caches_are_filled_without_a_network_and_how_that_ends_tells_nothing(ground, index):
    await serve(ground, index, "demo_dep")
    ask = "mkdir -p ~/.cache/{0}; pip download -q -d ~/.cache/{0} demo-dep"
    one = recipe("demo", ask.format("first"), warms=(ask.format("warm"),), tools={"pip": ""})
    ground.commit({"a": ""})
    manifest = await build(ground, one, timeout=60)
    assert manifest.result.problems == ()
    assert len(manifest.result.commands) == 1
    cache = ground.place / "building/home/.cache"
    assert [len(list((cache / name).iterdir())) for name in ("first", "warm")] == [1, 0]


async def test_of_what_could_not_be_installed_no_cache_is_filled(ground):
    failing = recipe("demo", "false", warms=("mkdir ~/warm",))
    assert (await build(ground, failing, timeout=60)).home == ()
