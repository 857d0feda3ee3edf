"""Titles and commit messages: one line, and nothing in it acts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.text import commit_text, one_line, split_title
from agents.text.lines import quiet_in_commits

WJ = "\u2060"

LINES = [
    ("Accept one to six digits in %f", "Accept one to six digits in %f"),
    ("Fix `a_b` & <x>\r\n\r\nand more", "Fix `a_b` & <x> and more"),
    ("ping @octocat and @org/team", f"ping @{WJ}octocat and @{WJ}org/team"),
    ("fixes #3, closes other/repo#4", f"fixes{WJ} #3, closes{WJ} other/repo{WJ}#4"),
    ("resolves #7", "resolves #7"),
    ("a\u202eb\u200b\x1b[31mc\x00", "abc"),
    ("quick [skip ci] and [CI SKIP]", f"quick [{WJ}skip ci] and [{WJ}CI SKIP]"),
    ("see https://evil.test/x?secret=1", "see https://evil.test/x…"),
    ("/merge this", f"{WJ}/merge this"),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_a_title_sets_nothing_off(text, expected):
    line = one_line(text, 200, closes=frozenset({7}))
    assert line == expected
    assert one_line(line, 200, closes=frozenset({7})) == line


def test_a_long_title_is_cut():
    assert one_line("word " * 30, 20) == "word word word word…"
    assert len(one_line("x" * 99, 72)) == 72


def test_a_commit_body_keeps_its_lines_but_gives_no_trailers():
    body = (
        "Reads more digits.\n\nSigned-off-by: Linus <l@x.y>\nFettle-Run: 1\n"
        "skip-checks: true\nCo-authored-by: a"
    )
    assert commit_text(body).split("\n") == [
        "Reads more digits.",
        "",
        f"Signed-off-by{WJ}: Linus <l@x.y>",
        f"Fettle-Run{WJ}: 1",
        f"{WJ}skip-checks: true",
        f"Co-authored-by{WJ}: a",
    ]


@given(st.text())
def test_a_title_is_always_one_line(text):
    line = one_line(text, 72)
    assert len(line) <= 72
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("`Closes #5`", f"`Closes{WJ} #5`"),
        ("```\nfixes: octo/other#5\n```", f"```\nfixes{WJ}: octo/other#5\n```"),
        ("It is [skip ci] now.", f"It is [{WJ}skip ci] now."),
        ("skip-checks: true", f"{WJ}skip-checks: true"),
        ("Co-authored-by: Eve <e@example.com>", f"Co-authored-by{WJ}: Eve <e@example.com>"),
        ("`fixed(5)` is `#5` of [a list](#5).", "`fixed(5)` is `#5` of [a list](#5)."),
    ],
)
def test_a_description_sets_nothing_off_as_a_message(text, quiet):
    assert quiet_in_commits(text) == quiet
    assert quiet_in_commits(quiet) == quiet


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# A title\n\nA body\nof two lines.\n", "A title", "A body\nof two lines."),
        ("A title", "A title", ""),
        ("\n\n## A title \n\n\nA body", "A title", "A body"),
        ("A title\r\n\r\nA body\r\n", "A title", "A body"),
        ("", "", ""),
        ("#\n\nA body", "", "A body"),
    ],
)
def test_the_first_line_of_an_issue_is_its_title(text, title, body):
    assert split_title(text) == (title, body)
