"""The tool `write`."""

from __future__ import annotations

import pytest

from agents.errors import ToolError
from agents.tools.gate.gate import call


async def write(bench, path, content):
    return await call("write", {"path": path, "content": content}, bench=bench)


async def test_a_new_file_is_made_with_its_folders(bench, tree):
    assert await write(bench, "a/b/c.py", "x\ny\n") == "Created a/b/c.py (2 lines)."
    assert (tree.root / "a/b/c.py").read_bytes() == b"x\ny\n"


async def test_a_file_is_replaced(bench, put):
    file = put("a", "1\n2\n3\n")
    assert await write(bench, "a", "ü") == "Replaced a (1 line, before 3)."
    assert file.read_bytes() == "ü".encode()


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"\xef\xbb\xbfa\n", "c\n", b"\xef\xbb\xbfc\n"),
        ("a\n".encode("utf-16"), "ü\n", "ü\n".encode("utf-16")),
        (b"\0\1\2", "text\n", b"text\n"),
    ],
)
async def test_endings_and_encoding_are_kept(bench, put, before, content, after):
    file = put("f", before)
    await write(bench, "f", content)
    assert file.read_bytes() == after


async def test_a_symlink_is_not_followed(bench, tree, put):
    target = put("target", "safe")
    (tree.root / "link").symlink_to(target)
    with pytest.raises(ToolError, match="symbolic link"):
        await write(bench, "link", "x")
    assert target.read_text() == "safe"
