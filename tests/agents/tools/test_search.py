"""The tools `grep` and `glob`, with the real ripgrep."""

from __future__ import annotations

import contextlib

import pytest

from agents.errors import ToolError
from agents.tools.gate.gate import call


@pytest.fixture
def files(put):
    put("src/a.py", "def parse():\n    return 1\n\ndef parse_all():\n    pass\n")
    put("src/b.ts", "function parse() {}\n")
    put("docs/.hidden.md", "Parse (it)\n")
    put("-x.txt", "dash\n")
    put("build/out.py", "def parse_built(): ...\n")
    put(".gitignore", "build/\n")
    put(".git/config", "parse\n")
    put(".ripgreprc", "--files\n")


async def grep(bench, **arguments):
    return await call("grep", arguments, bench=bench)


async def test_matches_come_with_path_and_line(reading, files):
    assert await grep(reading, pattern="parse") == (
        "src/a.py:1:def parse():\nsrc/a.py:4:def parse_all():\nsrc/b.ts:1:function parse() {}"
    )


async def test_it_can_be_narrowed(reading, files):
    assert await grep(reading, pattern="parse", glob="*.ts") == "src/b.ts:1:function parse() {}"
    assert await grep(reading, pattern="PARSE", path="docs", ignore_case=True) == (
        "docs/.hidden.md:1:Parse (it)"
    )
    assert await grep(reading, pattern=r"parse_\w+", glob="!build/**") == (
        "src/a.py:4:def parse_all():"
    )


async def test_neighbouring_lines(reading, files):
    assert await grep(reading, pattern="return", around=1) == (
        "src/a.py-1-def parse():\nsrc/a.py:2:    return 1\nsrc/a.py-3-"
    )


async def test_no_match_is_no_error(reading, files):
    assert await grep(reading, pattern="nowhere") == "No match."


async def test_a_bad_pattern_is_explained(reading, files):
    with pytest.raises(ToolError, match="unclosed group"):
        await grep(reading, pattern="(")


async def test_a_path_that_is_not_there_is_told(reading, files):
    with pytest.raises(ToolError, match="no file or folder nowhere"):
        await grep(reading, pattern="x", path="nowhere")


@pytest.mark.parametrize(
    "arguments",
    [
        {"pattern": "--pre=touch ran"},
        {"pattern": "x", "path": "--pre=touch"},
        {"pattern": "x", "glob": "--pre=touch"},
        {"pattern": "-f/etc/passwd"},
    ],
)
async def test_arguments_are_never_options(reading, tree, files, arguments):
    with contextlib.suppress(ToolError):  # such a path is not there
        assert await grep(reading, **arguments) == "No match."
    assert not (tree.root / "ran").exists()


async def test_a_file_that_looks_like_an_option_can_be_searched(reading, files):
    assert await grep(reading, pattern="dash", path="-x.txt") == "-x.txt:1:dash"


async def test_many_matches_are_bounded(reading, put):
    put("many.txt", "".join(f"match {n}\n" for n in range(5000)))
    text = await grep(reading, pattern="match", max_results=1000)
    assert len(text) <= 15_000
    *lines, last = text.split("\n")
    assert last == f"[{len(lines)} matches shown, there are more: narrow pattern, glob or path]"
    few = await grep(reading, pattern="match", max_results=2)
    assert few.split("\n")[:2] == ["many.txt:1:match 0", "many.txt:2:match 1"]
    assert few.count("\n") == 2


async def test_long_lines_are_clipped(reading, put):
    put("min.js", "x" * 9000 + "needle")
    assert len(await grep(reading, pattern="needle")) < 500


async def test_without_ripgrep_it_says_what_else_to_use(reading, tree, files):
    tree.path = "/nonexistent"
    with pytest.raises(ToolError, match="ripgrep is not installed here"):
        await grep(reading, pattern="x")


async def test_searches_never_write(reading, bench, tree, files):
    await grep(bench, pattern="x")
    await call("glob", {"pattern": "**"}, bench=bench)
    assert {writable for _, writable in tree.commands} == {False}


# --- glob ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.py", "src/a.py"),
        ("*.ts", "src/b.ts"),
        ("src/**", "src/a.py\nsrc/b.ts"),
        ("/workspace/src/*.py", "src/a.py"),
        ("docs/.*", "docs/.hidden.md"),
        ("**/config", "No file matches."),
        ("--files-with-matches", "No file matches."),
    ],
)
async def test_files_are_found_by_path(reading, files, pattern, found):
    assert await call("glob", {"pattern": pattern}, bench=reading) == found


async def test_many_files_are_bounded(reading, put):
    for n in range(30):
        put(f"f/{n:02}.txt", "")
    text = await call("glob", {"pattern": "f/*", "max_results": 3}, bench=reading)
    assert text.split("\n") == [
        "f/00.txt",
        "f/01.txt",
        "f/02.txt",
        "[3 files shown, there are more: narrow the pattern]",
    ]


async def test_a_bad_glob_is_explained(reading, files):
    with pytest.raises(ToolError, match="glob"):
        await call("glob", {"pattern": "a{b"}, bench=reading)
