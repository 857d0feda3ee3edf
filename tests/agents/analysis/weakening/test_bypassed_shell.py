"""Of scripts that are tests, what keeps assertions from running, or from failing them, is found."""

import time

import pytest

from agents.analysis.weakening import find_weakening
from tests.agents.analysis.weakening.conftest import diff_of

SCRIPT = """#!/bin/sh
. ./lib.sh
out=$(twice 2)
if [ "$out" != 4 ]; then
  echo "FAIL"
  exit 1
fi
[ "$(twice 3)" = 6 ] || { echo "FAIL 3"; exit 1; }
check "$(twice 4)" 8
if [ -n "$failed" ]; then
  echo "some FAILED"
fi
echo ok
exit $failed
"""
CHECK = 'check() {\n  [ "$1" = "$2" ] || failed=1\n}\n'
FAIL = 'fail() {\n  echo "FAIL: $1" >&2\n  exit 1\n}\n'
BODY = SCRIPT[SCRIPT.index('if [ "$out" != 4 ]') : SCRIPT.index("check")]


def find(old, new, script=SCRIPT):
    assert old in script
    after = script.replace(old, new, 1)
    found = find_weakening(diff_of({"t/twice.sh": script}, {"t/twice.sh": after}))
    return [each.text for each in found if each.grave]


def wrap(begin, end):
    return BODY, f"{begin}\n{BODY}{end}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  exit 1\n", "  exit 0\n"),
        ("  exit 1\n", ""),
        ('"FAIL 3"; exit 1;', '"FAIL 3"; exit 0;'),
        ('"FAIL 3"; exit 1;', '"FAIL 3";'),
        ('{ echo "FAIL 3"; exit 1; }', '{\n  echo "FAIL 3"\n}'),
        ("exit $failed", "exit 0"),
        ("exit $failed\n", ""),
        ("8\n", "8 || true\n"),
        ("8\n", "8 || :\n"),
        ("8\n", "8 &\n"),
        ("exit 1; }", "exit 1; } || true"),
        ("exit 1; }\n", "exit 1; } &\n"),
        (
            '[ "$(twice 3)" = 6 ] || { echo "FAIL 3"; exit 1; }',
            '( [ "$(twice 3)" = 6 ] || exit 1 ) &',
        ),
        wrap("if false; then", "fi"),
        wrap("if ! true; then", "fi"),
        wrap("if [ ]; then", "else\n  echo more\nfi"),
        wrap("while false; do", "done"),
        wrap("until true; do", "done"),
        wrap("for each in; do", "done"),
        wrap("(", ") &"),
        wrap("(", ") || true"),
        wrap("{", "} || :"),
        wrap(": <<'X'", "X"),
        wrap("true <<-X", "X"),
        wrap("later() {", "}"),
        wrap("function later {", "}"),
        ("out=", "exec true\nout="),
        ("out=", "exec sh other.sh\nout="),
        ("out=", "echo ok; exit 0\nout="),
        ("out=", "exit 0\nout="),
    ],
)
def test_what_no_longer_runs_or_fails_is_for_people_to_agree_to(old, new):
    assert find(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  exit 1\n", "  exit 0\n"),
        ("  exit 1\n", ""),
        ('  [ "$1" = "$2" ] || failed=1\n', '  [ "$1" = "$2" ] || echo failed\n'),
        ("failed=1", "true"),
    ],
)
def test_functions_that_fail_have_to_do_so_still(old, new):
    assert find(old, new, FAIL + SCRIPT if "exit" in old else CHECK + SCRIPT)


@pytest.mark.parametrize("line", ["fail() { :; }", "alias fail=true"])
def test_what_the_script_called_is_not_to_be_another_thing(line):
    script = FAIL + SCRIPT.replace('echo "FAIL 3"; exit 1', "fail 3")

    assert find("out=", f"{line}\nout=", script)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  exit 1\n", "  exit 2\n"),
        ("  exit 1\n", "  failed=1\n"),
        ("  exit 1\n", '  fail "twice 2"\n'),
        ('  echo "FAIL"\n', ""),
        ('  echo "FAIL"\n', '  echo "FAIL: $out" >&2\n'),
        ('"FAIL 3"; exit 1;', '"FAIL 3"; failed=$((failed + 1));'),
        ('{ echo "FAIL 3"; exit 1; }', '{\n  echo "FAIL 3"\n  exit 1\n}'),
        ('echo "some FAILED"', 'echo "$failed FAILED"'),
        ("exit $failed", 'exit "$failed"'),
        ("exit $failed", '[ "$failed" -eq 0 ]'),
        ("out=", "rm -rf out\nout="),
        ("out=", "serve &\nout="),
        ("out=", "( sleep 9; kill $$ ) &\nout="),
        ("out=", "(\n  serve\n) &\nout="),
        ("out=", "stop || true\nout="),
        ("out=", "exec 2>&1\nout="),
        ("out=", "exec >log.txt\nout="),
        ("out=", ": <<'X'\n  words\nX\nout="),
        ("out=", "cat <<X >wanted.txt\n[ 4 ]\nX\nout="),
        ("out=", "failing_command() {\n  return 1\n}\nout="),
        ("out=", "usage() {\n  echo usage\n}\nout="),
        ("out=", "if [ ! -x twice ]; then\n  echo skipped\n  exit 0\nfi\nout="),
        ("out=", "case $1 in -h) echo usage; exit 0;; esac\nout="),
        wrap("run() {", "}\nrun"),
        wrap("for each in 1 2; do", "done"),
        wrap("if true; then", "fi"),
        wrap("(", ") || exit 1"),
    ],
)
def test_honest_changes_of_scripts_ask_nobody(old, new):
    assert find(old, new) == []


@pytest.mark.parametrize(
    "line",
    [
        "if false; then",
        ": <<X",
        "a() {",
        ") &",
        "exec x",
        "{",
        "a ;" * 300,
        "((" * 400,
        "f=$(" * 250,
    ],
)
def test_hostile_scripts_take_no_time(line):
    before = SCRIPT * 20
    after = before + "\n".join(
        f"{line} # {number}" for number in range(min(3_000, 200_000 // len(line)))
    )
    began = time.process_time()
    find_weakening(diff_of({"t/a.sh": before}, {"t/a.sh": after}))
    assert time.process_time() - began < 6
