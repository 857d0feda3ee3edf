"""The tool `edit`."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.errors import ToolError
from agents.tools.gate.gate import call
from tests.gears import examples


async def edit(bench, path, old, new, **more):
    return await call("edit", {"path": path, "old": old, "new": new, **more}, bench=bench)


async def test_unique_text_is_replaced(bench, put):
    file = put("a.py", "x = 1\ny = 2\nz = 3\n")
    assert await edit(bench, "a.py", "y = 2", "y = 5") == "Replaced once in a.py (line 2)."
    assert file.read_text() == "x = 1\ny = 5\nz = 3\n"


async def test_text_that_is_there_twice_is_refused_with_its_lines(bench, put):
    file = put("a.py", "x\ny\nx\n")
    with pytest.raises(ToolError, match=r"2 times \(lines 1, 3\)"):
        await edit(bench, "a.py", "x", "z")
    assert file.read_text() == "x\ny\nx\n"
    assert await edit(bench, "a.py", "x", "z", replace_all=True) == (
        "Replaced 2 times in a.py (lines 1, 3)."
    )
    assert file.read_text() == "z\ny\nz\n"


async def test_text_that_differs_in_space_is_shown(bench, put):
    put("a.py", "def f():\n\treturn   1\n")
    with pytest.raises(ToolError, match="white space only:\n     2\t\treturn   1"):
        await edit(bench, "a.py", "    return 1", "    return 2")


async def test_similar_text_is_shown(bench, put):
    put("a.py", "import os\n\ndef parse_date(text):\n    return None\n")
    with pytest.raises(ToolError, match=r"Most similar are these lines:\n     3\tdef parse_date\("):
        await edit(bench, "a.py", "def parse_dates(text):", "x")


async def test_text_like_nothing_is_told(bench, put):
    put("a.py", "abc\n")
    with pytest.raises(ToolError, match="Nothing in it is similar"):
        await edit(bench, "a.py", "0123456789", "x")


@pytest.mark.parametrize(
    ("data", "change", "after"),
    [
        (b"a\r\nb\r\nc\r\n", ("a\nb", "a\nx\nb"), b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\nc\n", ("b\nc", "b\nx\nc"), b"a\r\nb\nx\nc\n"),
        (b"a\r\nb\nc\n", ("a\nb", "a\nx"), b"a\r\nx\nc\n"),
        (b"a\nb\n", ("a\r\nb", "c\r\nd"), b"c\nd\n"),
        (b"\xef\xbb\xbfa\n", ("a", "ä"), b"\xef\xbb\xbf\xc3\xa4\n"),
        (b"caf\xe9 x\n", ("x", "\xfc"), b"caf\xe9 \xfc\n"),
        ("é\n".encode("utf-16"), ("é", "è"), "è\n".encode("utf-16")),
        (b"a.b(c)\\1\n", ("b(c)\\1", "\\g<0>\\1"), b"a.\\g<0>\\1\n"),
        (b"no end", ("end", ""), b"no "),
    ],
)
async def test_endings_and_encoding_are_kept(bench, put, data, change, after):
    file = put("f", data)
    await edit(bench, "f", *change)
    assert file.read_bytes() == after


async def test_text_that_the_encoding_lacks_is_refused(bench, put):
    file = put("f", b"caf\xe9\n")
    with pytest.raises(ToolError, match=r"in latin-1, which has no '→'"):
        await edit(bench, "f", "caf", "→")
    assert file.read_bytes() == b"caf\xe9\n"


async def test_nothing_to_change_is_told(bench, put):
    put("f", "a")
    with pytest.raises(ToolError, match="the same"):
        await edit(bench, "f", "a", "a")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet="ab\r\n\té.*", max_size=30),
    st.text(alphabet="ab\n.*", min_size=1, max_size=4),
    st.text(alphabet="ab\n.*", max_size=4),
)
def test_it_does_what_replacing_does(bench, put, text, old, new):
    file = put("f", text)
    plain = text.replace("\r\n", "\n")
    try:
        asyncio.run(edit(bench, "f", old, new, replace_all=True))
    except ToolError:
        assert old == new or old not in plain
        return
    # A lone "\r" may come to stand before a "\n": then all of them stand for one line end.
    assert _one_end(file.read_bytes().decode()) == _one_end(plain.replace(old, new))


def _one_end(text):
    return re.sub("\r+\n", "\n", text)
