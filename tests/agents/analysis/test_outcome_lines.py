"""A run that passes can speak of failures; times, addresses and `0 failed` are none."""

import time

import pytest

from agents.analysis.outcome_lines import (
    MOST_LINES,
    is_read_whole,
    list_new_lines,
    list_strange_lines,
    read_failure_lines,
    read_success_lines,
)


@pytest.mark.parametrize(
    "line",
    [
        "FAIL twice",
        "not ok 3 - adds",
        "AssertionError [ERR_ASSERTION]: 6 !== 4",
        "make: [Makefile:2: test] Error 1 (ignored)",
        "Traceback (most recent call last):",
        "1 failed, 0 errors",
        "✗ adds",
        "Segmentation fault (core dumped)",
        "add: expected 3, got -1",
        "wrong sum of 1 and 2",
        "FAILED: 11 of 12 passed",
        "2/3 sums passed",
        "passed 11 out of 12",
        "ok 3, failed 2",
        "passed: 3, 2 errors",
        "run.sh: 3: ./t: not found",
    ],
)
def test_lines_of_failures_are_found(line):
    assert read_failure_lines(f"building\n{line}\nall good\n") == (line,)


@pytest.mark.parametrize(
    "line",
    [
        "ok 1 - adds",
        "0 failed, 3 passed",
        "failures: 0",
        "No errors",
        "✓ throws a TypeError where it is wrong",
        "ok 3 - reports an error",
        "[PASS] wrong token",
        "3/3 sums passed",
        "[1/3] adds ok",
        "✔ fails without a file",
        "throws an Error ... ok",
    ],
)
def test_lines_that_say_that_nothing_failed_are_none(line):
    assert read_failure_lines(line) == ()


def test_lines_differ_by_what_they_say_and_not_by_times():
    before = read_failure_lines("FAIL twice (3 ms) at 0xdead\n")

    assert list_new_lines(before, read_failure_lines("FAIL twice (12 ms) at 0xbeef\n")) == []
    assert list_new_lines(before, read_failure_lines("FAIL twice\nFAIL thrice\n")) == [
        "FAIL twice",
        "FAIL thrice",
    ]


def test_what_perl_dies_of_is_a_failure():
    assert read_failure_lines("bad sum at t/add.pl line 2.\n") == ("bad sum at t/add.pl ….",)


def test_lines_differ_by_what_they_say_and_not_by_places_and_days():
    before = read_failure_lines("2026-01-01T10:00:00.1Z (node:7) Error at t.js:3:5 of /tmp/a1/b\n")
    now = read_failure_lines("2026-01-02T11:00:00.2Z (node:9) Error at t.js:9:5 of /tmp/c2/b\n")

    assert before
    assert list_new_lines(before, now) == []


@pytest.mark.parametrize(
    "part", ["expected ", "got ", "at x", "fail 0 ", "ok ", "\nwas got", ".a:1"]
)
def test_hostile_output_is_read_in_little_time(part):
    text = part * (300_000 // len(part))
    began = time.process_time()

    read_failure_lines(text)
    read_success_lines(text)

    assert time.process_time() - began < 1


def test_lines_of_success_have_no_numbers():
    assert read_success_lines("3 passed in 1.2s\n5 passed in 0.1s\nlinking\n") == ("… passed in …",)


def test_of_very_many_lines_so_many_are_kept():
    text = "\n".join(f"FAIL {number}" for number in range(2_000))
    lines = read_failure_lines(text)

    assert len(lines) == MOST_LINES
    assert not is_read_whole(text, lines)


def test_what_was_cut_or_is_too_long_was_not_read_whole():
    lines = "".join(f"test {number} ok\n" for number in range(2_000))

    assert read_success_lines(lines) == ("test … ok",)
    assert is_read_whole(lines, read_success_lines(lines))
    assert not is_read_whole("\n" * 30_000)
    assert not is_read_whole("a\n[... 9 bytes left out ...]\nb\n")


@pytest.mark.parametrize(
    ("before", "now", "strange"),
    [
        ("", "sum is -1\n", ["sum is -1"]),
        ("true\n", "  false\n", ["false"]),
        ("run a.js\n", "run a.js\nrun b.js\n", []),
        ("test_add\n", "test_add\ntest_sub\n", []),
        ("add: done\n", "add: done\nsub: done\n", []),
        ("3\n", "3\nsub works, ok\n\n4\n", []),
    ],
)
def test_lines_that_are_like_none_before_are_found(before, now, strange):
    assert list_strange_lines(before, now) == strange
