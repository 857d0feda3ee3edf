"""What real runners wrote, for people and for programs: recorded once, each with its version."""

import json
from pathlib import Path

import pytest

from agents.analysis.check_failures import read_failures
from agents.analysis.check_failures.named_tests import unpack_names
from agents.analysis.test_runners import (
    find_runner_call,
    join_reports,
    read_reports,
    render_reports,
    select_tests,
)

RECORDED = Path(__file__).parent / "recorded"
WITHIN = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
JEST = {"j/a.test.js > $(touch pwned) `x`", f'j/a.test.js > adds (all) {WITHIN} one + "two"'}
PHP = "Acme\\SumTest::test"
GO = "example.org/things"
FAILED = {
    "jest": ({*JEST, "j/b.test.js (all of it)"}, 3),
    "vitest": (
        {
            'v/a.test.mjs > adds (all) > one + "two"',
            "v/a.test.mjs > top",
            "v/b.test.mjs (all of it)",
        },
        3,
    ),
    "mocha": ({'adds (all) one + "two"', 'hooks "before all" hook for "never"', "top"}, 4),
    "node": (
        {
            'a.test.mjs > bad "q" (x)',
            "a.test.mjs > parent > kid",
            "a.test.mjs > suite > out",
            "b.test.mjs (all of it)",
        },
        7,
    ),
    "go": (
        {
            *(f"{GO} {test}" for test in ("TestBad", "TestGroup", "TestGroup/a_b", "TestNowhere")),
            f"{GO}/broken (all of it)",
            f"{GO}/panics TestP",
        },
        10,
    ),
    "cargo": (
        {
            "doc things src/lib.rs - add (line …)",
            "src/lib.rs tests::bad",
            "src/lib.rs tests::bad_too",
            "tests/more.rs outside",
        },
        5,
    ),
    "rspec": (
        {"./spec/a_spec.rb Sum #deep nests", './spec/a_spec.rb Sum adds "one" $(touch pwned)'},
        3,
    ),
    "phpunit": (
        {
            f"{PHP}Bad",
            f"{PHP}BadToo",
            f'{PHP}Each with data set "named "x""',
            f"{PHP}Each with data set #1",
        },
        7,
    ),
    "exunit": ({'test bad "one": x (SumTest)', "test group inner (SumTest)"}, 3),
    "ctest": ({"absent", "bad+one"}, 2),
    "maven": (
        {
            "org.example.SumTest bad",
            "org.example.SumTest each{int}[2]",
            "org.example.SumTest named",
            "org.example.SumTest$Inner deep",
        },
        6,
    ),
    "gradle": ({"org.example.SumTest bad", "org.example.SumTest badToo"}, 3),
    "meson": ({"things / bad one"}, 4),
}
NAMES = {
    "cargo": "cargo test",
    "ctest": "CTest",
    "exunit": "ExUnit",
    "go": "go test",
    "gradle": "Gradle",
    "maven": "Maven",
    "meson": "Meson",
    "node": "node --test",
    "phpunit": "PHPUnit",
}
WITHOUT_REPORT = ("cargo",)


def read(recorded):
    """Return the call in a recorded command, and what its output and its reports say."""
    files = [tuple(each) for each in recorded["files"]]
    call = find_runner_call(recorded["command"], recorded["manifest"])
    output = recorded["output"] + render_reports(files)
    told = read_failures(output, recorded["command"], exited=True)
    reports = read_reports(files, {*told.told, *([call.runner.name] if call else [])})
    return call, told, join_reports(told, reports, exited=True)


def load(key):
    return json.loads((RECORDED / f"{key}.json").read_text())


@pytest.mark.parametrize("key", FAILED)
def test_the_report_names_what_failed_and_counts_what_ran(key):
    _, _, joined = read(load(key))
    name = NAMES.get(key, key)
    best = joined.best[name]

    assert (set(best.names), best.ran) == FAILED[key]
    assert (name in joined.reports) == (key not in WITHOUT_REPORT)
    named = unpack_names(best.tests)
    single = {each for each in best.names if not each.endswith(" (all of it)")}
    assert named.total() == best.ran
    assert key in ("ctest", "mocha") or single <= {*named}
    assert best.whole == (key != "go"), "a panic keeps the other tests of its package from running"


@pytest.mark.parametrize("key", sorted({*FAILED} - {"ctest", "meson"}))
def test_the_output_for_people_says_as_much(key):
    """Fettle reads it where there is no report; of CTest and Meson only the report."""
    _, told, joined = read(load(key))

    assert told.told[NAMES.get(key, key)].total == joined.best[NAMES.get(key, key)].total


@pytest.mark.parametrize("key", FAILED)
def test_each_test_can_be_selected_and_no_whole_file(key):
    call, _, joined = read(load(key))

    for name in FAILED[key][0]:
        chosen = select_tests(joined, [name], call)
        assert (chosen is None) == (name.endswith(" (all of it)") or "…" in name), name
