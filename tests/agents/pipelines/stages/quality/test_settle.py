"""Which checks count by what they say of the default branch, and for which of its folders."""

from dataclasses import replace

import pytest

from agents.analysis.check_failures import FailuresByProgram
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.languages import go_to
from agents.pipelines.stages.quality import CheckResult, check_quality, measure_base
from agents.pipelines.stages.quality.find import FoundChecks
from agents.pipelines.stages.quality.results import RepositoryCheck
from agents.pipelines.stages.quality.settle import settle
from agents.ports import SetupResult

CI = ".github/workflows/ci.yml"
FILES = {"tests/unit/test_a.py": "", "tests/api/test_b.py": ""}
WHOLE = "python3 -m pytest -q"
GREEN = (0, "2 passed in 0.1s")
RED = (
    "=== short test summary info ===\nFAILED tests/api/test_b.py::b - assert 0\n"
    "=== 1 failed, 3 passed in 0.1s ===\n"
)
SILENT = (3, "no such database")


def write_workflow(*runs):
    steps = "".join(f"      - run: {run}\n" for run in runs)
    return f"on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n{steps}"


@pytest.fixture
def measured(make_world, request_):
    """Measure these files with commands that end so, and a change of some of them."""

    async def measure(files, commands, change=None):
        world = make_world(files, (), commands=commands)
        run = world.run(request_)
        tree = world.history.tree({**files, **(change or {})})
        at = dict.fromkeys(("base", "trunk", "start"), world.base)
        at["head"] = world.history.commit(tree, world.base, "change")
        run.context.standing = run.context.standing.model_copy(update=at)
        baseline = await measure_base.work(run.context, SetupResult(source="nothing"))
        return await check_quality.work(run.context, baseline)

    return measure


@pytest.mark.parametrize("end", [SILENT, (0, "fine"), (1, "", "timeout")])
async def test_a_whole_suite_that_tells_nothing_blocks_no_change_whose_parts_pass(measured, end):
    files = {CI: write_workflow("pytest tests/unit"), **FILES}
    quality = await measured(files, {WHOLE: end, "pytest tests/unit": GREEN})

    assert [each.command for each in quality.runs] == ["pytest tests/unit"]
    assert quality.verdict == "no worse"
    assert (
        f"`{WHOLE}` would run all tests, of which its workflows run parts, and is left out, "
        in (quality.baseline.source)
    )


async def test_a_whole_suite_that_is_red_by_name_counts_as_any_red_check(measured):
    files = {CI: write_workflow("pytest tests/unit"), **FILES}
    quality = await measured(files, {WHOLE: (1, RED), "pytest tests/unit": GREEN})

    assert [each.name for each in quality.runs] == ["tests", "tests (all)"]
    assert quality.verdict == "no worse"
    assert "left out" not in quality.baseline.source


async def test_parts_that_do_not_run_are_told_where_the_whole_does_not_count(measured):
    parts = [f"pytest tests/unit -k n{number}" for number in range(4)]
    files = {CI: write_workflow(*parts), **FILES}
    ends = dict.fromkeys(parts, GREEN)

    assert (await measured(files, {WHOLE: GREEN, **ends})).untold == ()
    [why] = (await measured(files, {WHOLE: SILENT, **ends})).untold
    assert (
        "its workflows run tests that did not run here, nor anything that they are part of" in why
    )
    assert "`pytest tests/unit -k n3`" in why


BACKEND = {"backend/pyproject.toml": "[project]\nname = 'a'\n", "backend/test_a.py": ""}
TESTS = f"{go_to('backend', ['backend'])}python3 -m pytest -q"


async def test_a_change_to_a_project_that_nothing_checks_is_not_ready(measured):
    ends = {TESTS: GREEN}
    added = {"web/package.json": '{"scripts": {"dev": "vite"}}', "web/a.js": "1"}

    [why] = (await measured(BACKEND, ends, added)).untold
    assert why.startswith("nothing here checks `web`, which the change touches: tests there, such")
    assert (await measured({**BACKEND, **added}, ends, {"backend/a.py": "1"})).verdict == "no worse"


async def test_checks_that_people_chose_decide_for_all_folders(measured):
    policy = {".github/fettle.yml": "quality: [{name: tests, run: make ours}]\n"}
    added = {"web/package.json": "{}", "web/a.js": "1"}

    quality = await measured({**BACKEND, **policy}, {}, added)
    assert quality.verdict == "no worse"


NO_TOX = (2, "make: tox: No such file or directory\nmake: *** [Makefile:2: test] Error 127")


@pytest.mark.parametrize("command", ["make test", "just test", "task test"])
async def test_a_task_that_cannot_work_here_does_not_hide_the_tests_that_can(measured, command):
    files = {CI: write_workflow(command), **FILES}
    quality = await measured(files, {command: NO_TOX, WHOLE: GREEN})

    assert [each.command for each in quality.runs] == [WHOLE]
    assert quality.verdict == "no worse"
    said = f"; `{command}` ran no test here, and `{WHOLE}` runs in its place"
    assert said in quality.baseline.source


async def test_a_task_stays_where_nothing_else_says_anything(measured):
    files = {CI: write_workflow("make test"), **FILES}
    quality = await measured(files, {"make test": NO_TOX, WHOLE: SILENT})

    assert [each.command for each in quality.runs] == ["make test"]
    assert quality.verdict == "unknown"


async def test_a_task_that_tells_what_fails_is_kept(measured):
    files = {CI: write_workflow("make test"), **FILES}
    quality = await measured(files, {"make test": (1, RED), WHOLE: GREEN})

    assert [each.command for each in quality.runs] == ["make test"]


async def test_a_languages_own_tests_stand_in_for_a_task(measured):
    files = {CI: write_workflow("make test"), "package.json": '{"scripts": {"test": "jest"}}'}
    jest = (0, "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\n")
    quality = await measured(files, {"make test": NO_TOX, 'npm run --silent test "$@"': jest})

    assert [each.command for each in quality.runs] == ["npm run --silent test"]
    assert quality.verdict == "no worse"


async def test_tests_of_another_language_do_not_hide_that_those_of_a_task_do_not_run(measured):
    files = {
        CI: write_workflow("make test"),
        "package.json": '{"scripts": {"test": "jest"}}',
        **FILES,
    }
    jest = (0, "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\n")
    ends = {"make test": NO_TOX, WHOLE: SILENT, 'npm run --silent test "$@"': jest}

    assert (await measured(files, ends)).verdict == "unknown"


async def test_unittest_never_stands_in_for_pytest(measured):
    unit = "python3 -m unittest -q"
    ends = {
        WHOLE: (4, "error: unrecognized arguments: --cov"),
        unit: (0, "Ran 1 test in 0.1s\n\nOK"),
    }
    quality = await measured(
        {CI: write_workflow("pytest"), **FILES}, {"pytest": ends[WHOLE], **ends}
    )

    assert [each.command for each in quality.runs] == ["pytest"]
    assert quality.verdict == "unknown"


async def test_pytest_stands_in_for_djangos_own_tests_where_these_are_none(measured):
    own = "python3 manage.py test"
    files = {"manage.py": "import django", **FILES}
    none = (0, "Found 0 test(s).\nRan 0 tests in 0.0s\n\nOK\n")

    quality = await measured(files, {own: none, WHOLE: GREEN})
    assert [each.command for each in quality.runs] == [WHOLE]
    quality = await measured(files, {own: (0, "Ran 3 tests in 0.1s\n\nOK\n")})
    assert [each.command for each in quality.runs] == [own]


TASK = {"Makefile": "test:\n\t./run\n"}
NPM = {"package.json": '{"scripts": {"test": "jest"}}'}
JEST = {'npm run --silent test "$@"': (0, "Tests:       2 passed, 2 total\n")}


async def test_beside_tests_that_are_counted_a_guessed_tasks_exit_code_will_do(measured):
    quality = await measured({**TASK, **NPM}, {"make test": (0, "OK"), **JEST})
    assert quality.verdict == "no worse"
    assert "make test" in [each.command for each in quality.runs]

    alone = await measured(TASK, {"make test": (0, "OK")})
    assert alone.verdict == "unknown"


MESON = "meson setup build && meson test -C build --print-errorlogs"
MESON_TESTS = {"meson.build": "project('x', 'c')\ntest('x', executable('x', 'x.c'))\n"}


async def test_a_tasks_program_that_counts_stands_in_for_a_guessed_build_that_tells_nothing(
    measured,
):
    counted = (0, "Pass 463, Fail 0\n")
    ends = {"make test": counted, MESON: (1, "ERROR: Dependency not found\n")}
    quality = await measured({**TASK, **MESON_TESTS}, ends)
    assert [each.command for each in quality.runs] == ["make test"]
    assert quality.verdict == "no worse"

    silent = {**ends, "make test": (0, "fine\n")}
    assert (await measured({**TASK, **MESON_TESTS}, silent)).verdict == "unknown"


def find(*missing, guessed):
    return FoundChecks((), missing, guessed=frozenset(guessed), families={CTEST: "cmake tests"})


CTEST = "cmake -S . -B build && cmake --build build && cd build && ctest --no-tests=error"


async def test_a_guessed_task_that_is_not_here_is_not_missed_where_ctest_counts():
    ended = CheckResult(
        name="cmake tests",
        command=CTEST,
        timeout=60,
        exit_code=0,
        seconds=1,
        output="",
        failures=FailuresByProgram(
            reports={"CTest": ReportedFailures(ended=True, whole=True, ran=19)}, of_tests=True
        ),
    )
    check = RepositoryCheck(name="cmake tests", run=CTEST)

    async def settle_with(found, *runs):
        found = replace(found, checks=(check,) * len(runs))
        return (await settle(None, found, runs, None)).missing

    assert await settle_with(find("make check", guessed=["make check"]), ended) == ()
    assert await settle_with(find("make check", guessed=[]), ended) == ("make check",)
    assert await settle_with(find("make check", guessed=["make check"])) == ("make check",)
    assert await settle_with(find("npm test", guessed=["npm test"]), ended) == ("npm test",)


BUILT = {"package.json": '{"scripts": {"build": "tsc", "test": "tape dist/*.js"}}'}
BUILD_FIRST = "npm run --silent build && npm run --silent test"
TAP = "TAP version 13\nok 1 - adds\n1..1\n# tests 1\n# pass 1\n# fail 0\n"


async def test_tests_of_what_is_built_run_behind_the_build(measured):
    lacking = (1, "Could not find '/workspace/dist'\n")
    ends = {"npm run --silent test": lacking, BUILD_FIRST: (0, TAP)}
    quality = await measured(BUILT, ends)
    assert quality.runs[0].command == BUILD_FIRST
    assert quality.verdict == "no worse"


LINTED = {"package.json": '{"scripts": {"lint": "eslint .", "dev": "vite"}}'}


async def test_tests_that_no_check_runs_leave_the_verdict_open(measured):
    quality = await measured(
        {**LINTED, "src/a.test.js": "x"}, {'npm run --silent lint "$@"': GREEN}
    )
    assert quality.verdict == "unknown"
    [why] = quality.untold
    assert why.startswith("no check that was found runs the tests in `src/a.test.js`: `quality` in")

    others = {**LINTED, "examples/a.test.js": "x", "vendor/b/test/c.js": "x"}
    assert (await measured(others, {})).verdict == "no worse"


TWO = {**FILES, "web/package.json": '{"scripts": {"lint": "eslint ."}}', "web/a.test.js": "x"}
LINTED_TWO = {
    WHOLE: GREEN,
    "prove -l t": (0, "t/sum.t .. ok\nFiles=1, Tests=2\n"),
    'cd web && npm run --silent lint "$@"': (0, "fine"),
}


@pytest.mark.parametrize(
    ("files", "changed", "untold"),
    [
        (TWO, "web/a.js", "web/a.test.js"),
        (TWO, "lib.py", ""),
        ({**FILES, "t/sum.t": ""}, "lib/Sum.pm", "t/sum.t"),
        ({**FILES, "t/sum.t": ""}, "lib.py", ""),
        ({**FILES, "t/sum.t": "", CI: write_workflow("prove -l t")}, "lib/Sum.pm", ""),
        ({**FILES, "tests/run.bats": ""}, "scripts/run.sh", "tests/run.bats"),
        ({**FILES, "tests/test_ext.c": ""}, "src/ext.c", ""),
    ],
)
async def test_tests_of_a_changed_language_that_no_check_runs_leave_it_open(
    measured, files, changed, untold
):
    quality = await measured(files, LINTED_TWO, {changed: "new"})

    assert quality.verdict == ("unknown" if untold else "no worse")
    assert quality.unrun == ((untold,) if untold else ())


NO_POETRY = "make: poetry: No such file or directory\nmake: *** [Makefile:4: lint] Error 127"
LINT = {"Makefile": "test:\n\t./run\nlint:\n\tpoetry run ruff check\n"}


@pytest.mark.parametrize(
    ("ended", "commands", "verdict"),
    [
        ((2, NO_POETRY), [WHOLE], "no worse"),
        ((2, "/bin/sh: 1: ruff: not found"), [WHOLE], "no worse"),
        ((2, "It broke."), [WHOLE, "make lint"], "unknown"),
    ],
)
async def test_a_guessed_linter_that_is_not_here_holds_up_no_change(
    measured, ended, commands, verdict
):
    ends = {"make test": NO_TOX, WHOLE: GREEN, "make lint": ended}
    quality = await measured({**LINT, **FILES}, ends)

    assert [each.command for each in quality.runs] == commands
    assert quality.verdict == verdict
    assert ("a program that it calls is not in the sandbox" in quality.baseline.source) == (
        commands == [WHOLE]
    )


async def test_a_workflows_linter_that_is_not_here_is_told(measured):
    files = {CI: write_workflow("make lint", "pytest"), **LINT, **FILES}
    quality = await measured(files, {"make lint": (2, NO_POETRY), "pytest": GREEN})

    assert quality.verdict == "unknown"
