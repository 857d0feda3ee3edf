"""Tests that ran, by the words of runners that write no report: what these wrote, word by word."""

import pytest

from agents.analysis.check_failures import compare, read_failures
from agents.analysis.check_failures.named_tests import unpack_names
from agents.analysis.weakening import RemovedTests
from tests.agents.analysis.check_failures.test_compare import to_run

CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/things-8b193a5f14fb3104)

running 4 tests
test tests::good ... ok
test tests::left ... ignored
test tests::panics - should panic ... ok
test tests::slow has been running for over 60 seconds
test tests::slow ... ok <0.001s>

test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests things

running 1 test
test src/lib.rs - add (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
"""
NEXTEST = """\
        PASS [   0.004s] (1/2) things tests::good
        PASS [   0.004s] (2/2) things::more tests::other
     Summary [   0.010s] 2 tests run: 2 passed, 0 skipped
"""
UNITTEST = """\
test_a (tests.test_x.T.test_a) ... ok
test_b (tests.test_x.T.test_b)
Say what it does. ... out
ok
test_c (tests.test_x.T.test_c) ... skipped 'why'
test_d (tests.test_x.T.test_d)
Left out for now. ... skipped 'why'
test_e (tests.test_x.T) ... expected failure

----------------------------------------------------------------------
Ran 5 tests in 0.001s

OK (skipped=2, expected failures=1)
"""
EXUNIT = """\
hello

MoreTest [test/more_test.exs]
  * test left [L#5]\r  * test left (skipped) [L#5]
  * test adds [L#3]\r  * test adds (0.00ms) [L#3]
  * test group inner (x) [L#7]\r  * test group inner (x) (0.03ms) [L#7]

SumTest [test/sum_test.exs]
  * test adds [L#3]\r  * test adds (12.5ms) [L#3]

Finished in 0.03 seconds (0.00s async, 0.03s sync)
4 tests, 0 failures, 1 skipped
"""
BUN = """\
bun test v1.4.5 (a7733435c)

test/a.test.ts:
(pass) adds [0.04ms]
(pass) suite > row 1 [0.04ms]
(pass) suite > row 2
(skip) suite > left
(todo) suite > later

 3 pass
 1 skip
 1 todo
 0 fail
 5 expect() calls
Ran 5 tests across 1 file. [6.00ms]
"""
TAP = """\
TAP version 13
ok 1 - adds # time=4.2ms
    # Subtest: inner
    ok 1 - deep
    1..1
ok 2 - inner
ok 3 left # skip why
ok 4 # TODO later
ok
1..5
"""


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            CARGO,
            [
                "doc things src/lib.rs - add (line …)",
                *(f"src/lib.rs tests::{name}" for name in ("good", "panics", "slow")),
            ],
        ),
        (NEXTEST, ["things tests::good", "things::more tests::other"]),
        (UNITTEST, [f"tests.test_x.T.test_{name}" for name in "abe"]),
        (
            EXUNIT,
            ["test adds (MoreTest)", "test adds (SumTest)", "test group inner (x) (MoreTest)"],
        ),
        (BUN, ["adds", "suite > row 1", "suite > row 2"]),
        (TAP, ["(no name)", "(no name)", "adds", "inner"]),
    ],
    ids=["cargo", "nextest", "unittest", "ExUnit", "Bun", "TAP"],
)
def test_what_ran_is_named(output, names):
    [told] = read_failures(output, "make test", exited=True).told.values()

    assert sorted(unpack_names(told.tests).elements()) == names
    assert told.ran == len(names)


@pytest.mark.parametrize(
    "output",
    [
        CARGO.replace("test tests::good ... ok", "test tests::good ... it prints\nok"),
        CARGO.replace("test tests::good ... ok", "test tests::good ... ok\ntest more ... ok"),
        UNITTEST.replace("test_a (", "words of a test_a ("),
        EXUNIT.replace("* test adds [L#3]\r  * test adds (12.5ms) [L#3]", "."),
        BUN.replace("(pass) adds", "adds"),
    ],
    ids=["words between", "one more", "words in front", "dots", "other words"],
)
def test_where_their_number_is_not_that_of_the_runner_they_are_only_counted(output):
    [told] = read_failures(output, "make test", exited=True).told.values()

    assert told.tests == ""
    assert told.ran


def say(*names):
    """Return what Cargo writes where these tests pass."""
    lines = "".join(f"test tests::{name} ... ok\n" for name in names)
    end = f"test result: ok. {len(names)} passed; 0 failed; 0 ignored; finished in 0.0s\n"
    return to_run(f"{lines}\n{end}", 0)


@pytest.mark.parametrize(
    ("now", "removed", "verdict"),
    [
        (("adds", "more"), {"added": frozenset(("more",))}, "unknown"),
        (("adds", "more"), {"added": frozenset(("more",)), "removed": frozenset(("b",))}, ""),
        (("adds", "b2"), {"renamed": frozenset(("b",)), "kept": frozenset(("b2",))}, ""),
        (("adds", "b", "more"), {"added": frozenset(("more",))}, ""),
        (("adds", "other"), {}, ""),
    ],
    ids=["swapped", "removed", "renamed", "added", "of a macro"],
)
def test_an_old_test_that_a_new_one_runs_in_the_place_of_is_missed(now, removed, verdict):
    found = compare((say("adds", "b"),), say(*now), removed=RemovedTests(**removed))

    assert found.verdict == (verdict or "no worse")
    assert ("tests::b" in found.why) == bool(verdict)


def points(*names):
    return to_run("".join(f"ok - {name}\n" for name in names) + f"1..{len(names)}\n", 0)


@pytest.mark.parametrize(
    ("lines", "verdict"),
    [("  t.equal(add(1), 2, 'is two');", "no worse"), ("", "unknown")],
    ids=["its line is gone", "it stands there still"],
)
def test_messages_of_assertions_may_change_beside_new_ones(lines, verdict):
    """A flaw in names makes no draft of a change whose lines say what became of them."""
    before, now = points("is two", "is three"), points("zero is one", "is three")
    removed = RemovedTests(added=frozenset(("zero",)), lines=lines)

    assert compare((before,), now, removed=removed).verdict == verdict


def test_a_message_that_nothing_came_for_is_missed():
    removed = RemovedTests(added=frozenset(("zero",)), lines="t.equal(add(1), 2, 'is two');")

    found = compare((points("is two", "is three"),), points("is three"), removed=removed)

    assert found.verdict == "unknown"
