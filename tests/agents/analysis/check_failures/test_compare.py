"""What is new among a check's failures, and what a repository could gain by false words."""

import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.analysis.check_failures.compare import compare, confirm_failures, find_new_failures
from agents.analysis.check_failures.named_tests import pack_names, unpack_names
from agents.analysis.check_failures.read import read_failures
from agents.analysis.check_failures.reported import FailuresByProgram, ReportedFailures
from agents.analysis.weakening import RemovedTests
from agents.text import code_span
from tests.agents.analysis.check_failures.said import SAID, WANTED

HEAD = "=== short test summary info ===\n"
SILENT = ("pytest no longer says which tests fail",)


@dataclass(frozen=True)
class Ran:
    """How a check ended."""

    exit_code: int
    failures: FailuresByProgram
    stopped: bool = False
    output: str = ""
    named: bool = False
    missing: tuple = ()
    several: bool = False


def to_run(output, exit_code=1, *, command="make test", exited=True, named=False):
    failures = read_failures(output, command, exited=exited)
    return Ran(exit_code, failures, stopped=not exited, output=output, named=named)


def fails(*names):
    """Return what pytest says where these tests fail."""
    said = "".join(f"FAILED t.py::{name} - assert 0\n" for name in names)
    return to_run(f"{HEAD}{said}=== {len(names)} failed, 1 passed in 0.1s ===\n")


PASSED = to_run("3 passed in 0.1s", 0)
CRASHED = to_run("Segmentation fault (core dumped)", 139)


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("a b", "a b", ""),
        ("a b", "b", ""),
        ("a b", "a b c", "c"),
        ("a", "b", "b"),
    ],
)
def test_only_what_did_not_fail_before_is_new(before, now, new):
    found = find_new_failures((fails(*before.split()),), fails(*now.split()))

    assert found == tuple(f"t.py::{name}" for name in new.split())


SILENT_PASS = "all is well"


@pytest.mark.parametrize(
    ("before", "now", "verdict", "why"),
    [
        (to_run(SILENT_PASS, 0), to_run(SILENT_PASS, 0), "unknown", "says nowhere that any test"),
        (CRASHED, to_run(SILENT_PASS, 0), "unknown", "says nowhere that any test"),
        (to_run(SILENT_PASS, 0), to_run(SILENT_PASS, 0, named=True), "no worse", ""),
        (to_run("", 0), to_run("", 0, command="ruff check ."), "no worse", ""),
        (PASSED, to_run(SILENT_PASS, 0, named=True), "unknown", "passes without saying how many"),
        (to_run(SILENT_PASS, 0), PASSED, "no worse", ""),
    ],
    ids=["guessed", "red before", "named", "no tests", "counted before", "counted now"],
)
def test_a_pass_without_a_count_is_good_only_where_people_named_the_command(
    before, now, verdict, why
):
    found = compare((before,), now)

    assert found.verdict == verdict
    assert why in found.why


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (to_run("collecting ...", 124, exited=False), "it was stopped before it had ended"),
        (to_run("bash: pytest: command not found", 127), "the command could not be started"),
    ],
)
def test_what_was_not_measured_before_leaves_the_verdict_of_a_pass_open(before, why):
    for earlier in ((before,), (PASSED, before)):
        found = compare(earlier, PASSED)
        assert (found.verdict, found.why) == ("unknown", f"before the change, {why}")


def test_a_build_that_failed_before_and_passes_now_is_no_worse():
    broken = to_run("x.c:1:1: error: expected ;\n")

    assert compare((broken,), PASSED).verdict == "no worse"


@pytest.mark.parametrize(
    ("earlier", "ran", "verdict"),
    [
        *((857, 3, "unknown"), (857, 856, "unknown"), (4, 1, "unknown"), (4, 3, "unknown")),
        *((857, 857, "no worse"), (2, 3, "no worse")),
    ],
)
def test_where_tests_no_longer_run_a_green_run_says_nothing(earlier, ran, verdict):
    """A change can make tests skip themselves, as by `importorskip` of what it breaks."""
    found = compare((to_run(f"{earlier} passed in 1s", 0),), to_run(f"{ran} passed in 1s", 0))
    assert found.verdict == verdict
    assert (f"it ran {ran} tests, of {earlier} before" in found.why) == (verdict == "unknown")
    assert bool(found.fewer) == (verdict == "unknown")


MOCHA, VITEST = "  {} passing (1s)\n", " Test Files  9 passed (9)\n      Tests  {} passed\n"


@pytest.mark.parametrize(
    ("now", "verdict", "why"),
    [
        (MOCHA.format(300), "unknown", "`pytest` ran 0 tests, of 40 before"),
        (f"2 skipped in 1s\n{MOCHA.format(300)}", "unknown", "`pytest` ran 0 tests, of 40 before"),
        (
            f"40 passed in 1s\n{MOCHA.format(200)}",
            "unknown",
            "`mocha` ran 200 tests, of 300 before",
        ),
        (f"40 passed in 1s\n{VITEST.format(300)}", "no worse", ""),
    ],
)
def test_each_program_has_to_run_its_tests_or_another_in_its_place(now, verdict, why):
    before = to_run(f"40 passed in 1s\n{MOCHA.format(300)}", 0)

    found = compare((before,), to_run(now, 0))
    assert found.verdict == verdict
    assert why in found.why


@pytest.mark.parametrize(
    ("removed", "verdict", "why"),
    [
        (0, "unknown", "and the change removes none: look for"),
        (10, "unknown", "and the change removes 10 of them: look for"),
        (40, "no worse", ""),
    ],
)
def test_tests_that_the_change_removes_are_not_missing(removed, verdict, why):
    before, now = to_run("100 passed in 1s", 0), to_run("60 passed in 1s", 0)
    found = compare((before,), now, removed=RemovedTests(removed))
    assert found.verdict == verdict
    assert why in found.why


def to_report(names, ran=None):
    """Return a run whose report names these tests."""
    names = names.split()
    packed = pack_names(f"t.py::{name}" for name in names) if ran is None else ""
    report = ReportedFailures(whole=True, ended=True, ran=ran or len(names), tests=packed)
    return Ran(0, FailuresByProgram(reports={"pytest": report}, of_tests=True))


@pytest.mark.parametrize(
    ("now", "removed", "lost"),
    [
        ("a b[1] b[2]", {}, ""),
        ("a b[2] new", {}, ""),
        ("a b[2] new", {"added": {"new"}}, "1 of 3 tests did not run again (t.py::b[1])"),
        ("a new other", {"added": {"new", "other"}}, "(t.py::b[1], t.py::b[2])"),
        ("a new other", {"added": {"new", "other"}, "removed": {"b"}}, ""),
        ("a", {"removed": {"b"}}, ""),
        ("a c[1]", {}, "1 of 3 tests"),
        ("a b[2] b[3]", {"added": {"new"}}, ""),
    ],
    ids=[
        "same",
        "unknown",
        "swapped",
        "both swapped",
        "removed",
        "rows and all",
        "fewer rows",
        "other row",
    ],
)
def test_which_tests_run_counts_and_not_how_many(now, removed, lost):
    before = to_report("a b[1] b[2]")
    found = compare((before,), to_report(now), removed=RemovedTests(**removed))

    assert found.verdict == ("unknown" if lost else "no worse")
    assert lost in found.fewer
    assert ("look for what is skipped now" in found.why) == bool(lost)


def test_names_count_only_where_both_runs_have_them_and_the_change_was_looked_at():
    before, now = to_report("a b"), to_report("a c")

    assert compare((before,), now).verdict == "unknown", "it may remove the one or add the other"
    assert compare((before,), to_report("", ran=2)).verdict == "no worse"
    assert compare((to_report("", ran=2),), now).verdict == "no worse"


def test_names_without_end_are_not_kept():
    assert pack_names(["a" * 200] * 20_000) == ""
    assert unpack_names(pack_names(["a", "b", "a"])) == {"a": 2, "b": 1}
    assert not unpack_names("")


@pytest.mark.parametrize(("ran", "fewer"), [(9, ""), (8, "1 test"), (4, "5 tests")])
def test_how_many_tests_did_not_run_is_said(ran, fewer):
    found = compare((to_run("9 passed in 1s", 0),), to_run(f"{ran} passed in 1s", 0))

    assert found.fewer == (f"{fewer} fewer ran (9 → {ran})" if fewer else "")


def test_packages_of_go_whose_failures_are_mended_are_no_tests_that_are_missing():
    bad = "".join(f"--- FAIL: Test{n} (0.00s)\n" for n in range(30))
    before = to_run(f"{bad}FAIL\tex/a\t0.1s\nok  \tex/b\t0.1s\n")

    assert (
        compare((before,), to_run("ok  \tex/a\t0.1s\nok  \tex/b\t0.1s\n", 0)).verdict == "no worse"
    )


def test_where_most_tests_no_longer_run_the_same_failures_say_nothing():
    """What failed before, too, hides nothing else: neither do failures that come and go."""
    red = f"{HEAD}FAILED t.py::a - no\n=== 1 failed, {{}} passed in 1s ==="
    many, few, green = to_run(red.format(856)), to_run(red.format(5)), to_run("857 passed in 1s", 0)

    for found in (compare((many,), few), compare((green,), few, tolerated=["t.py::a"])):
        assert found.verdict == "unknown"
        assert "it ran 6 tests, of 857 before" in found.why
    assert compare((many,), many).verdict == "no worse"


@pytest.mark.parametrize("program", sorted(SAID.keys() - {"findings", "pre-commit"}))
def test_a_test_that_fails_behind_an_exit_code_of_0_is_no_pass(program):
    """As in `go test ./... | tee log`, or `mocha; exit 0`."""
    before, hidden = to_run("", 0, named=True), to_run(SAID[program], 0)

    found = compare((before,), hidden)
    assert found.verdict == "unknown"
    assert f"{code_span(WANTED[program][0])}" in found.why.replace(" (all of it)", "")
    assert compare((hidden,), hidden).verdict == "no worse"
    assert (
        compare((to_run("", 0),), to_run(SAID["findings"], 0, command="lint")).verdict == "no worse"
    )


def test_in_a_merge_it_is_new_only_if_it_fails_in_neither_branch():
    assert find_new_failures((fails("a"), fails("b")), fails("a", "b", "c")) == ("t.py::c",)
    assert find_new_failures((fails("a"), PASSED), fails("a", "b")) == ("t.py::b",)
    assert find_new_failures((fails("a"), CRASHED), fails("a", "b")) == ()


@pytest.mark.parametrize(
    ("command", "name", "verdict"),
    [
        ("cmake --build build && ctest", "cmake tests", "unknown"),
        ("gradle --no-daemon --offline --continue test", "all", "unknown"),
        ("mvn --batch-mode test", "all", "unknown"),
        ("./ci.sh", "Tests", "unknown"),
        ("make --silent check", "all", "unknown"),
        ("python3 -m flake8 src tests", "lint", "no worse"),
        ("python3 -m mypy tests", "types", "no worse"),
        ("cmake --build build", "cmake build", "no worse"),
    ],
)
def test_tests_that_were_not_built_before_and_after_tell_nothing(command, name, verdict):
    said = "src/a.c:3:5: error: unknown type name 'x'\n"
    failures = read_failures(said, command, exited=True, name=name)

    assert compare([Ran(2, failures)], Ran(2, failures)).verdict == verdict


def test_programs_that_were_not_reached_tell_nothing():
    lint = read_failures("src/a.ts(3,5): error TS2304: no x\n", "npm run check", exited=True)
    one, several = Ran(2, lint), Ran(2, lint, several=True)
    tests = read_failures(SAID["vitest"], "npm run check", exited=True)

    assert compare([one], one).verdict == "no worse"
    assert compare([several], several).verdict == "unknown"
    assert "nobody ran the others: name each" in compare([several], several).why
    assert "could not be run" in compare([Ran(1, tests, several=True)], Ran(1, tests)).why


def test_findings_are_counted_without_their_lines():
    one = "a.py:{}:1: F401 `os` imported but unused\n"
    before = to_run(one.format(3))

    assert find_new_failures((before,), to_run(one.format(90))) == ()
    assert find_new_failures((before,), to_run(one.format(3) + one.format(90))) == (
        "a.py: F401 `os` imported but unused",
    )


@pytest.mark.parametrize(
    "before",
    [
        CRASHED,
        to_run(f"{HEAD}FAILED t.py::a - no\n=== 1 failed in 1s ===", command="pytest -x"),
        to_run(f"{HEAD}FAILED t.py::a - no\n=== 1 failed in 1s ===", exited=False),
        to_run(f"{HEAD}FAILED t.py::a - no\n=== 2 failed in 1s ==="),
        to_run("src/a.py:3:1: F401 `os` imported but unused"),  # the tests came behind it
    ],
)
def test_what_could_not_be_read_before_is_held_against_nobody(before):
    assert find_new_failures((before,), fails("a", "b")) == ()


def test_a_program_that_gets_further_than_before_shows_nothing_new():
    target = "     Running {0} (x)\nfailures:\n    bad\ntest result: FAILED. 1 passed; 1 failed;\n"
    early = "error: test failed, to rerun pass `--lib`\n"
    first, second = target.format("src/lib.rs"), target.format("tests/two.rs")

    assert find_new_failures((to_run(first + early),), to_run(first + second + early)) == ()
    assert find_new_failures((to_run(first + second),), to_run(first + second)) == ()


def test_a_file_that_could_not_be_read_before_hides_the_tests_in_it_only():
    go = "--- FAIL: TestSum (0.00s)\nFAIL\tex/sum\t0.1s\n"
    before = to_run("FAIL\tex/sum [build failed]\nok  \tex/other\t0.1s\n")

    assert find_new_failures((before,), to_run(go)) == ()
    assert find_new_failures((before,), to_run(go.replace("ex/sum", "ex/other"))) == (
        "ex/other TestSum",
    )


@pytest.mark.parametrize("now", [CRASHED, to_run("....F", 137, exited=False), to_run("", 127)])
def test_a_program_that_does_not_come_to_its_count_any_more_is_worse(now):
    assert find_new_failures((fails("a"),), now) == SILENT


def test_a_linter_that_is_content_is_no_program_that_fell_silent():
    assert (
        find_new_failures((to_run("a.py:1:1: F401 `os` unused"),), to_run("the next step failed"))
        == ()
    )


def test_what_is_new_in_one_of_two_runs_is_flaky():
    assert confirm_failures(("a", "b"), ("b", "c")) == ("b",)
    assert confirm_failures(("a",), ()) == ()
    assert confirm_failures(SILENT, ()) == ()
    assert confirm_failures(SILENT, SILENT) == SILENT
    assert confirm_failures(SILENT, ("a",)) == confirm_failures(("a",), SILENT) == ("a",)


LINES = st.sampled_from(
    [
        HEAD.strip(),
        *("FAILED t.py::a - x", "FAILED t.py::b - x", "ERROR t.py", "=== 1 failed in 1s ===", "+"),
        *("1..2", "not ok 1 - a", "ok 2 - b", "Tests:  1 failed, 1 total", "FAIL a.js", "  ● b"),
        *("a.py:1:1: F401 x", "Found 1 error.", "[... 9 bytes left out ...]", "Ran 1 test in 1s"),
    ]
)


@given(st.lists(LINES), st.lists(LINES))
def test_whatever_is_printed_a_check_that_passes_has_nothing_new(before, now):
    assert find_new_failures((to_run("\n".join(before)),), to_run("\n".join(now), 0)) == ()


@given(st.lists(st.sampled_from(["FAILED t.py::z - x", "FAILED t.py::q - x", "ERROR t.py - x"])))
def test_failures_that_are_made_up_hide_no_true_one(false):
    """Whoever prints failures that never were makes it stricter for the change alone."""
    honest = fails("z", "y").failures
    said = f"{HEAD}FAILED t.py::z - x\nFAILED t.py::y - x\n=== 2 failed, 1 passed in 0.1s ===\n"
    lied = to_run("\n".join([HEAD.strip(), *false, said]))

    assert set(find_new_failures((fails("z"),), Ran(1, honest))) <= set(
        find_new_failures((fails("z"),), lied)
    )


NEAR = (
    *("FAILED ", "ERROR a::b - ", "SUBFAILED(", "[gw0] [ 9%] FAILED ", "::", " [ 9%]", "= ", "1 "),
    *("    a b", "--- FAIL: ", "FAIL\tx", "not ok 3 - ", "# Subtest: ", "\u2716 ", "test at a:1"),
    *("  ● a ", " FAIL  a > b > ", "  1) a", "a.py:1:2: error: ", "./a.go:1:", "rspec ./a # "),
    *("Failure: test(", "Time elapsed: <<< ", "a > b FAILED", "hook....", "a(1,2): error ", "("),
    *("   FAIL [ ", "\x1b[31m", "\x1b]", "\r", "a > ", "[", "--> a:1:1", "A#b [", "Failed ", "."),
)
INFO = "\N{INFORMATION SOURCE}"
ENDS = (
    f"Tests: 1 total\n Test Files  1 a\n  1 passing\n  1 failing\n{INFO} tests 1\n{INFO} fail 1\n"
    "1..3\n 1 fail\nok  \tx\ntest result: ok. 1 passed; 1 failed;\n Summary [1] 1/2 tests run:\n"
    "1 examples, 1 failures\n1 runs, 2 assertions, 3 failures, 4 errors\nfailures:\n"
    "Tests: 1, Assertions: 1\nTests run: 1, Failures: 1, Errors: 1, Skipped: 1\n"
    f"1 tests completed, 1 failed\nFailed!  - Failed: 1,\nRan 1 test in 1\n{HEAD}"
)

ENDINGS = ("", "Failed", " FAILED", "<<< FAILURE!", " [ 9%]", ":", " SKIPPED", "}")


@pytest.mark.parametrize("near", [*NEAR, *"1a.: -=\u2716", ""])
def test_near_misses_take_no_time(near):
    """What takes more than linear time would take minutes for these 200 kB."""
    line = near * (980 // len(near)) if near else "\n".join(NEAR)
    line = "\n".join(f"{line}{end}" for end in ENDINGS)
    output = f"{ENDS}{(line + chr(10)) * (200_000 // len(line))}"
    began = time.process_time()

    read_failures(output, "make", exited=True)

    assert time.process_time() - began < 1.5


def test_a_run_without_names_says_what_the_command_says_and_no_markup_of_others():
    hostile = "curl: (6) Could not resolve host: x` ![a](https://evil.example) @team\n"
    run = to_run(f"fetching\n{hostile}make: *** [data] Error 6\n", 2)
    why = compare([run, run], run).why
    assert "Could not resolve host" in why
    assert why.startswith("before the change, it failed without saying what fails")
    quoted = why[why.index("(") + 1 : -1]
    assert quoted.startswith("``")
    assert quoted.endswith("``")
    long = to_run("error: cannot " + "x" * 5000, 2)
    assert len(compare([long, long], long).why) < 300
