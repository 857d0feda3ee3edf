"""What C and C++ programs print of their tests: counts, names, and programs that crash."""

import time

import pytest

from agents.analysis.check_failures import FailuresByProgram, compare, read_failures
from agents.analysis.check_failures.c_family import NAMES, WRAPPERS
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.test_runners import join_reports
from tests.agents.analysis.check_failures.programs_said import CRASHED, FAILED, PASSED
from tests.agents.analysis.check_failures.test_compare import Ran

WANTED = {
    "GoogleTest": (4, {"Sum.Breaks", "Num/P.Odd/1"}),
    "Catch2": (4, {"sums break", "throws", "known"}),
    "doctest": (3, {"sums break", "throws"}),
    "Boost.Test": (3, {"sum/breaks", "sum/throws"}),
    "Check": (3, {"ck.c Core:breaks:0", "ck.c Core:crashes:0"}),
    "cmocka": (2, {"breaks"}),
    "Unity": (2, {"t.c test_breaks"}),
    "CUnit": (2, {"Sum breaks"}),
    "CppUTest": (2, {"cp.cc TEST(Sum, breaks)"}),
    "Criterion": (3, {"sum::breaks", "sum::crashes"}),
    "Qt Test": (6, {"Sum::breaks()", "Sum::rows(two)"}),
    "Automake": (4, {"bad.sh", "hard.sh"}),
    "CTest": (4, {"sum.bad", "gone", "crash"}),
}
PLAIN = "[pass] Text [x][x]\n{}\nPass {}, Fail {}\n"


def read(output):
    return read_failures(output, "make check", exited=True)


def one(output, program):
    """Return what the only program told."""
    told = read(output).told
    assert told.keys() == {program}
    return told[program]


def to_run(output, code=0):
    return Ran(code, read(output), output=output)


def test_each_framework_has_recorded_words():
    known = {*NAMES, *(each.name for each in WRAPPERS)} - {"test program"}

    assert WANTED.keys() == FAILED.keys() == PASSED.keys() == known


@pytest.mark.parametrize("program", WANTED)
def test_a_program_tells_how_many_tests_ran_and_which_fail(program):
    told = one(FAILED[program], program)
    good = one(PASSED[program], program)

    assert (told.ran, set(told.names)) == WANTED[program]
    assert (told.whole, told.ended, good.whole, good.ended) == (True,) * 4
    assert not good.names
    assert good.ran == (3 if program == "Qt Test" else 1)


@pytest.mark.parametrize("program", WANTED)
def test_a_comparison_judges_by_them(program):
    bad, good = to_run(FAILED[program], 1), to_run(PASSED[program])

    known = program not in ("Automake", "CTest")  # what fails in a program nobody says
    assert compare((bad,), bad).verdict == ("no worse" if known else "unknown")
    assert compare((good,), good).verdict == "no worse"
    assert compare((good,), bad).new
    assert (
        compare((good,), to_run(FAILED[program])).verdict == "unknown"
    )  # exit code 0 all the same


@pytest.mark.parametrize("program", WANTED)
def test_several_programs_are_added_up(program):
    told = one(FAILED[program] + PASSED[program] + FAILED[program], program)
    count, failed = WANTED[program]

    assert told.ran == 2 * count + one(PASSED[program], program).ran
    assert told.names == dict.fromkeys(failed, 2)
    assert told.whole
    assert told.sessions == 3


def test_programs_of_several_frameworks_are_added_up():
    failures = read(PASSED["Catch2"] + FAILED["CUnit"] + "make: *** [Makefile:2: test] Error 1\n")

    assert failures.ran == 3
    assert failures.names == {"Sum breaks"}
    assert failures.whole


def test_a_program_that_crashed_is_no_good_whatever_the_others_say():
    alone, ignored = to_run(CRASHED["alone"], 2), to_run(CRASHED["ignored"])

    assert alone.failures.names == ignored.failures.names == {"Sum.Crashes"}
    assert (alone.failures.whole, alone.failures.ran) == (False, 1)
    assert compare((to_run(PASSED["CUnit"]),), ignored).verdict == "unknown"
    assert compare((alone,), alone).verdict == "unknown"


@pytest.mark.parametrize(
    "crash",
    [
        "Segmentation fault",
        "Segmentation fault (core dumped)",
        "bash: line 1: 21973 Aborted                 ./crash",
        "sh: 1: Aborted",
        "make: [Makefile:2: test] Aborted (ignored)",
        "make[1]: *** [Makefile:12: check] Segmentation fault (core dumped)",
    ],
)
@pytest.mark.parametrize("program", ["CUnit", "Unity", "Criterion", "Catch2"])
def test_a_crash_beside_a_program_that_passed_is_a_failure(program, crash):
    good, now = to_run(PASSED[program]), to_run(f"{PASSED[program]}{crash}\n")

    assert compare((good,), now).verdict == "unknown"
    assert len(now.failures.names) == 1


def test_a_command_that_fails_behind_programs_that_pass_is_not_known():
    now = to_run(PASSED["CUnit"] + "make: *** [Makefile:3: test] Error 1\n", 2)
    deep = FAILED["CUnit"] + "make[1]: *** [a:3: x] Error 1\nmake: *** [b:3: y] Error 2\n"

    assert not now.failures.whole
    assert compare((now,), now).verdict == "unknown"
    assert read(deep).whole
    assert not read(f"{deep}make: *** [b:9: z] Error 1\n").whole


def test_failures_that_no_summary_follows_are_not_all():
    said = f"{PASSED['Unity']}t.c:4:test_breaks:FAIL: Expected 3 Was 2\n"

    assert not read(said).whole
    assert compare((to_run(PASSED["Unity"]),), to_run(said, 0)).verdict == "unknown"


def test_failures_that_catch2_expects_are_none():
    rule, place = "-" * 79, "c2.cc:7"
    said = f"{rule}\nknown\n{rule}\n{place}\n....\n{place}: FAILED:\n  CHECK( false )\n"

    told = one(f"{said}test cases: 2 | 1 passed | 1 failed as expected\n", "Catch2")
    third = one("test cases:  9 |  6 passed | 2 skipped | 1 failed as expected\n", "Catch2")

    assert (dict(told.names), told.ran, third.ran) == ({}, 2, 7)


def test_more_frequent_forms_of_the_frameworks():
    boost = one(FAILED["Boost.Test"].replace("error: in", "error in"), "Boost.Test")
    cunit = one(
        "     CUnit - A unit testing framework for C - Version 2.1-3\nSuite: Sum\n"
        "  Test: adds ...passed\n  Test: breaks ...FAILED\n    1. cu.c:3  - 1+1==3\n"
        "              tests      3      2      1      1        1\n",
        "CUnit",
    )
    cmocka = one(
        "[==========] sums: Running 1 test(s).\n[ RUN      ] a\n[  FAILED  ] a\n"
        "[==========] sums: 1 test(s) run.\n[  PASSED  ] 0 test(s).\n"
        "[  FAILED  ] sums: 1 test(s), listed below:\n[  FAILED  ] a\n",
        "cmocka",
    )

    assert set(boost.names) == {"sum/breaks", "sum/throws"}
    assert set(cunit.names) == {"Sum breaks"}
    assert (dict(cmocka.names), cmocka.ran, cmocka.whole) == ({"a": 1}, 1, True)


def test_a_program_without_a_framework_is_counted():
    good, bad = PLAIN.format("", 1819, 0), PLAIN.format("[fail] Sum [1][2]", 1818, 1)

    assert one(good, "test program").ran == 1819
    assert one(good + good, "test program").ran == 2 * 1819
    assert set(one(bad, "test program").names) == {"Sum [1][2]"}
    assert compare((to_run(good),), to_run(good)).verdict == "no worse"


def test_failures_without_names_are_never_good():
    nameless = PLAIN.format("", 7, 2)

    assert compare((to_run(PLAIN.format("", 9, 0)),), to_run(nameless)).verdict == "unknown"
    assert compare((to_run(nameless, 1),), to_run(nameless, 1)).verdict == "unknown"


def test_words_of_programs_beside_a_stronger_count_are_no_further_tests():
    strong = "=== 3 passed in 0.1s ===\n"

    assert read(f"Pass 3, Fail 0\n{strong}").ran == 3
    assert read(f"{PASSED['CppUTest']}{strong}").told.keys() == {"pytest"}
    assert read(f"{PASSED['CUnit']}Pass 3, Fail 0\n").told.keys() == {"CUnit"}
    assert read(f"{PASSED['Automake']}1..1\nok 1 - a\n{FAILED['CUnit']}").told.keys() == {
        "Automake"
    }


def test_the_log_that_automake_repeats_is_not_counted_twice():
    log = "# TOTAL: 5\n# PASS:  1\n# FAIL:  1\n# ERROR: 1\n\nFAIL: bad.sh\n============\n"

    told = one(FAILED["Automake"].replace("====\nTestsuite", f"====\n{log}Testsuite"), "Automake")

    assert (told.ran, told.names, told.whole) == (4, {"bad.sh": 1, "hard.sh": 1}, True)


def test_runners_that_start_programs_count_them():
    report = ReportedFailures(whole=True, ended=True, ran=2)
    words = FailuresByProgram(told=read(FAILED["GoogleTest"]).told)

    joined = join_reports(words, {"CTest": report}, exited=True)
    none = join_reports(words, {"Meson": report.model_copy(update={"ran": 0})}, exited=True)

    assert (joined.ran, joined.told.keys()) == (2, set())
    assert none.told.keys() == {"GoogleTest"}


@pytest.mark.parametrize("program", WANTED)
def test_hostile_words_take_no_longer(program):
    line = "[==========] " + "a:" * 400 + "\n"
    signs = FAILED[program]
    hostile = [line, "-" * 79 + "\n" + "x" * 900 + "\n", "make: [" * 140 + "\n", "Suite a, " * 99]

    start = time.process_time()
    read(signs + "".join(each * 1_000 for each in hostile))

    assert time.process_time() - start < 3
