"""Test programs in C and C++ count themselves, where no runner does it for them."""

from __future__ import annotations

import pytest

from agents.analysis.check_failures.read import read_failures
from tests.agents.analysis.check_failures.c_programs import RECORDED

FAILED = {
    "Boost.Test 1.74": "inner/fails",
    "CUnit 2.1-3": "sums fails",
    "CUnit 2.1-3, verbose": "sums fails",
    "Check 0.15.2": "ck.c Core:fails:0",
    "CppUTest 4.0": "cp.cc TEST(Sums, Fails)",
    "Criterion 2.4.1": "sums::fails",
    "GoogleTest 1.12.1": "Sums.Fails",
}
"""What the failed test is called, where it is not just `fails`."""
AUTOMAKE = """\
PASS: adds
FAIL: fails
SKIP: later
============================================================================
Testsuite summary for sums 1.0
============================================================================
# TOTAL: 3
# PASS:  1
# SKIP:  1
# XFAIL: 0
# FAIL:  1
# XPASS: 0
# ERROR: 0
============================================================================
make[1]: *** [Makefile:500: test-suite.log] Error 1
"""
UNITY = """\
test/test_sums.c:9:test_adds:PASS
test/test_sums.c:13:test_fails:FAIL: Expected 3 Was 2
-----------------------
2 Tests 1 Failures 0 Ignored
FAIL
"""
QT = """\
********* Start testing of Sums *********
PASS   : Sums::initTestCase()
FAIL!  : Sums::adds(two) Compared values are not the same
   Actual   (1 + 1): 2
Totals: 1 passed, 1 failed, 0 skipped, 0 blacklisted, 1ms
********* Finished testing of Sums *********
"""
CATCH_3 = """\
test cases:   5 |   2 passed | 1 skipped | 1 failed | 1 failed as expected
assertions: 107 | 105 passed | 2 failed
"""
XMLTEST = """\
[pass] Load empty
[fail] Parse a declaration
Pass 1818, Fail 1
"""


def read(output, command="make test"):
    """Return what is read of the only program that is recognised, with its name."""
    [(name, told)] = read_failures(output, command, exited=True).told.items()
    return name, told


@pytest.mark.parametrize("program", RECORDED)
def test_what_passes_is_counted(program):
    framework, good, _ = RECORDED[program]
    name, told = read(good)
    assert name == framework
    assert (dict(told.names), told.ran, told.whole, told.ended) == ({}, 2, True, True)


@pytest.mark.parametrize("program", RECORDED)
def test_what_fails_is_named(program):
    framework, _, bad = RECORDED[program]
    name, told = read(bad)
    assert name == framework
    assert dict(told.names) == {FAILED.get(program, "fails"): 1}
    assert (told.ran, told.whole) == (2, True)


@pytest.mark.parametrize("program", RECORDED)
def test_several_programs_are_added_up(program):
    _, good, bad = RECORDED[program]
    _, told = read(f"{good}\n{bad}\n{good}")
    assert (told.ran, told.total, told.sessions) == (6, 1, 3)


@pytest.mark.parametrize(
    ("output", "name", "ran", "failed"),
    [
        (AUTOMAKE, "Automake", 2, ["fails"]),
        (UNITY, "Unity", 2, ["test/test_sums.c test_fails"]),
        (QT, "Qt Test", 2, ["Sums::adds(two)"]),
        (XMLTEST, "test program", 1819, ["Parse a declaration"]),
        ("Pass 1819, Fail 0\n", "test program", 1819, []),
    ],
)
def test_after_their_documentation(output, name, ran, failed):
    found, told = read(output)
    assert found == name
    assert (told.ran, list(told.names), told.whole) == (ran, failed, True)


def test_numbers_stand_in_any_order():
    _, told = read(CATCH_3)
    assert (told.ran, told.whole) == (4, False)  # one failed, and no name was read


@pytest.mark.parametrize("program", ["GoogleTest 1.12.1", "doctest 2.4.9", "Boost.Test 1.74"])
def test_a_program_that_dies_has_not_run_all_its_tests(program):
    _, good, _ = RECORDED[program]
    begun = "\n".join(good.splitlines()[: 3 if program.startswith("Google") else 1])
    _, told = read(f"{good}\n{begun}\nmake: *** [Makefile:9: check] Segmentation fault\n")
    assert told.early
    assert not told.whole


@pytest.mark.parametrize("program", RECORDED)
def test_a_runner_that_writes_a_report_counts_alone(program):
    _, _, bad = RECORDED[program]
    ctest = f"{bad}\n50% tests passed, 1 tests failed out of 2\n"
    assert read_failures(ctest, "ctest", exited=True).told.keys() == {"CTest"}
    meson = f"{bad}\nOk:                 1\nFail:               1\n"
    assert read_failures(meson, "meson test", exited=True).ran is None


def test_what_another_runner_prints_of_them_is_not_counted_twice():
    _, _, bad = RECORDED["GoogleTest 1.12.1"]
    output = f"{bad}\n========= 1 failed, 4 passed in 0.1s =========\n"
    told = read_failures(output, "pytest", exited=True).told
    assert list(told) == ["pytest"]
