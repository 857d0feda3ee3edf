"""Only new failures count: check by check, and test by test where a check names what fails."""

import json

import pytest

from agents.pipelines.stages.quality import (
    Baseline,
    CheckComparison,
    CheckResult,
    VerifiedChange,
    check_quality,
    checks_table,
    format_output,
    measure_base,
    tally,
)
from agents.pipelines.stages.quality.run import NEW_TOLD
from agents.policy import POLICY_PATH
from agents.ports import SetupResult

SETUP = SetupResult(source="nothing to install")
HEAD = "=== short test summary info ===\n"
CHECK = {"name": "tests", "command": "make test", "timeout": 9, "seconds": 1, "output": "F"}


def says(*names):
    """Return how pytest ends where these tests fail."""
    if not names:
        return 0, "2 passed in 0.1s"
    said = "".join(f"FAILED t.py::{name} - assert 0\n" for name in names)
    return 1, f"{HEAD}{said}=== {len(names)} failed in 0.1s ===\n"


@pytest.fixture
def measured(make_world, request_):
    """Run the checks at the base, then at the head; the runs end as the list says."""

    async def measure(*ends):
        left = list(ends)
        policy = {POLICY_PATH: "quality: [{name: tests, run: make test}]\n"}
        commands = {"make test": lambda _files: left.pop(0)}
        world = make_world(policy, (), commands=commands)
        run = world.run(request_)
        at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=at)
        baseline = await measure_base.work(run.context, SETUP)
        quality = await check_quality.work(run.context, baseline)
        assert not left, "each of these runs was made, and no other"
        return quality, run

    return measure


async def test_one_more_failing_test_is_found_where_the_suite_was_red(measured):
    quality, run = await measured(says("a"), says("a", "b"), says("a", "b"))

    [worse] = quality.failing
    assert worse.new == ("t.py::b",)
    assert not quality.passed
    assert run.context.summary == "tests failed (1 new)"


async def test_the_same_failures_pass_without_a_second_run(measured):
    quality, _ = await measured(says("a", "b"), says("b"))

    assert quality.passed


async def test_a_failure_that_comes_once_is_not_held_against_the_change(measured):
    quality, _ = await measured(says("a"), says("a", "b", "c"), says("a", "c"))

    assert (quality.runs[0].new, quality.runs[0].flaky) == (("t.py::c",), ("t.py::b",))
    assert tally(quality.runs[0]) == "3, 1 new: `t.py::c`, 1 only once"
    calmed, _ = await measured(says("a"), says("a", "b"), says())
    assert calmed.passed


async def test_a_suite_that_starts_no_more_is_worse_than_a_red_one(measured):
    crash = (139, "Segmentation fault")
    quality, _ = await measured(says("a"), crash, crash)
    flaky, _ = await measured(says("a"), crash, says("a"))

    assert quality.failing[0].new == ("pytest no longer says which tests fail",)
    assert flaky.passed


async def test_what_passed_before_is_judged_by_its_exit_code_alone(measured):
    named, _ = await measured(says(), says("a"))
    crashed, _ = await measured(says(), (139, "Segmentation fault"))
    unread, _ = await measured((1, "it is broken"), (1, "it is broken in a worse way"))

    assert named.failing[0].new == ("t.py::a",)
    assert crashed.failing[0].new == ()
    assert unread.passed


async def test_no_word_of_a_repository_excuses_what_passed_before(measured):
    foretold, _ = await measured((0, says("a")[1]), says("a"))
    denied, _ = await measured(says(), (1, says()[1]))

    assert foretold.failing
    assert denied.failing


def test_a_record_of_an_older_fettle_is_read():
    old = {
        "commit": "c",
        "runs": [{**CHECK, "exit_code": 1}],
        "baseline": {"runs": [{**CHECK, "exit_code": 0}], "source": "s", "setup": {"source": "s"}},
    }
    quality = CheckComparison.model_validate_json(json.dumps(old))

    assert quality.failing == quality.runs
    assert CheckComparison.model_validate_json(quality.model_dump_json()) == quality


def compare_runs(before, *new, base_code=1):
    red = CheckResult(**CHECK, exit_code=base_code, failures=before)
    now = CheckResult(**CHECK, exit_code=1, new=new, failures=before)
    return CheckComparison(
        commit="c", runs=(now,), baseline=Baseline(runs=(red,), source="s", setup=SETUP)
    )


HOSTILE = (
    "t.py::x[@everyone `code` | <img src=x onerror=y> [l](http://evil.example) fixes #1]",
    "t.py::y]\n\n## Approved\n@mara",
)


def test_names_are_published_as_code_in_one_cell():
    quality = compare_runs({"told": {"pytest": {"names": {"t.py::a": 1}, "whole": True}}}, *HOSTILE)
    table = checks_table(quality)
    said = VerifiedChange(quality=quality).why_not()

    assert "| failed (1) | failed (1, 2 new: `t.py::x" in table
    for text in (table, said):
        assert "@everyone" not in text
        assert "@mara" not in text
        assert "\n##" not in text
        assert "fixes #1" not in text
        assert text.count("`") % 2 == 0
    assert len(table.splitlines()) == 3
    assert table.splitlines()[2].count("|") == 4
    assert said.startswith("These checks failed before and fail in more places now: `tests` (1,")


def test_many_long_names_stay_short():
    many = tuple(f"t.py::{'x' * 150}{n}" for n in range(500))
    quality = compare_runs({}, *many)

    assert len(checks_table(quality)) < 600
    assert "and 497 more" in checks_table(quality)
    told = format_output(quality.runs[0])
    assert told.startswith("These fail with the change and did not fail before it:\n- t.py::x")
    assert f"- and {500 - NEW_TOLD} more" in told
    assert told.endswith("What the check wrote:\nF")


def test_a_check_that_passed_before_is_told_as_ever():
    said = VerifiedChange(quality=compare_runs({}, base_code=0)).why_not()

    assert said == "These checks of the repository fail now that passed before: `tests`."
