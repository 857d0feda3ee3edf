"""What people are shown to decide on: nothing hides in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.text.literal import literal


def test_each_argument_stands_below_its_name():
    found = literal({"command": "set -e\nmake deploy", "timeout": 60, "env": {"A": ["b"]}})
    assert found.text == (
        "command:\n    set -e\n    make deploy\ntimeout (JSON):\n    60\n"
        'env (JSON):\n    {\n      "A": [\n        "b"\n      ]\n    }'
    )
    assert (found.escaped, found.letters) == (0, ())


def test_no_value_can_pose_as_another_argument():
    found = literal({"command": "ls\ntimeout:\n    1"})
    assert found.text == "command:\n    ls\n    timeout:\n        1"


@pytest.mark.parametrize("arguments", [{}, {"a": ""}, {"a": None}, ["x"], "x", 3])
def test_any_arguments_can_be_literal(arguments):
    assert literal(arguments).text


@pytest.mark.parametrize(
    ("hidden", "written"),
    [
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\u200b", "\\u200b"),
        ("\u2060", "\\u2060"),
        ("\ufeff", "\\ufeff"),
        ("\u00ad", "\\xad"),
        ("\u00a0", "\\xa0"),
        ("\u3000", "\\u3000"),
        ("\u3164", "\\u3164"),
        ("\u2028", "\\u2028"),
        ("\ufe0f", "\\ufe0f"),
        ("\U000e0041", "\\U000e0041"),
        ("\x1b[2K", "\\x1b[2K"),
        ("\r", "\\r"),
        ("\x00", "\\x00"),
        ("\x85", "\\x85"),
        ("\ud800", "\\ud800"),
        ("\ue000", "\\ue000"),
    ],
)
def test_what_nobody_can_see_is_written_out(hidden, written):
    found = literal({"command": f"rm a{hidden}b"})
    assert found.text == f"command:\n    rm a{written}b"
    assert found.escaped == 1


def test_names_of_arguments_are_written_out_as_well():
    assert literal({"com\u202emand": "x"}).text == '"com\\u202emand":\n    x'


@pytest.mark.parametrize(
    ("end", "written"), [(" ", "\\x20"), ("\t", "\\t"), ("\n", "\\n"), (" \n", "\\x20\\n")]
)
def test_what_hides_at_the_end_of_a_line_is_written_out(end, written):
    assert literal({"path": f"a{end}"}).text == f"path:\n    a{written}"


def test_letters_that_pass_for_others_are_named():
    found = literal({"url": "https://p\u0430ypal.example/\u03bf"})
    assert "`\u0430` is U+0430 CYRILLIC SMALL LETTER A" in found.letters
    assert "`\u03bf` is U+03BF GREEK SMALL LETTER OMICRON" in found.letters
    assert literal({"text": "Grüße, 世界"}).letters == ()


def test_no_name_can_pose_as_another_argument():
    assert literal({"a:\n    b\nc": "d"}).text == '"a:\\n    b\\nc":\n    d'
    assert literal({"a (JSON)": "1"}).text == '"a (JSON)":\n    1'


def test_no_two_values_look_alike():
    values = [
        "",
        "(empty)",
        '""',
        None,
        "null",
        True,
        "true",
        1,
        "1",
        [],
        "[]",
        {},
        "{}",
        "\n",
        "\\n",
    ]
    shown = {literal({"x": value}).text for value in values}
    assert len(shown) >= len(values) - 1  # an escape looks like its own spelling, but is counted
    assert literal({"x": ""}).text == 'x (JSON):\n    ""'


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())))
def test_whatever_comes_out_can_be_seen(values):
    for char in literal(values).text:
        assert char in "\n\t" or char.isprintable()
