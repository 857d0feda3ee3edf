"""What makes YAML surprising, or large, is refused at its place; the rest is plain values."""

import contextlib
import time

import pytest

from agents.policy.document import LONGEST, MalformedPolicy, read_document

BOMB = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c]\n" % (96 + n, 96 + n, 95 + n, 95 + n) for n in range(2, 26)
)


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (BOMB, (2, 8), "aliases like `*a` are not read"),
        (b"a: 1\nb: {<<: {c: 1}}", (2, 5), "`<<` is not read"),
        (b"a: 1\nb: 2\na: 3\n", (3, 1), "`a` stands here a second time; the first is in line 1"),
        (b"a: {b: 1, b: 2}", (1, 11), "`b` stands here a second time"),
        (b"a: 1\n---\nb: 2\n", (2, 1), "a second document begins here"),
        (b"a:\n\tb: 1\n", (2, 1), "a tab stands where YAML wants spaces"),
        (b"a: !!python/object/apply:os.system [id]", (1, 4), "tags like `!!python"),
        (b"a: !secret x", (1, 4), "tags like `!secret`"),
        (b"a: !!binary aGk=", (1, 4), "tags like `!!binary`"),
        (b"? [a]\n: b", (1, 3), "a key has to be a word"),
        (b"ok: 1\nname: caf\xe9\n", (2, 10), "from here on it is not UTF-8"),
        ("\u00e4: 1\nb: \x07".encode(), (2, 4), "the character U+0007 cannot stand in YAML"),
        ("a: \u202e1".encode("utf-16"), (1, 1), "not UTF-8"),
        (b"a: " + b"9" * 5000, (1, 4), "this value cannot be read"),
        (b"[" * 5000, (1, 13), "nested deeper"),
        (b"a: " + b"{a: " * 40, (1, 48), "nested deeper"),
        (b"just words", (1, 1), "has to be made of keys"),
        (b"- a", (1, 1), "has to be made of keys"),
        (b"a: `b", (1, 4), "it is not YAML"),
        (b"#" * (LONGEST + 1), (1, 1), f"it may have {LONGEST}"),
        (b'a: "\\UFFFFFFFF"', (1, 7), "a number stands here that cannot be read"),
        (b'a: "\\U00110000"', (1, 7), "a number stands here that cannot be read"),
        (b"%YAML " + b"1" * 5000 + b".1\n---\na: 1", (1, 7), "a number stands here"),
        (b'a: 1\nb: "x\\uD800"', (2, 4), "the character U+D800 cannot stand here"),
        (b'a: "\\0"', (1, 4), "the character U+0000 cannot stand here"),
        (b'"\\e[2J": 1', (1, 1), "the character U+001B cannot stand here"),
        (b"a: 0x" + b"F" * 60_000, (1, 4), "this number is too large"),
        (b"a: 1" + b":1" * 31_000, (1, 4), "this number is too large"),
        (b"a: !!bool x", (1, 4), "this value cannot be read"),
        (b"a: !!int ''", (1, 4), "this value cannot be read"),
    ],
    ids=range(30),
)
def test_what_is_refused_is_refused_at_its_place(data, place, words):
    with pytest.raises(MalformedPolicy) as caught:
        read_document(data)

    fault = caught.value.fault
    assert (fault.line, fault.column) == place
    assert words in fault.text


@pytest.mark.parametrize(
    "data", [b"[" * LONGEST, b"a: {" * 16_000, b"a: [" + b"x," * 31_000 + b"]"]
)
def test_the_worst_of_the_longest_is_read_in_a_moment(data):
    begin = time.process_time()
    with contextlib.suppress(MalformedPolicy):
        read_document(data)
    assert time.process_time() - begin < 8  # most machines take one


def test_words_are_what_is_written_and_dates_are_words():
    text = b"on: yes\n1: 2026-02-01\nn: ~\nl: [1, 1.5, 'x', \"y\"]\n"
    assert read_document(text).value == {
        "on": True,
        "1": "2026-02-01",
        "n": None,
        "l": (1, 1.5, "x", "y"),
    }


def test_a_mark_at_the_beginning_and_other_line_ends_are_no_fault():
    assert read_document(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n").value == {"a": 1, "b": 2}


def test_what_the_file_says_cannot_get_out_of_its_quotes():
    with pytest.raises(MalformedPolicy) as caught:
        read_document("a: 1\n'x` @all ![i](//e)\u202e': 1\n'x` @all ![i](//e)\u202e': 2\n".encode())

    assert "`x? @all ![i](//e)?` stands here" in caught.value.fault.text
