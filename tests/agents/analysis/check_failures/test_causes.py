"""Why a test failed, by what runners write of it: bounded, and of that test alone."""

import json
import time
from pathlib import Path

import pytest

from agents.analysis.check_failures.causes import (
    LONGEST,
    find_output_cause,
    find_places,
    find_test_causes,
)
from agents.text import plain_output

RECORDED = Path(__file__).parents[1] / "test_runners" / "recorded"
PYTEST = """\
FF.                                                         [100%]
=================================== FAILURES ===================================
_________________________________ test_render __________________________________

    def test_render():
>       assert render('a') == 'a'

t_app.py:5:
    def render(x): return painter.render(x)
E   AttributeError: module 'painter' has no attribute 'render'

t_app.py:3: AttributeError
_________________________________ TestB.test_b _________________________________

    def test_b(self):
>       assert x == 4, "so"
E       AssertionError: so
E       assert 3 == 4

t_app.py:9: AssertionError
_______________________ ERROR collecting t_gone.py _____________________________
ImportError while importing test module 't_gone.py'.
E   ModuleNotFoundError: No module named 'painter.old'
=========================== short test summary info ============================
FAILED t_app.py::test_render - AttributeError: module 'painter' has no attr...
FAILED t_app.py::TestB::test_b - AssertionError: so
ERROR t_gone.py
2 failed, 1 passed, 1 error in 0.07s
"""
UNITTEST = """\
======================================================================
ERROR: test_render (t_app.Case.test_render)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "t_app.py", line 5, in test_render
    render("a")
AttributeError: module 'painter' has no attribute 'render'
----------------------------------------------------------------------
Ran 2 tests in 0.000s
"""


def test_pytest_says_it_in_lines_of_its_own():
    names = ["t_app.py::test_render", "t_app.py::TestB::test_b", "t_gone.py (all of it)"]
    assert find_test_causes(PYTEST, names) == {
        names[0]: ("AttributeError: module 'painter' has no attribute 'render'",),
        names[1]: ("AssertionError: so", "assert 3 == 4"),
        names[2]: ("ModuleNotFoundError: No module named 'painter.old'",),
    }


def test_its_summary_says_it_where_nothing_else_does():
    short = PYTEST[PYTEST.index("==== short") :]
    name = "t_app.py::TestB::test_b"
    assert find_test_causes(short, [name]) == {name: ("AssertionError: so",)}


def test_unittest_writes_what_python_raised():
    name = "t_app.Case.test_render"
    said = ("AttributeError: module 'painter' has no attribute 'render'",)
    assert find_test_causes(UNITTEST, [name]) == {name: said}


@pytest.mark.parametrize(
    ("tool", "name", "first"),
    [
        ("cargo", "src/lib.rs tests::bad", "assertion `left == right` failed"),
        ("exunit", "test group inner (SumTest)", "** (RuntimeError) x"),
        ("gradle", "org.example.SumTest > badToo", "java.lang.IllegalStateException at SumTest"),
        ("jest", 'j/a.test.js > adds (all) › one + "two"', "Expected: 2"),  # noqa: RUF001 - its own
        ("maven", "named", "java.lang.IllegalStateException: x"),
        ("mocha", 'adds (all) one + "two"', "AssertionError [ERR_ASSERTION]: 1 == 2"),
        ("node", "a.test.mjs > out", "Error: x"),
        ("phpunit", "Acme\\SumTest::testBad", "Failed asserting that 2 is identical to 1."),
        ("rspec", "./spec/a_spec.rb Sum #deep nests", "Failure/Error: describe"),
        ("vitest", "v/a.test.mjs > top", "Error: no"),
    ],
)
def test_what_runners_really_wrote(tool, name, first):
    output = plain_output(json.loads((RECORDED / f"{tool}.json").read_text())["output"])
    causes = find_test_causes(output, [name])[name]
    assert any(line.startswith(first) for line in causes), causes


def test_a_check_that_names_no_tests_says_what_was_raised():
    wrote = "loading\n/w/sign.js:2\n  ^\n\nTypeError: render is not a function\n    at sign.js:2\n"
    assert find_output_cause(wrote) == ("TypeError: render is not a function",)
    assert find_output_cause("one\nthe script ended\n") == ("one", "the script ended")
    assert find_output_cause("") == ()


def test_the_lines_of_the_repositorys_own_files_are_found():
    wrote = (
        "    at exports.draw (/workspace/src/sign.js:2:33)\n"
        "    at file:///workspace/src/sign.js:9:1\n"
        "    at x (/workspace/node_modules/painter/src/sign.js:5:1)\n"
        '  File "/w/lib/app.py", line 7, in render\n'
        "t_app.py:3: AttributeError\n./t_app.py:3: again\nsum.go:12: got 3, want 4\n"
        "see http://t_app.py:80/ at 12:30\n"
    )
    paths = {"src/sign.js", "lib/app.py", "t_app.py", "index.js"}
    assert find_places(wrote, paths) == (
        "src/sign.js:2",
        "src/sign.js:9",
        "lib/app.py:7",
        "t_app.py:3",
    )


def test_nothing_is_said_of_a_test_that_the_output_does_not_name():
    assert find_test_causes("all is well\n", ["t.py::test_x"]) == {"t.py::test_x": ()}


@pytest.mark.parametrize(
    "line",
    [
        "Error " * 2_000,
        ":1" * 9_000,
        'File "' * 9_000,
        "x" * 100_000,
        "a.Error" * 9_000,
        " " * 90_000,
    ],
)
def test_hostile_output_takes_no_time_and_little_room(line):
    output = f"test_x\n{line}\n" * 1_000
    began = time.process_time()
    [told] = find_test_causes(output, ["t.py::test_x"]).values()
    find_output_cause(output)
    assert find_places(output, {"a.py"}) == ()
    assert time.process_time() - began < 2
    assert all(len(each) <= LONGEST for each in told)
