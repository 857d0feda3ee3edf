"""Of scripts that are tests, what is demanded less is told: by `test`, `[`, `diff`, or `grep`."""

import time

import pytest

from agents.analysis.weakening import ViewLine, find_weakening
from agents.analysis.weakening.shell_assertions import find_shell_assertions
from tests.agents.analysis.weakening.conftest import diff_of

SCRIPT = """#!/bin/sh
set -e
. ./lib.sh
{line}
out=$(greet you)
echo "$out" | grep -q hello
"""
BATS = """@test "twice" {{
  run twice 2
  {line}
}}
"""


def find(before, after, path="t/twice.sh", script=SCRIPT):
    changed = {path: script.format(line=before)}, {path: script.format(line=after)}
    return [(each.kind, each.grave) for each in find_weakening(diff_of(*changed))]


GRAVE = {("weaker", True), ("assertion", True), ("around", True)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('test "$(twice 2)" = 4 || exit 1', 'test "$(twice 2)" != 9 || exit 1'),
        ('test "$(twice 2)" = 4', '[ 1 ] || test "$(twice 2)" = 4'),
        ('test "$(twice 2)" = 4', 'test "$(twice 2)" = 4 || true'),
        ('test "$(twice 2)" = 4', 'test "$(twice 2)" = 4 || echo oh'),
        ('test "$(twice 2)" = 4', 'test "$(twice 2)" = 4 || test -n "$(twice 2)"'),
        ('test "$(twice 2)" = 4', 'test "$(twice 2)" = 4 -o 1 = 1'),
        ('[ "$(twice 2)" -eq 4 ]', '[ "$(twice 2)" -gt 1 ]'),
        ('[ "$(twice 2)" -eq 4 ]', '[ -n "$(twice 2)" ]'),
        ('[ "$(twice 2)" -eq 4 ]', "[ 4 -eq 4 ]"),
        ('[[ "$(twice 2)" == 4 ]]', '[[ "$(twice 2)" == *4* ]]'),
        ('[[ "$(twice 2)" == 4 ]]', '[[ "$(twice 2)" =~ [0-9] ]]'),
        ('if [ "$(twice 2)" != 4 ]; then exit 1; fi', 'if [ "$(twice 2)" = 9 ]; then exit 1; fi'),
        ('[ "$(twice 2)" != 4 ] && exit 1', '[ "$(twice 2)" = 9 ] && exit 1'),
        ("diff wanted.txt out.txt", "test -f out.txt"),
        ("cmp -s wanted.txt out.txt || { echo no; exit 1; }", "# cmp -s wanted.txt out.txt"),
        ("diff wanted.txt out.txt", "diff wanted.txt out.txt || :"),
        ("twice 2 | grep -q 4", "twice 2 | grep -q ."),
        ("! grep -q error log.txt", ""),
        ("if ! grep -q 4 out.txt; then\n  exit 1\nfi", "if ! grep -q 4 out.txt; then\n  :\nfi"),
        ("twice 2 >out.txt", "exit 0"),
        ("twice 2 >out.txt", "set +e"),
        ("twice 2 >out.txt", "test() { :; }"),
        ("twice 2 >out.txt", "trap 'exit 0' EXIT"),
    ],
)
@pytest.mark.parametrize("path", ["t/twice.sh", "tests/run.bash"])
def test_what_is_demanded_less_is_for_people_to_agree_to(before, after, path):
    assert GRAVE & {*find(before, after, path)}


def test_a_script_that_goes_on_after_failures_is_for_people_to_agree_to():
    script = SCRIPT.replace("{line}", "").replace("set -e", "{line}")
    assert find("set -eu", "set -u", script=script) == [("assertion", True)]
    assert find("set -e", "set -euo pipefail", script=script) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[ "$status" -eq 0 ]', "[ 0 -eq 0 ]"),
        ('[ "$output" = 4 ]', '[ -n "$output" ]'),
        ('[[ "$output" == *"4"* ]]', '[ -n "$output" ]'),
        ('assert_output "4"', "assert_success"),
        ("run -1 twice x", "run twice x"),
        ('assert_equal "$output" 4', 'assert [ -n "$output" ]'),
    ],
)
def test_cases_of_bats_count_as_well(before, after):
    assert GRAVE & {*find(before, after, "test/twice.bats", BATS)}


def test_bats_may_want_a_status_of_the_command_itself():
    asked = '[ "$status" -eq 0 ]'
    assert find(f"run twice 2\n  {asked}", "run -0 twice 2", "test/twice.bats", BATS) == []
    assert GRAVE & {*find("run -0 twice 2", "run -1 twice 2", "test/twice.bats", BATS)} == set()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('test "$(twice 2)" = 4', '[ "$(twice 2)" -eq 4 ] || exit 1'),
        ('test "$(twice 2)" = 4', 'test "$(twice 2)" = 4 || { echo "no"; exit 1; }'),
        ('[ "$(twice 2)" = 4 ]', "[[ $(twice 2) == 4 ]]"),
        ('[ "$(twice 2)" = 4 ]', 'if [ "$(twice 2)" != 4 ]; then\n  exit 1\nfi'),
        ('[ -n "$(twice 2)" ]', 'test "$(twice 2)" = 4'),
        ("grep -q 4 out.txt", "diff wanted.txt out.txt && grep -q 4 out.txt"),
        ("[ -d out ] || mkdir out", "mkdir -p out"),
        ('[ -n "$DEBUG" ] && set -x', ""),
        ("if [ -f more.sh ]; then\n  . ./more.sh\nfi", ""),
        ('while [ "$i" -lt 5 ]; do i=$((i + 1)); done', ""),
        ("twice 2 >out.txt", "twice 2 >other.txt"),
        ("", 'test "$(twice 3)" = 6'),
    ],
)
def test_honest_changes_ask_nobody(before, after):
    assert not GRAVE & {*find(before, after)}


def test_another_expectation_is_pointed_out():
    found = find('test "$(twice 2)" = 4', 'test "$(twice 2)" = 6')
    assert found == [("expectation", False)]


def test_scripts_elsewhere_are_no_tests():
    assert find('test "$x" = 4', 'test -n "$x"', "scripts/deploy.sh") == []


def test_an_end_of_a_script_that_was_its_last_line_skips_nothing():
    assert find("", "", script=SCRIPT) == []
    before, after = SCRIPT.format(line=""), SCRIPT.format(line="") + "exit 0\n"
    assert find_weakening(diff_of({"t/a.sh": before}, {"t/a.sh": after})) == ()


@pytest.mark.parametrize(
    "line",
    [
        *(
            "a" * 1000,
            "fail" * 250,
            '"$(' * 333,
            "[ " * 500,
            "a && " * 200,
            "err_" * 250,
            "if " * 333,
        ),
        *("$((" * 333, "test " + "-o a " * 199, "( " * 500, "`'\"" * 333, "x=" * 500, " " * 1000),
    ],
)
def test_hostile_lines_take_no_time(line):
    began = time.process_time()
    list(find_shell_assertions([ViewLine(number, line) for number in range(50)]))
    assert time.process_time() - began < 2
