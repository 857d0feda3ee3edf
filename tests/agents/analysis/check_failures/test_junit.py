"""Reports for programs: what pytest and Surefire write, and what a hostile one can do."""

import os
import subprocess
import sys

import pytest

from agents.analysis.check_failures import compare, read_failures, read_junit, select_tests
from tests.agents.analysis.check_failures.test_compare import Ran

TESTS = """
import pytest

def test_good():
    pass

def test_bad():
    assert 0

@pytest.mark.skip
def test_left_out():
    pass

class TestThings:
    @pytest.mark.parametrize("word", ["a b", "c - d"])
    def test_word(self, word):
        assert word == "a b"
"""
SUREFIRE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="org.example.SumTest" tests="3" errors="1" skipped="1" failures="1">
  <testcase name="adds" classname="org.example.SumTest" time="0.01"/>
  <testcase name="subtracts" classname="org.example.SumTest">
    <failure message="expected: &lt;1&gt;"/></testcase>
  <testcase name="waits" classname="org.example.SumTest"><skipped/></testcase>
</testsuite>
"""
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<testsuite><testcase classname="t" name="&b;"/></testsuite>
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Run pytest in a folder of these files; return its ending with the report."""

    def run(*arguments, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        variables = {**os.environ, "PYTEST_ADDOPTS": "--junitxml=report.xml"}
        done = subprocess.run(
            argv, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        failures = read_failures(done.stdout, "pytest", exited=True)
        report = read_junit((tmp_path / "report.xml").read_text())
        return Ran(done.returncode, failures.model_copy(update={"report": report}))

    return run


def test_what_pytest_writes_names_what_fails_and_counts_what_ran(run_pytest):
    ran = run_pytest(test_some=TESTS, test_lost="import nothing_of_that_name")
    go_on = run_pytest("--continue-on-collection-errors")

    assert ran.failures.told["pytest"].early
    assert ran.failures.ran == 0
    assert go_on.failures.ran == 4
    assert go_on.failures.report.unread == ("test_lost",)
    assert set(go_on.failures.report.names) == {
        "test_lost (all of it)",
        "test_some test_bad",
        "test_some.TestThings test_word[c - d]",
    }


def test_tests_are_selected_by_the_names_of_the_report_too(run_pytest, tmp_path):
    ran = run_pytest(test_some=TESTS)
    names = sorted(ran.failures.report.names)
    chosen = select_tests(ran.failures, names)

    assert chosen == {
        "PYTEST_ADDOPTS": "test_some.py::test_bad 'test_some.py::TestThings::test_word[c - d]'"
    }
    alone = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed in" in alone.stdout


def test_go_runs_single_tests_by_a_flag_for_its_own():
    failures = read_failures(
        "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b_c (0.00s)\nFAIL\nFAIL\tx.org/p\t0.1s\n",
        "go test ./...",
        exited=True,
    )

    assert select_tests(failures, ["x.org/p TestA", "x.org/p TestA/b_c"]) == {
        "GOFLAGS": "-count=1 -run=^(TestA)$"
    }
    assert select_tests(failures, ["x.org/p (all of it)"]) is None


def test_what_surefire_writes_is_read_document_by_document():
    told = read_junit(SUREFIRE + SUREFIRE.replace("SumTest", "OtherTest"))

    assert (told.ran, told.whole, set(told.names)) == (
        4,
        True,
        {"org.example.SumTest subtracts", "org.example.OtherTest subtracts"},
    )


@pytest.mark.parametrize(
    "text", [LAUGHS, SUREFIRE[:300], "<?xml version='1.0'?>no", SUREFIRE.replace("adds", "\ud800")]
)
def test_what_cannot_be_read_or_declares_something_is_not_whole(text):
    assert not read_junit(text).whole
    assert not read_junit(SUREFIRE + text).whole


def test_of_ctest_a_test_without_its_program_fails_although_it_is_called_skipped():
    case = '<testcase name="{0}" classname="{0}" status="{1}">{2}</testcase>'
    skipped = '<skipped message="{}"/>'
    cases = (
        case.format("good", "run", ""),
        case.format("absent", "notrun", skipped.format("Unable to find executable")),
        case.format("skips", "notrun", skipped.format("SKIP_RETURN_CODE=77")),
        case.format("off", "disabled", ""),
    )

    told = read_junit(f'<?xml version="1.0"?>\n<testsuite>{"".join(cases)}</testsuite>')

    assert (set(told.names), told.ran) == ({"absent absent"}, 1)


def test_a_red_run_that_names_nothing_which_fails_tells_nothing():
    said = "3 passed in 0.1s\nsh: 1: aud: not found\n"
    red = Ran(1, read_failures(said, "npm test", exited=True))

    assert red.failures.ran == 3
    assert compare([red], red).verdict == "unknown"


def test_without_a_report_there_is_nothing():
    assert read_junit("") is None
    assert read_junit("find: no such file\n").names == {}
    assert not read_junit("find: no such file\n").whole


def test_a_report_decides_where_every_run_has_one():
    def make_ending(code, *bad):
        cases = "".join(
            f'<testcase classname="t" name="{n}">{"<failure/>" if n in bad else ""}</testcase>'
            for n in "abc"
        )
        report = read_junit(f'<?xml version="1.0"?><testsuite>{cases}</testsuite>')
        failures = read_failures("garbled [... 9 bytes left out ...]", "x", exited=True)
        return Ran(code, failures.model_copy(update={"report": report}))

    assert compare([make_ending(1, "a")], make_ending(1, "a")).verdict == "no worse"
    assert compare([make_ending(1, "a")], make_ending(1, "a", "b")).new == ("t b",)
    without = Ran(1, read_failures("garbled", "x", exited=True))
    assert compare([without], make_ending(1, "a")).verdict == "unknown"
