"""The tool `read`."""

from __future__ import annotations

import pytest

from agents.errors import ToolError
from agents.tools.gate.gate import call


async def test_lines_come_numbered(reading, put):
    put("src/a.py", "one\n\nthree\n")
    assert await call("read", {"path": "src/a.py"}, bench=reading) == (
        "     1\tone\n     2\t\n     3\tthree"
    )


async def test_a_part_says_where_to_go_on(reading, put):
    put("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))
    text = await call("read", {"path": "a.txt", "offset": 11, "limit": 2}, bench=reading)
    assert text == "    11\tline 11\n    12\tline 12\n[lines 11-12 of 100; go on with offset=13]"


async def test_a_long_file_is_paged_without_gaps(reading, put):
    lines = [f"{n} {'x' * (n % 90)}" for n in range(1, 3001)]
    put("long.txt", "\n".join(lines))
    seen, offset, pages = [], 1, 0
    while offset:
        text = await call("read", {"path": "long.txt", "offset": offset}, bench=reading)
        assert len(text) <= 30_000
        *page, last = text.split("\n")
        offset = int(last.split("offset=")[1].rstrip("]")) if "offset=" in last else 0
        page += [] if offset else [last]
        seen += [line.split("\t", 1)[1] for line in page]
        pages += 1
    assert seen == lines
    assert pages < 8


async def test_a_very_long_line_is_clipped(reading, put):
    put("min.js", "x" * 90_000)
    text = await call("read", {"path": "min.js"}, bench=reading)
    assert text.endswith("x […89000 more characters in this line]")
    assert len(text) < 1200


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfa\n", "     1\ta\n[encoding utf-8 with a byte order mark]"),
        (
            "ä\r\nb\r\n".encode("utf-16"),
            "[encoding utf-16-le with a byte order mark, CRLF line endings]",
        ),
        (b"caf\xe9\n", "     1\tcafé\n[encoding latin-1]"),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n[CRLF line endings]"),
        (b"", "[the file is empty]"),
        (b"esc \x1b[31m\n", "     1\tesc \\x1b[31m"),
    ],
)
async def test_encodings_and_oddities_are_told(reading, put, data, shown):
    put("f", data)
    assert (await call("read", {"path": "f"}, bench=reading)).endswith(shown)


async def test_a_binary_file_is_not_shown(reading, put):
    put("x.png", b"\x89PNG\0\0\1")
    with pytest.raises(ToolError, match=r"x\.png is not a text file \(7 bytes\)"):
        await call("read", {"path": "x.png"}, bench=reading)


async def test_a_missing_file_names_those_of_that_name(reading, put):
    put("lib/Parser.py", "x")
    with pytest.raises(ToolError, match=r"no file src/parser\.py\. Files of that name: lib/Parser"):
        await call("read", {"path": "src/parser.py"}, bench=reading)


async def test_beyond_the_end_is_an_error(reading, put):
    put("a", "1\n2\n")
    with pytest.raises(ToolError, match="has only 2 lines"):
        await call("read", {"path": "a", "offset": 3}, bench=reading)


async def test_paths_as_commands_see_them_work(reading, put):
    put("src/a", "x")
    for path in ("/workspace/src/a", "./src//a", "src/../src/a"):
        assert await call("read", {"path": path}, bench=reading) == "     1\tx"
