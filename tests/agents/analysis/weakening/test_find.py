"""Findings say where and what; diffs that cannot be read need a person; and it takes no time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.analysis.weakening.find import find_weakening
from tests.agents.analysis.weakening.conftest import diff_of
from tests.agents.analysis.weakening.samples import HEAD, JS, SUM, TABLE, ZERO, P, swap
from tests.gears import examples


def test_a_finding_says_where_and_what():
    edit = swap("", "add(1, 2) == 3", "add(1, 2) is not None")

    [finding] = edit.findings()

    assert finding.place == f"{P}:7"
    assert finding.what == "assertion weakened"
    assert finding.text == "assert add(1,2)==3 → assert add(1,2)is not None"
    assert finding.grave


@pytest.mark.parametrize(
    "diff",
    [
        "no diff at all",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n cut off\n",
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n?what\n",
        "@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_a_diff_that_cannot_be_read_needs_a_person(diff):
    [finding] = find_weakening(diff)

    assert (finding.kind, finding.grave) == ("unreadable", True)


def test_no_change_is_no_finding():
    assert find_weakening("") == ()


def test_a_test_that_git_was_told_not_to_show_needs_a_person():
    """An attribute `-diff` would hide whatever is done to a test."""
    diff = f"diff --git a/{P} b/{P}\nindex 1..2 100644\nBinary files a/{P} and b/{P} differ\n"

    [finding] = find_weakening(diff)

    assert (finding.kind, finding.grave, finding.path) == ("unreadable", True, P)


def test_names_that_git_quotes_are_read():
    name = r'"b/tests/test_\303\244 \"x\".py"'
    diff = (
        f"diff --git {name.replace('b/', 'a/')} {name}\ndeleted file mode 100644\n"
        f"--- {name.replace('b/', 'a/')}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n"
        "-def test_a():\n-    assert f() == 1\n"
    )

    [finding] = find_weakening(diff)

    assert (finding.kind, finding.path) == ("deleted", 'tests/test_ä "x".py')


LINES = st.lists(
    st.sampled_from(
        [
            *SUM.splitlines(),
            *ZERO.splitlines(),
            *TABLE.splitlines(),
            *JS.splitlines(),
            "@",
            "(",
            '"',
        ]
    ),
    max_size=25,
).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=examples(60))
@given(before=LINES, after=LINES, path=st.sampled_from([P, "a.test.ts", "src/lib.rs", "a_test.go"]))
def test_whatever_the_texts_are_it_answers_and_an_unchanged_file_is_fine(before, after, path):
    for finding in find_weakening(diff_of({path: before}, {path: after})):
        assert finding.path == path
    assert find_weakening(diff_of({path: before}, {path: before})) == ()


@settings(max_examples=examples(60))
@given(text=LINES)
def test_adding_a_file_or_lines_at_the_end_takes_nothing_away(text):
    tests = HEAD + SUM
    assert not any(each.grave for each in find_weakening(diff_of({}, {P: HEAD + SUM + ZERO})))
    added = find_weakening(
        diff_of({P: tests}, {P: f"{tests}\n\nclass TestNew:\n    pass\n\n\n{ZERO}"})
    )
    assert added == ()
    assert find_weakening(diff_of({P: text}, {P: text})) == ()


@settings(max_examples=examples(60))
@given(noise=st.text(max_size=300))
def test_noise_is_never_trusted(noise):
    assert isinstance(find_weakening(noise), tuple)


@pytest.mark.parametrize(
    "line", ["it" + ".a" * 40_000 + "(", "}" * 90_000, "(" * 90_000, "a." * 50_000]
)
def test_a_long_line_takes_no_time(line):
    began = time.process_time()

    find_weakening(diff_of({"a.test.ts": f"{line}\n"}, {"a.test.ts": f"x\n{line}1\n"}))

    assert time.process_time() - began < 3


def test_thousands_of_tests_take_seconds():
    before = "".join(
        f"def test_{n}():\n    assert add({n}, 1) == {n + 1}\n\n" for n in range(1_500)
    )
    after = "".join(
        f"def test_x{n}():\n    assert sub({n}, 1) == {n - 1}\n\n" for n in range(1_500)
    )
    began = time.process_time()

    found = find_weakening(diff_of({P: before}, {P: after}))

    assert len(found) == 1_500
    assert time.process_time() - began < 15
