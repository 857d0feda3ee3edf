"""What failed in a check, by name: the words of real programs, each read as it writes them."""

import os
import shutil
import subprocess
import sys

import pytest

from agents.analysis.check_failures.read import MOST, read_failures
from agents.analysis.check_failures.reported import ALL_OF_IT
from tests.agents.analysis.check_failures.said import SAID, WANTED

PYTEST = """\
import unittest
import pytest
def test_ok(): pass
def test_bad(): assert object() == 2
@pytest.mark.parametrize("x", ["a - b", "c d"])
def test_parameters(x): assert not x
@pytest.fixture
def broken(): raise ValueError("no")
def test_set_up(broken): pass
class TestIn:
    def test_in(self): assert 0
class Case(unittest.TestCase):
    def test_case(self): self.fail("x")
"""
UNITTEST = """\
import unittest
class Case(unittest.TestCase):
    def test_each(self):
        for i in range(3):
            with self.subTest("m", i=i): self.assertNotEqual(i, 1)
    @unittest.expectedFailure
    def test_surprise(self): pass
    def test_bad(self):
        "Words in between."
        self.fail("x")
    @classmethod
    def tearDownClass(cls): raise ValueError("cls")
"""
NODE = """\
import {test, describe, it} from 'node:test'; import assert from 'node:assert';
test('ok', () => {}); test('bad', () => { assert.equal(1, 2) });
describe('suite', () => { it('in', () => {}); it('out', () => { throw new Error('x') }); });
test('parent', async (t) => { await t.test('kid', () => assert.ok(false)); });
test('later', {todo: true}, () => assert.ok(false));
"""
RUST = """\
/// Adds.
///
/// ```
/// assert_eq!(ca::add(1), 3);
/// ```
pub fn add(a: i32) -> i32 { a + 1 }
#[cfg(test)]
mod tests { #[test] fn good() {} #[test] fn bad() { assert_eq!(super::add(1), 3); } }
"""


def names(output, command="make test", program=None):
    """Return what is read, of the only program there is."""
    told = read_failures(output, command, exited=True).told
    assert len(told) == 1, told
    [(found, each)] = told.items()
    assert program in (None, found)
    return each


@pytest.fixture
def ran(tmp_path):
    """Run a program in a folder with these files; return what it wrote."""

    def run(files, *argv):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        done = subprocess.run(
            argv,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            check=False,
        )
        assert done.returncode, done.stdout
        return done.stdout.decode()

    return run


@pytest.mark.parametrize("options", [("-q",), ("-qq",), ("-v", "-rN"), ("--color=yes",)])
def test_pytest(ran, options):
    alone = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
    told = names(ran({"test_a.py": PYTEST}, *alone, *options, "test_a.py"), program="pytest")

    assert set(told.names) == {
        "test_a.py::test_bad",
        "test_a.py::test_parameters[a - b]",
        "test_a.py::test_parameters[c d]",
        "test_a.py::test_set_up",
        "test_a.py::TestIn::test_in",
        "test_a.py::Case::test_case",
    }
    assert told.whole
    assert told.ended is ("-qq" not in options)


def test_pytest_that_cannot_collect_or_stops_is_not_whole(ran):
    alone = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    broken = names(ran({"test_b.py": "import nowhere_at_all\n"}, *alone, "test_b.py"))
    first = names(ran({"test_a.py": PYTEST}, *alone, "--maxfail=1", "test_a.py"))

    assert set(broken.names) == {f"test_b.py{ALL_OF_IT}"}
    assert set(first.names) == {"test_a.py::test_bad"}
    assert not broken.whole
    assert not first.whole


def test_pytest_in_parallel():
    told = names(
        "[gw1] [ 25%] PASSED test_a.py::test_ok \n"
        "[gw0] [ 50%] FAILED test_a.py::test_p[a - b] \n"
        "[gw1] [ 75%] ERROR test_a.py::test_set_up \n"
        "=== 1 failed, 1 passed, 1 error in 1.11s ===\n"
    )

    assert set(told.names) == {"test_a.py::test_p[a - b]", "test_a.py::test_set_up"}
    assert told.whole


def test_unittest(ran):
    files = {"test_a.py": UNITTEST, "test_b.py": "import nowhere_at_all\n"}
    told = names(ran(files, sys.executable, "-B", "-m", "unittest", "-q"), program="unittest")

    assert {name for name in told.names if "surprise" not in name} == {
        "test_a.Case.test_each [m] (i=1)",
        "test_a.Case.test_bad",
        "test_a.Case.tearDownClass",
        f"test_b{ALL_OF_IT}",
    }
    assert told.ended


RULE = "=" * 70
LINE = "-" * 70


def test_unittest_names_a_test_alike_in_all_pythons():
    def one(first, ended="FAILED (failures=1)"):
        told = names(
            f"{RULE}\n{first}\n{LINE}\nTraceback\n{LINE}\nRan 3 tests in 0.1s\n\n{ended}\n"
        )
        assert told.whole
        return set(told.names)

    old = one("FAIL: test_sum (app.tests.Sums)")
    new = one("FAIL: test_sum (app.tests.Sums.test_sum)\nWhat it does.")
    nose = one("FAIL: app.tests.test_sum")

    assert old == new == {"app.tests.Sums.test_sum"}
    assert nose == {"app.tests.test_sum"}


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node on this machine")
def test_node_by_its_own_reporter_and_by_tap(ran):
    files = {"a.test.mjs": NODE, "b.test.mjs": "import 'nowhere-at-all'\n"}
    spec, tap = (
        names(ran(files, "node", "--test", f"--test-reporter={each}", *files))
        for each in ("spec", "tap")
    )

    assert {name.rpartition(" > ")[2] for name in spec.names} == {
        *("bad", "out", "kid"),
        f"b.test.mjs{ALL_OF_IT}",
    }
    assert {"bad", "suite > out", "parent > kid"} < set(tap.names)
    assert not any("later" in name for name in (*spec.names, *tap.names))
    assert (spec.whole, spec.ended, tap.whole, tap.ended) == (True,) * 4


@pytest.mark.skipif(not shutil.which("cargo"), reason="there is no cargo on this machine")
def test_cargo(ran):
    manifest = '[package]\nname = "ca"\nversion = "0.1.0"\nedition = "2021"\n'
    files = {"Cargo.toml": manifest, "src/lib.rs": RUST}
    files["tests/two.rs"] = "#[test] fn other() { assert!(false) }\n"
    every = names(ran(files, "cargo", "test", "--offline", "--no-fail-fast", "--tests"))
    first = names(ran(files, "cargo", "test", "--offline", "--tests"))

    assert set(every.names) == {"src/lib.rs tests::bad", "tests/two.rs other"}
    assert set(first.names) == {"src/lib.rs tests::bad"}
    assert (every.whole, every.sessions, first.sessions) == (True, 0, 1)


@pytest.mark.parametrize("form", ["full", "concise"])
def test_ruff(ran, form):
    text = "import os\nimport os\n\nx = 1\nprint(undefined)\n"
    rules = ("--isolated", "--no-cache", "--select=F821,F401,F811", f"--output-format={form}")
    told = names(ran({"a.py": text}, sys.executable, "-m", "ruff", "check", *rules, "."))

    assert any(name.startswith("a.py: F821 Undefined name `undefined`") for name in told.names)
    assert told.whole
    assert not any(char.isdigit() for name in told.names for char in name.partition(" F")[2][4:])


@pytest.mark.parametrize("program", SAID)
def test_what_other_programs_write(program):
    told = names(SAID[program], program=program)

    assert sorted(n for n, count in told.names.items() for _ in range(count)) == sorted(
        WANTED[program]
    )
    assert told.whole


def test_nextest_by_all_of_its_words():
    """As its own snapshots have them, where a test that is tried again fails more than once."""
    told = names(
        "        PASS [   1.000s] (  1/10) my-binary-id good\n"
        "  TRY 1 FAIL [   1.000s] (  2/10) my-binary-id flaky\n"
        "  TRY 2 PASS [   1.000s] (  2/10) my-binary-id flaky\n"
        " FAIL + LEAK [   1.000s] (  3/10) my-binary-id both\n"
        "       XFAIL [   1.000s] (  4/10) my-binary-id not-started\n"
        "     TIMEOUT [  60.000s] (  5/10) my-binary-id slow\n"
        "     SIGSEGV [   1.000s] (  6/10) my-binary-id crash\n"
        "       ABORT [   1.000s] (  7/10) my-binary-id abort\n"
        "  TRY 2 FAIL [   1.000s] (  8/10) my-binary-id again\n"
        " TRY 2 FL+LK [   1.000s] (  9/10) my-binary-id leaks\n"
        "TRY 2 LKFAIL [   1.000s] ( 10/10) my-binary-id lost\n"
        "     Summary [  15.750s] 10 tests run: 2 passed (1 flaky), 6 failed, 1 exec failed,"
        " 1 timed out, 2 skipped\n"
        "   FLAKY 2/2 [   1.000s] (  2/10) my-binary-id flaky\n"
        "   TRY 2 TMT [  60.000s] ( 5/10) my-binary-id slow\n",
        program="nextest",
    )

    failed = "both not-started slow crash abort again leaks lost"
    assert set(told.names) == {f"my-binary-id {name}" for name in failed.split()}
    assert (told.whole, told.ran, told.total) == (True, 10, 8)


def test_phpunit_leaves_alone_what_others_sum_up_alike():
    assert names("OK (2 tests, 4 assertions)", program="PHPUnit").ran == 2
    assert "PHPUnit" not in read_failures("OK (2 tests, 2 ran, 2 checks)", "x", exited=True).told


@pytest.mark.parametrize(
    ("program", "output"),
    [
        ("pytest", "10 passed in 0.31s"),
        ("unittest", "Ran 3 tests in 0.01s\n\nOK (skipped=1)"),
        ("jest", "Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total"),
        ("mocha", "  3 passing (5ms)"),
        ("go test", "ok  \texample.com/sum\t0.002s"),
        ("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored; finished in 0s"),
    ],
)
def test_a_program_that_reports_no_failure_is_recognised(program, output):
    """Coverage may be too low: that the tests pass is known all the same."""
    told = names(output, program=program)

    assert told.ended
    assert told.whole
    assert not told.names


def test_what_nobody_knows_tells_nothing():
    assert not read_failures("Segmentation fault (core dumped)", "./run", exited=True).told
    assert not read_failures("", "./run", exited=True).whole


def test_what_differs_from_run_to_run_is_no_part_of_a_name():
    def one(address, place, seconds):
        return names(
            "=== short test summary info ===\n"
            f"FAILED t.py::test_x[<object object at {address}>-{place}/file] - no\n"
            f"=== 1 failed in {seconds}s ===\n"
        ).names

    assert one("0x7f21", "/tmp/pytest-1", 0.1) == one("0x7f99", "/tmp/pytest-2", 0.4)


@pytest.mark.parametrize(
    ("output", "command", "exited"),
    [
        ("[... 9 bytes left out ...]\n{}", "pytest -qq", True),
        ("{}", "pytest -qq", False),
        ("{}", "pytest -qq -x", True),
        ("{}", "npm test -- --bail", True),
        ("{}!!!!!! stopping after 1 failures !!!!!!\n", "pytest -qq", True),
    ],
)
def test_what_may_miss_a_failure_is_not_whole(output, command, exited):
    said = "=== short test summary info ===\nFAILED t.py::test_x - no\n"

    assert read_failures(said, "pytest -qq", exited=True).whole
    assert read_failures(output.format(said), command, exited=exited).total == 1
    assert not read_failures(output.format(said), command, exited=exited).whole


def test_a_count_that_is_larger_than_the_names_is_not_whole():
    said = "=== short test summary info ===\nFAILED t.py::test_x - no\n=== 2 failed in 1s ===\n"

    assert not names(said).whole


def test_more_names_than_are_kept_are_not_whole():
    many = "".join(f"FAILED t.py::test_{n} - no\n" for n in range(MOST + 1))
    told = names(f"=== short test summary info ===\n{many}=== {MOST + 1} failed in 1s ===\n")

    assert len(told.names) == MOST
    assert not told.whole


def test_a_file_that_node_could_not_load_ran_no_test():
    told = names("TAP version 13\nnot ok 1 - /workspace/test/a.test.js\n1..1\n", "npm test")
    assert told.unread == ("/workspace/test/a.test.js",)
    inside = "# Subtest: a.test.js\n    not ok 1 - adds\n    1..1\nnot ok 1 - a.test.js\n1..1\n"
    assert names(inside, "npm test").unread == ()
