"""Only new failures count: check by check, and test by test where a check names what fails."""

import json

import pytest

from agents.analysis.check_failures import FailuresByProgram
from agents.analysis.lock_files import LONGEST
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
from agents.pipelines.stages.quality.confirm import FURTHER
from agents.pipelines.stages.quality.flaky import MOST_NOTED
from agents.pipelines.stages.quality.run import NEW_TOLD
from agents.policy import POLICY_PATH
from agents.ports import FlakyTest, SetupResult
from tests.fakes.world import MemoryFlakyTests

SETUP = SetupResult(source="nothing to install")
HEAD = "=== short test summary info ===\n"
CHECK = {"name": "tests", "command": "make test", "timeout": 9, "seconds": 1, "output": "F"}
CRASH = (139, "Segmentation fault")


def says(*names):
    """Return how pytest ends where these tests fail."""
    if not names:
        return 0, "3 passed in 0.1s"
    said = "".join(f"FAILED t.py::{name} - assert 0\n" for name in names)
    passed = max(3 - len(names), 1)
    return 1, f"{HEAD}{said}=== {len(names)} failed, {passed} passed in 0.1s ===\n"


@pytest.fixture
def measured(make_world, request_):
    """Run the checks at the base, then at the head; the runs end as the list says."""

    async def measure(*ends, memory=None, **standing):
        left = list(ends)
        quality = "quality: [{name: tests, run: make test}]\n"
        policy = {POLICY_PATH: f"{quality}setup: {{second_look: false}}\n"}
        commands = {"make test": lambda _files: left.pop(0)}
        world = make_world(policy, (), commands=commands, flaky_tests=memory)
        run = world.run(request_)
        at = standing | dict.fromkeys(("base", "trunk", "start", "head"), world.base)
        run.context.standing = run.context.standing.model_copy(update=at)
        baseline = await measure_base.work(run.context, SETUP)
        quality = await check_quality.work(run.context, baseline)
        assert not left, "each of these runs was made, and no other"
        return quality, run

    return measure


async def test_what_fails_each_time_it_is_run_alone_is_new(measured):
    b = says("b")
    quality, run = await measured(says("a"), says("a", "b"), b, b, b)

    [worse] = quality.failing
    assert worse.new == ("t.py::b",)
    assert quality.verdict == "worse"
    assert run.context.summary == "tests failed (1 new)"


async def test_the_same_failures_pass_without_a_second_run(measured):
    quality, _ = await measured(says("a", "b"), says("b"))

    assert quality.verdict == "no worse"


@pytest.mark.parametrize("before", [says("a"), says()], ids=["red", "green"])
async def test_a_failure_that_comes_once_is_not_held_against_the_change(measured, before):
    once = (before, says("b"), *[says()] * 4)
    known = MemoryFlakyTests([FLAKED.model_copy(update={"name": "t.py::b"})])
    seen, _ = await measured(*once, says(), says("b"))
    remembered, _ = await measured(*once, memory=known)

    for quality in (seen, remembered):
        assert quality.verdict == "no worse"
        assert quality.runs[0].flaky == ("t.py::b",)
        assert tally(quality.runs[0]) == "1 now and then: `t.py::b`"
    assert (seen.runs[0].flaky_before, remembered.runs[0].flaky_before) == (("t.py::b",), ())


async def test_a_failure_that_comes_once_and_with_the_change_alone_is_not_called_good(measured):
    once = (says(), says("a"), *[says()] * 4)
    own = MemoryFlakyTests([FLAKED.model_copy(update={"unchanged": 0})])

    for memory in (None, own):
        quality, _ = await measured(*once, *[says()] * 3, memory=memory)
        assert quality.verdict == "unknown"
        assert "and in no run before the change" in quality.untold[0]


async def test_of_two_the_one_that_fails_alone_each_time_is_named(measured):
    c = says("c")
    quality, _ = await measured(says("a"), says("a", "b", "c"), c, c, c)

    assert (quality.runs[0].new, quality.runs[0].flaky) == (("t.py::c",), ("t.py::b",))


async def test_a_test_that_fails_only_beside_the_others_is_new_all_the_same(measured):
    quality, _ = await measured(says(), says("a"), says(), says(), says(), says("a"))

    assert quality.failing[0].new == ("t.py::a",)


async def test_what_fails_now_and_then_before_the_change_too_is_flaky(measured):
    sometimes = (says("a"), says(), says())
    quality, _ = await measured(says(), says("a"), *sometimes, *sometimes, says())

    assert quality.verdict == "no worse"
    assert quality.runs[0].flaky == ("t.py::a",)


async def test_what_flakes_without_the_change_is_not_new_because_it_flakes_twice(measured):
    sometimes = (says("a"), says(), says())
    quality, _ = await measured(says(), says("a"), *sometimes, *sometimes, says("a"))

    assert quality.verdict == "no worse"
    assert quality.runs[0].flaky == ("t.py::a",)


async def test_what_began_to_fail_now_and_then_is_not_called_good(measured):
    good = (says(), says(), says())
    once, _ = await measured(says(), says("a"), says("a"), says(), says(), *good)
    twice, _ = await measured(says(), says("a"), says("a"), says("a"), says(), *good)

    assert once.verdict == "unknown"
    assert "`t.py::a` failed at first and then in one of 3 runs by itself" in once.untold[0]
    assert twice.failing[0].new == ("t.py::a",)


FLAKED = FlakyTest(
    command="make test", name="t.py::a", runs=3, unchanged=2, last_at=1_790_000_000.0
)
ONCE_OF_THREE = (says("a"), says(), says())


async def test_a_known_flaky_test_is_tried_for_longer_where_it_would_leave_the_verdict_open(
    measured,
):
    good = [says()] * 3
    doubt = (says(), says("a"), *ONCE_OF_THREE, *good)
    found, _ = await measured(
        *doubt, says(), says(), says("a"), says(), memory=MemoryFlakyTests([FLAKED])
    )
    sought, _ = await measured(*doubt, *[says()] * FURTHER, memory=MemoryFlakyTests([FLAKED]))
    stranger = FLAKED.model_copy(update={"command": "make others"})
    other, _ = await measured(*doubt, memory=MemoryFlakyTests([stranger]))

    assert found.verdict == "no worse", "it was seen to fail without the change"
    assert found.runs[0].flaky_before == ("t.py::a",)
    assert (sought.verdict, other.verdict) == ("unknown", "unknown")
    assert "`t.py::a` (in 3 runs, 2 of them without a change; last on 2026-" in checks_table(sought)
    assert "earlier runs" not in checks_table(other)


async def test_a_memory_excuses_nobody_who_breaks_a_test(measured):
    a, good = says("a"), [says()] * 3
    memory = MemoryFlakyTests([FLAKED])
    broken, _ = await measured(says(), a, a, a, a, memory=memory)
    mostly, _ = await measured(says(), a, a, a, says(), *good, memory=memory)
    beside, _ = await measured(says(), a, *good, a, memory=memory)

    for quality in (broken, mostly, beside):
        assert quality.failing[0].new == ("t.py::a",)
        assert "Seen to fail now and then in earlier runs" in checks_table(quality)
    assert memory.noted == []


async def test_what_flakes_is_noted_but_not_on_a_strangers_commits(measured):
    sometimes, memory = ONCE_OF_THREE, MemoryFlakyTests()
    await measured(says(), says("a"), *sometimes, *sometimes, says(), memory=memory)
    await measured(says(), says("b"), *[says()] * 7, memory=memory)
    await measured(says(), says("c"), *[says()] * 7, memory=memory, foreign=True)
    many = [f"n{number}" for number in range(MOST_NOTED + 1)]
    await measured(says(), says(*many), *[says()] * 6, memory=memory)

    # Base and head are one commit here, so nothing of it is a change's.
    assert [(each.name, each.unchanged) for each in memory.noted] == [
        ("t.py::a", True),
        ("t.py::b", True),
    ]


async def test_nobody_looks_into_the_memory_where_all_passes(measured):
    memory = MemoryFlakyTests()
    await measured(says(), says(), memory=memory)

    assert memory.looks == 0


LOCKED = {
    "package.json": "{}",
    "package-lock.json": '{"packages": {"": {"dependencies": {}}}}',
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"package.json": '{"dependencies": {"left-pad": "^1.3.0"}}'},
         "`package.json` and `package-lock.json` disagree about `left-pad`"),
        ({"package-lock.json": "<<<<<<< HEAD\n{}\n"}, "no tool reads `package-lock.json` any more"),
        ({"package-lock.json": " \n"}, "no tool reads `package-lock.json` any more"),
        ({"package-lock.json": "{'a': 1}"}, "no tool reads `package-lock.json` any more"),
        ({"package-lock.json": None}, "removes `package-lock.json` and leaves `package.json`"),
        ({"package-lock.json": "{}" + " " * LONGEST}, "could not be told, because they are too"),
        ({**{f"{n}/package.json": "{}" for n in range(41)}, "package.json": "{ }"},
         "could not be told, because they are too long or too many"),
    ],
    ids=["manifest alone", "half merged", "emptied", "of no form", "removed", "long", "many"],
)  # fmt: skip
async def test_a_lock_that_may_not_fit_is_not_called_good(make_world, request_, change, why):
    policy = "quality: [{name: tests, run: make test}]\n"
    files = {POLICY_PATH: policy, **LOCKED}
    world = make_world(files, (), commands={"make test": lambda _files: says()})
    run = world.run(request_)
    at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
    run.context.standing = run.context.standing.model_copy(update=at)
    baseline = await measure_base.work(run.context, SETUP)
    changed = {path: text for path, text in {**files, **change}.items() if text is not None}
    head = world.history.commit(world.history.tree(changed), world.base, "Take left-pad")
    run.context.standing = run.context.standing.model_copy(update={"head": head})

    quality = await check_quality.work(run.context, baseline)

    assert quality.verdict == "unknown"
    assert any(why in told for told in quality.untold)


@pytest.mark.parametrize(
    ("source", "form", "verdict"),
    [
        ("found in the repository's files", 3, "unknown"),
        (f"`{POLICY_PATH}`", 3, "no worse"),
        ("found in the repository's files", 1, "no worse"),
    ],
    ids=["guessed", "named by people", "an older version's"],
)
def test_what_could_not_be_set_up_is_not_called_good_by_checks_that_were_guessed(
    source, form, verdict
):
    """The only tests for a Python that is not there skip themselves, and all else is green."""
    problem = "`pyproject.toml` asks for python `>=3.14`.\nThere is none. @everyone"
    setup = SetupResult(source="pyproject.toml", problems=(problem,))
    green = CheckResult(**CHECK, exit_code=0)
    now = green.model_copy(update={"verdict": "no worse"})
    base = Baseline(runs=(green,), source=source, setup=setup, form=form)
    quality = CheckComparison(commit="c", runs=(now,), baseline=base)

    assert quality.verdict == verdict
    told = "".join(quality.untold)
    assert ("asks for python" in told) == (verdict == "unknown")
    assert "@everyone" not in told
    assert "\n" not in told


async def test_a_suite_that_starts_no_more_is_worse_than_a_red_one(measured):
    quality, _ = await measured(says("a"), *[CRASH] * 4)
    flaky, _ = await measured(says("a"), CRASH, *[says("a")] * 6)

    assert quality.failing[0].new == ("pytest no longer says which tests fail",)
    assert flaky.verdict == "unknown"


@pytest.mark.parametrize(
    ("again", "earlier", "verdict"),
    [
        ([0, 0, 0], [0, 0, 0], "unknown"),
        ([0, 0, 0], [0, 1], "no worse"),
        ([0, 1, 0], [0, 0, 0], "unknown"),
        ([0, 1, 1], [0, 0, 0], "worse"),
        ([1, 0, 1], [0, 1], "no worse"),
        ([1, 1, 1], [], "worse"),
    ],
)
async def test_of_what_cannot_be_run_alone_all_is_run_three_times(
    measured, again, earlier, verdict
):
    """A suite that the change made fail in two of three runs is no suite that flakes."""
    ends = [CRASH if each else says() for each in (*again, *earlier)]
    quality, _ = await measured(says(), CRASH, *ends)

    assert quality.verdict == verdict
    times = "one" if any(again) else "none"
    why = f"failed at first and then in {times} of 3 runs of all, and in none before"
    assert (why in "".join(quality.untold)) == (verdict == "unknown")


async def test_what_passed_before_is_judged_by_its_exit_code_alone(measured):
    a = says("a")
    named, _ = await measured(says(), a, a, a, a)
    crashed, _ = await measured(says(), *[CRASH] * 4)

    assert named.failing[0].new == ("t.py::a",)
    assert crashed.failing[0].new == ()
    assert crashed.verdict == "worse"


async def test_a_check_that_fails_in_words_of_its_own_tells_nothing(measured):
    unread, _ = await measured((1, "it is broken"), (1, "it is broken in a worse way"))

    assert not unread.failing
    assert unread.verdict == "unknown"
    assert "it failed without saying what fails" in checks_table(unread)


async def test_no_word_of_a_repository_excuses_what_passed_before(measured):
    a = says("a")
    foretold, _ = await measured((0, a[1]), a, a, a, a)
    denied, _ = await measured(says(), *[(1, says()[1])] * 4)

    assert foretold.failing
    assert denied.failing


async def test_what_stops_pytest_while_it_collects_is_passed_over_in_a_second_run(measured):
    lost = "ERROR lost.py - ImportError"
    stopped = (2, f"{HEAD}{lost}\n!!! Interrupted: 1 error during collection !!!\n1 error in 0.1s")
    rest = (1, f"{HEAD}{lost}\n43 passed, 1 error in 0.2s")
    broken = (1, f"{HEAD}FAILED t.py::a - assert 0\n{lost}\n1 failed, 42 passed, 1 error in 0.2s")
    alone = says("a")

    same, _ = await measured(stopped, rest, stopped, rest)
    worse, _ = await measured(stopped, rest, stopped, broken, alone, alone, alone)

    assert same.verdict == "unknown", "nobody ran the tests that could not be collected"
    assert "the tests in `lost.py` could not be run" in same.untold[0]
    assert worse.failing[0].new == ("t.py::a",)


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


def test_a_check_whose_report_names_failures_is_not_said_to_have_passed():
    """Maven passes, told so by `testFailureIgnore`, and Surefire's report names what failed."""
    failures = {"reports": {"Maven": {"names": {"SumTest adds": 1}, "whole": True}}}
    green = CheckResult(**CHECK, exit_code=0)
    now = green.model_copy(update={"failures": FailuresByProgram(**failures), "verdict": "worse"})
    base = Baseline(runs=(green,), source="s", setup=SETUP)
    table = checks_table(CheckComparison(commit="c", runs=(now,), baseline=base))

    assert "| passed | failed (1) |" in table


def test_a_check_that_passed_before_is_told_as_ever():
    said = VerifiedChange(quality=compare_runs({}, base_code=0)).why_not()

    assert said == "These checks of the repository fail now that passed before: `tests`."


async def test_many_guessed_checks_share_the_time_and_what_is_left_goes_to_those_stopped(
    make_world, request_
):
    names = [f"p{number:02}" for number in range(12)]
    files = {f"{name}/package.json": '{"scripts": {"test": "node t.js"}}' for name in names}
    policy = {POLICY_PATH: "setup: {second_look: false}\n"}
    calls = {f"cd {name} && npm run --silent test": (0, "  3 passing (4ms)\n") for name in names}
    slow = f"cd {names[0]} && npm run --silent test"
    ends = [(124, "", "timeout"), (0, "  3 passing (4ms)\n")]
    world = make_world(files | policy, (), commands=calls | {slow: lambda _files: ends.pop(0)})
    run = world.run(request_)
    at = dict.fromkeys(("base", "trunk", "start", "head"), world.base)
    run.context.standing = run.context.standing.model_copy(update=at)

    baseline = await measure_base.work(run.context, SETUP)

    assert not ends, "it was run once more"
    assert "; 12 checks share 60 minutes" in baseline.source
    first, *others = baseline.runs
    assert (first.exit_code, first.timeout) == (0, 900)
    assert 300 < others[0].timeout < 400, "its share, since those before took nothing of it"
