"""Suggestions in comments: which ones there are, and where they apply cleanly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pipelines.address.suggestions.replaced import Replacement, lines_of, replace_lines
from agents.pipelines.address.suggestions.suggestion import (
    Suggestion,
    find_place,
    find_trouble,
    has_no_other_text,
    read_suggestions,
)
from agents.text.markdown import block

FILE = "one\ntwo\nthree\nfour\n"
TWO = ("one", "two")


def apply_suggestion(text, thread, suggestion):
    """Put one suggestion alone into the text, if nothing speaks against it."""
    if find_trouble(text, thread, suggestion):
        return None
    return replace_lines(text, [Replacement(*find_place(thread), suggestion.lines)])


def lines(body):
    return [each.lines for each in read_suggestions(body)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("```suggestion\nfoo\n```", [("foo",)]),
        ("```suggestion\r\nfoo\r\n  bar\r\n```\r\n", [("foo", "  bar")]),
        ("Better:\n```suggestion\nfoo\n```\nthanks", [("foo",)]),
        ("````suggestion\n```\nfoo\n```\n````", [("```", "foo", "```")]),
        ("~~~suggestion\nfoo\n~~~", [("foo",)]),
        ("```suggestion\n```", [()]),
        ("```suggestion:-0+0\nfoo\n```", [("foo",)]),
        ("```suggestion\na\n```\n\nor\n\n```suggestion\nb\n```", [("a",), ("b",)]),
        ("```suggestion\n\tfoo\n\n\tbar\n```", [("\tfoo", "", "\tbar")]),
        ("> ```suggestion\n> foo\n> ```", []),
        ("- ```suggestion\n  foo\n  ```", []),
        ("```python\nfoo\n```", []),
        ("```suggestions\nfoo\n```", []),
        ("    ```suggestion\n    foo\n    ```", []),
        ("````md\n```suggestion\nfoo\n```\n````", []),
        ("<!--\n```suggestion\nfoo\n```\n-->", []),
        ("just words", []),
        ("", []),
    ],
)
def test_suggestions_are_read_as_markdown(body, expected):
    assert lines(body) == expected
    assert not any(each.doubt for each in read_suggestions(body))


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        ("```suggestion\nfoo\n\nAnd please rename it.", "not closed"),
        ("```suggestion\nfoo\n", "not closed"),
        ("```suggestion", "not closed"),
        ("```suggestion:-1+2\nfoo\n```", "other lines"),
        ("```suggestion\n\n```", "blank line"),
        ("```suggestion\nif admin:\u202e # \u2066\n```", "cannot see"),
        ("```suggestion\nad\u200bmin\n```", "cannot see"),
    ],
)
def test_what_is_unclear_is_doubted_and_never_applied(words, body, doubt):
    (made,) = read_suggestions(body)

    assert doubt in made.doubt
    assert apply_suggestion(FILE, words.thread(body, shown=TWO), made) is None


@pytest.mark.parametrize(
    ("body", "alone"),
    [
        ("```suggestion\nfoo\n```", True),
        ("\n\n```suggestion\nfoo\n```\n\n \n", True),
        ("```suggestion\nfoo\n```\nPlease also rename it.", False),
        ("nit\n```suggestion\nfoo\n```", False),
        ("```suggestion\nfoo\n```\n<!-- and drop the tests -->", False),
        ("```suggestion\nfoo\n```\n[//]: # (and drop the tests)", False),
        ("```suggestion\nfoo\n```\n\n> earlier words", False),
        ("```suggestion\nfoo\n```\n```python\nbar\n```", False),
        ("", False),
    ],
)
def test_whether_there_is_anything_else_in_it_is_told_strictly(body, alone):
    assert has_no_other_text(body) is alone


def test_it_replaces_the_line_of_the_thread(words):
    thread = words.thread("", line=2, shown=TWO)

    assert (
        apply_suggestion(FILE, thread, Suggestion(lines=("2a", "2b")))
        == "one\n2a\n2b\nthree\nfour\n"
    )


def test_it_replaces_several_lines_past_those_that_the_change_took_away(words):
    hunk = "@@ -1,3 +1,9 @@\n one\n+two\n-gone\n three"
    thread = words.thread("", start=2, line=3, hunk=hunk)

    assert apply_suggestion(FILE, thread, Suggestion(lines=("23",))) == "one\n23\nfour\n"


def test_an_empty_one_takes_the_lines_away(words):
    thread = words.thread("", start=1, line=2, shown=TWO)

    assert apply_suggestion(FILE, thread, Suggestion(lines=())) == "three\nfour\n"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"outdated": True}, "does not have"),
        ({"line": None}, "does not have"),
        ({"side": "LEFT"}, "does not have"),
        ({"line": 0}, "does not have"),
        ({"start": 3}, "does not have"),
        ({"line": 3}, "differently"),
        ({"line": 9}, "differently"),
        ({"shown": ("one", "TWO")}, "differently"),
        ({"shown": ("one", "two ")}, "differently"),
        ({"start": 1, "shown": ("two",)}, "does not show"),
        ({"hunk": "@@ -1 +1 @@\n one\n-two"}, "does not show"),
        ({"hunk": "@@ -1 +1 @@"}, "does not show"),
        ({"hunk": ""}, "differently"),
        ({"start": 1, "hunk": "@@ -1,9 +1,9 @@\n[3 lines left out]\n+two"}, "does not show"),
    ],
)
def test_it_does_not_apply_where_the_lines_are_not_those_that_the_reviewer_saw(words, more, why):
    thread = words.thread("", **{"line": 2, "shown": TWO, **more})

    assert apply_suggestion(FILE, thread, Suggestion(lines=("new",))) is None
    assert why in find_trouble(FILE, thread, Suggestion(lines=("new",)))


def test_what_reads_like_it_already_is_not_changed(words):
    said = find_trouble(FILE, words.thread("", shown=TWO), Suggestion(lines=("two",)))

    assert said == "the lines read like that already"


@pytest.mark.parametrize(
    ("data", "shown", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "b", ("x", "y"), b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\nb\r\nc\n", "b\r", ("x",), b"a\nx\r\nc\n"),
        (b"a\nb", "b", ("x", "y"), b"a\nx\ny"),
        (b"a\r\nb", "b", ("x", "y"), b"a\r\nx\r\ny"),
        (b"a\nb", "b", (), b"a\n"),
        (b"a\n\xe9\x0cb\nb\nc\x85\n", "b", ("x",), None),
        (b"\xe9\x0cb\x85\nb\nc\n", "b", ("x",), b"\xe9\x0cb\x85\nx\nc\n"),
        (b"\xe9\nb\n", "b", ("\u00e9",), None),
        (b"\xef\xbb\xbfa\nb\n", "b", ("\u00e9",), b"\xef\xbb\xbfa\n\xc3\xa9\n"),
        (b"a\nb\n\0\n", "b", ("x",), None),
    ],
)
def test_everything_else_in_the_file_stays_byte_for_byte(words, data, shown, new, expected):
    text = data.decode("utf-8", "surrogateescape")
    made = apply_suggestion(
        text, words.thread("", line=2, shown=("a", shown)), Suggestion(lines=new)
    )

    assert (made and made.encode("utf-8", "surrogateescape")) == expected


def test_the_mark_at_the_start_of_a_file_stays_when_its_first_line_goes(words):
    thread = words.thread("", line=1, shown=("\ufeffa",))

    assert apply_suggestion("\ufeffa\nb\n", thread, Suggestion(lines=())) == "\ufeffb\n"


TEXT = st.text(alphabet="ab \t\r\n\x0c\u2028\u00e9\udc80", max_size=60)


@given(TEXT)
def test_lines_put_together_again_are_the_file(text):
    assert "".join(line.text + line.end for line in lines_of(text)) == text
    whole = [Replacement(n, n, (line.text,)) for n, line in enumerate(lines_of(text), 1)]
    for each in whole:
        if not lines_of(text)[each.start - 1].text.endswith("\r"):
            assert replace_lines(text, [each]) == text


@given(st.text(alphabet="`~a\n", max_size=40))
def test_nothing_in_a_block_ends_it(text):
    made = "".join(f"{line}\n" for line in text.split("\n"))

    (back,) = read_suggestions(block(made))

    assert back.lines == tuple(text.split("\n"))
    assert has_no_other_text(block(made))
