"""The checks of a run: whose commands they are, which of them can run, and in which order."""

import pytest

from agents.analysis.languages import go_to
from agents.pipelines.stages.quality import check_quality, measure_base
from agents.pipelines.stages.quality.find import find_checks, order_by_touched
from agents.policy import POLICY_PATH
from agents.ports import SetupResult

CI = ".github/workflows/ci.yml"
WORKFLOW = """
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: pip install -e .
      - run: pytest tests/unit
      - run: npm test
        working-directory: web
"""
FILES = {
    CI: WORKFLOW,
    "tests/unit/test_a.py": "",
    "web/package.json": '{"scripts": {"test": "mocha", "build": "vite build"}}',
    "web/a.js": "",
    ".pre-commit-config.yaml": "repos: [{repo: 'https://example.org/x', rev: v1}]",
}


@pytest.fixture
def find_all(make_world, request_):
    """Find all there is to say of the checks of these files."""

    async def look(files):
        world = make_world(files, ())
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=at)
        return await find_checks(run.context)

    return look


@pytest.fixture
def find(make_world, request_):
    """Find the checks of these files, where these commands fail."""

    async def look(files, *failing):
        commands = dict.fromkeys(failing, (1, ""))
        world = make_world(files, (), commands=commands)
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=at)
        found = await find_checks(run.context)
        return (found.checks, found.missing, found.source), world

    return look


async def test_what_maintainers_run_goes_before_guesses_and_is_shown_with_its_source(find):
    (checks, missing, source), _ = await find(FILES)

    assert [each.name for each in checks if not each.named] == ["npm build in web"]
    assert {each.name: each.run for each in checks} == {
        "tests": "pytest tests/unit",
        "npm tests in web": "cd web && npm test",
        "npm build in web": "cd web && npm run --silent build",
    }
    assert source.startswith(f"found in the repository's files, of them `{CI}`; pre-commit's hooks")
    assert source.endswith("what they need is not in the sandbox")
    assert missing == ()


async def test_a_guess_stands_in_for_a_command_of_theirs_that_cannot_run(find):
    (checks, missing, source), _ = await find(FILES, "pytest tests/unit --help")

    assert checks[0].name == "npm tests in web"
    assert {each.name: each.run for each in checks}["tests"] == "python3 -m pytest -q"
    assert missing == (), "the tests themselves are not missing"
    assert CI in source


async def test_a_linter_that_only_settings_suggest_is_not_missing_where_it_is_not_here(find):
    files = {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n", "test_a.py": ""}
    (checks, missing, source), _ = await find(files, "command -v ruff")

    assert [each.name for each in checks] == ["tests", "types"]
    assert missing == ()
    assert source.endswith(
        "; `ruff check .` is left out: only its settings are there, not its program"
    )


async def test_a_linter_that_a_workflow_runs_is_missing_where_it_is_not_here(find):
    workflow = "on: [push]\njobs: {a: {runs-on: x, steps: [{run: ruff check .}]}}\n"
    files = {"pyproject.toml": "[tool.ruff]\n", "test_a.py": "", CI: workflow}
    (_, missing, source), _ = await find(files, "command -v ruff")

    assert missing == ("ruff check .",)
    assert "left out" not in source


async def test_hooks_of_their_own_without_their_program_are_left_out_and_said(find):
    local = {".pre-commit-config.yaml": "repos: [{repo: local, hooks: []}]"}
    (_, missing, source), _ = await find(local, "command -v pre-commit")
    assert missing == ()
    assert "hooks are left out" in source
    (checks, _, source), _ = await find(local)
    assert [each.run for each in checks] == ["pre-commit run --all-files"]
    assert "left out" not in source


async def test_commands_of_workflows_that_are_too_many_are_left_out_and_said(find):
    more = "".join(f"      - run: pytest tests/unit -k n{number}\n" for number in range(4))
    (checks, _, source), _ = await find({**FILES, CI: f"{WORKFLOW}{more * 2}"})

    assert [each.name for each in checks if each.name.startswith("tests")] == [
        "tests",
        "tests 2",
        "tests 3",
    ]
    assert "; 2 more commands of its workflows are left out: `quality` can name them" in source


def write_workflow(*runs):
    steps = "".join(f"      - run: {run}\n" for run in runs)
    return f"on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"


async def test_the_whole_suite_runs_beside_the_parts_that_workflows_run(find):
    tests = {"tests/unit/test_a.py": "", "tests/api/test_b.py": ""}
    runs = ("pytest tests/unit", "pytest ${{ matrix.args }} tests")
    (checks, *_), _ = await find({CI: write_workflow(*runs), **tests})

    assert {each.name: (each.run, each.named) for each in checks} == {
        "tests": ("pytest tests/unit", True),
        "tests (all)": ("python3 -m pytest -q", False),
    }


async def test_scripts_of_a_part_do_not_hide_the_script_of_all(find):
    scripts = '{"scripts": {"test": "run-s test:*", "test:unit": "a", "test:integration": "b"}}'
    runs = ("npm run test:unit", "npm run test:integration")
    (checks, *_), _ = await find({CI: write_workflow(*runs), "package.json": scripts})

    assert [each.run for each in checks] == [*runs, "npm run --silent test"]


async def test_a_workflow_that_runs_all_beside_a_part_needs_no_guess(find):
    tests = {"tests/unit/test_a.py": "", "tests/api/test_b.py": ""}
    (checks, *_), _ = await find({CI: write_workflow("pytest tests/unit", "pytest"), **tests})

    assert [each.run for each in checks] == ["pytest tests/unit", "pytest"]


async def test_a_whole_suite_that_cannot_run_is_not_missing_beside_its_parts(find):
    tests = {"tests/unit/test_a.py": "", "tests/api/test_b.py": ""}
    workflow = write_workflow("pytest tests/unit")
    unavailable = ("python3 -m pytest --version", "python3 -c 'import unittest'")
    (checks, missing, _), _ = await find({CI: workflow, **tests}, *unavailable)

    assert "pytest tests/unit" in [each.run for each in checks]
    assert missing == ()


async def test_parts_that_are_too_many_are_told_where_nothing_runs_all(find_all):
    parts = [f"npm test -w packages/{name}" for name in "abcde"]
    files = {CI: write_workflow(*parts), "package.json": '{"workspaces": ["packages/*"]}'}
    found = await find_all({**files, "packages/a/package.json": "{}"})
    commands = [each.run for each in found.checks]
    assert found.list_left_out(commands) == ("npm test -w packages/d", "npm test -w packages/e")

    found = await find_all({**files, "packages/a/package.json": '{"scripts": {"test": "a"}}'})
    commands = [each.run for each in found.checks]
    assert commands[-1] == "npm run --silent --if-present --workspaces test"
    assert found.list_left_out(commands) == ()
    assert len(found.list_left_out(commands[:-1])) == 2, "where it did not count in the end"


async def test_one_look_serves_all_checks_of_a_program(find):
    scripts = '{"scripts": {"test": "a", "lint": "b", "build": "c"}}'
    (checks, _, source), world = await find({"package.json": scripts})

    assert len(checks) == 3
    assert source == "found in the repository's files"
    assert [each for tree in world.source.opened for each in tree.ran] == ["command -v npm"]


async def test_the_policys_checks_are_all_there_are(find):
    policy = "quality: [{name: ours, run: make ours}]\n"
    (checks, missing, source), _ = await find({**FILES, POLICY_PATH: policy})
    assert [each.run for each in checks] == ["make ours"]
    assert (missing, source) == ((), f"`{POLICY_PATH}`")


def test_checks_of_touched_folders_come_first():
    commands = ["pytest", f"{go_to('api', ['api'])}pytest", f"{go_to('web')}npm test"]
    assert order_by_touched(commands, ["web/src/a.js"]) == [2, 0, 1]
    assert order_by_touched(commands, ["api/a.py", "web/a.js"]) == [1, 2, 0]
    assert order_by_touched(commands, ["README.md"]) == [0, 1, 2]
    assert order_by_touched(commands, ["apis/a.py"]) == [0, 1, 2]
    assert order_by_touched(commands, []) == [0, 1, 2]


async def test_with_the_change_they_run_in_that_order(make_world, request_):
    ran, commands = [], [f"{go_to('api')}make test", f"{go_to('web')}make test"]

    def note(command):
        return lambda _files: ran.append(command) or (0, "")

    named = ", ".join(f"{{name: t{at}, run: '{each}'}}" for at, each in enumerate(commands))
    base = {POLICY_PATH: f"quality: [{named}]\nsetup: {{second_look: false}}\n", "web/a.js": "1"}
    world = make_world(base, (), commands={each: note(each) for each in commands})
    files = world.history.tree({**base, "web/a.js": "2"})
    run = world.run(request_)
    at = dict.fromkeys(("base", "trunk", "start"), world.base)
    at["head"] = world.history.commit(files, world.base, "work")
    run.context.standing = run.context.standing.model_copy(update=at)

    baseline = await measure_base.work(run.context, SetupResult(source="nothing to install"))
    await check_quality.work(run.context, baseline)

    assert ran == [*commands, *reversed(commands)]
