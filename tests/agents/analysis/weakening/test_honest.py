"""Honest work on tests gives no alarm, by table."""

from __future__ import annotations

import pytest

from tests.agents.analysis.weakening.conftest import EditCase
from tests.agents.analysis.weakening.samples import (
    CS,
    GO,
    HEAD,
    JAVA,
    JS,
    RB,
    RS,
    SUM,
    TABLE,
    UNIT,
    ZERO,
    P,
    one,
    py,
    swap,
)

MORE = "\n\ndef test_more():\n    assert add(4, 4) == 8\n"
HERE_ALONE = "\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='no')\n"
SKIPPED_BEFORE = "@pytest.mark.skip\n" + SUM
LOOP = (
    "def test_sum():\n    for a, b, c in [(1, 2, 3), (0, 0, 0), (0, 5, 5)]:\n"
    "        assert add(a, b) == c\n"
)
THREE = (
    "def test_a():\n    assert add(1, 2) == 3\n\n\ndef test_b():\n"
    "    assert add(0, 5) == 5\n\n\ndef test_c():\n    assert add(7, 1) == 8\n"
)
PARAMETRISED = (
    "@pytest.mark.parametrize(\n    ('a', 'b', 'c'),\n    [\n        (1, 2, 3),\n"
    "        (0, 5, 5),\n"
    "        (7, 1, 8),\n    ],\n)\ndef test_add(a, b, c):\n    assert add(a, b) == c\n"
)
HONEST = [
    py("a new test with a way out", SUM, SUM + "\n\ndef test_b():\n    def f():\n        return\n"),
    swap(
        "one error is expected",
        "    assert add(0, 0) == 0\n",
        "    try:\n        add('')\n    except TypeError:\n        assert add(0, 0) == 0\n",
    ),
    py("a fixture behind it", SUM, SUM + "\n\n@pytest.fixture\ndef place():\n    yield 1\n"),
    py(
        "the same name in another class",
        UNIT,
        UNIT + "\n\n" + UNIT.replace("TestLib", "TestMore"),
    ),
    one("lib_test.go", GO, "// Package lib adds.\n" + GO),
    EditCase("new file", {}, {P: HEAD + SUM + ZERO}),
    py("new test", SUM, SUM + ZERO),
    py("new test between", SUM + ZERO, SUM + MORE + ZERO),
    py("more assertions", SUM, SUM + "    assert add(2, 2) == 4\n"),
    swap("renamed test", "test_zero", "test_nothing_is_added"),
    swap("renamed and more", "test_zero():\n", "test_nothing():\n    assert add(9, 0) == 9\n"),
    swap("moved within the file", SUM + ZERO, ZERO.lstrip("\n") + "\n\n" + SUM),
    EditCase(
        "moved between files",
        {P: HEAD + SUM + ZERO},
        {P: HEAD + SUM, "tests/test_zero.py": HEAD + ZERO.lstrip()},
    ),
    EditCase(
        "a file taken apart",
        {P: HEAD + SUM + ZERO},
        {"tests/test_sum.py": HEAD + SUM, "tests/test_zero.py": HEAD + ZERO.lstrip()},
    ),
    EditCase(
        "renamed file", {P: SUM}, {"tests/test_add.py": SUM}, renames=((P, "tests/test_add.py"),)
    ),
    EditCase(
        "renamed and extended",
        {P: SUM},
        {"tests/unit/test_lib.py": SUM + ZERO},
        renames=((P, "tests/unit/test_lib.py"),),
    ),
    EditCase("empty file gone", {"tests/__init__.py": ""}, {}),
    py("parametrised", THREE, PARAMETRISED),
    py("a loop", SUM + ZERO, LOOP),
    py("one made a table", SUM + ZERO, TABLE.replace("(5, 6)", "(0, 5)") + "\n\n" + SUM + ZERO),
    py(
        "more cases",
        TABLE,
        TABLE.replace("        (7, 8),\n", "        (7, 8),\n        (9, 10),\n"),
    ),
    py(
        "table sorted",
        TABLE,
        TABLE.replace("        (1, 2),\n        (5, 6),\n", "        (5, 6),\n        (1, 2),\n"),
    ),
    py(
        "a case moved into a test",
        TABLE,
        TABLE.replace("        (5, 6),\n", "")
        + "\n\ndef test_five():\n    assert add(5, 1) == 6\n",
    ),
    swap("formatted", "assert add(0, 5) == 5", "assert add(\n        0,\n        5,\n    ) == 5"),
    py(
        "quotes",
        "def test_s():\n    assert parse('a') == 'b'\n",
        'def test_s():\n    assert parse("a") == "b"\n',
    ),
    swap("fixture added", "def test_zero():", "def test_zero(tmp_path):"),
    swap("made async", "def test_zero():", "async def test_zero():"),
    swap("marked as slow", "def test_zero", "@pytest.mark.slow\ndef test_zero"),
    swap("stronger", "assert add(1, 2) == 3", "assert add(1, 2) == 3 and add(2, 1) == 3"),
    py("from truth to value", "def test_a():\n    assert add(1, 2)\n", SUM.replace("_sum", "_a")),
    py(
        "from True to truth",
        "def test_a():\n    assert parse('1') == True\n",
        "def test_a():\n    assert parse('1') is True\n",
    ),
    py(
        "assertEqual None",
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertEqual(add(1, 2), None)"),
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertIsNone(add(1, 2))"),
    ),
    py(
        "assertEqual True",
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertEqual(add(1, 2), True)"),
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertTrue(add(1, 2))"),
    ),
    py(
        "tighter",
        "def test_f():\n    assert add(1, 2) == pytest.approx(3, rel=0.5)\n",
        "def test_f():\n    assert add(1, 2) == pytest.approx(3, rel=1e-9)\n",
    ),
    py(
        "exact now",
        "def test_f():\n    assert add(1, 2) == pytest.approx(3)\n",
        "def test_f():\n    assert add(1, 2) == 3\n",
    ),
    py(
        "raises one",
        "def test_bad():\n    with pytest.raises(Exception):\n        parse(1)\n",
        "def test_bad():\n    with pytest.raises(ValueError, match='no'):\n        parse(1)\n",
    ),
    py("renamed function", SUM, SUM.replace("add(", "plus(")),
    py(
        "split in two",
        "def test_all():\n    assert add(1, 2) == 3\n    assert parse('a') == 'a'\n",
        (
            "def test_sum():\n    assert add(1, 2) == 3\n\n\n"
            "def test_parse():\n    assert parse('a') == 'a'\n"
        ),
    ),
    py(
        "helper",
        "def test_a():\n    x = parse('a')\n    assert x.b == 1\n    assert x.c == 2\n",
        (
            "def check(x, b, c):\n    assert x.b == b\n    assert x.c == c\n"
            "\n\ndef test_a():\n    check(parse('a'), 1, 2)\n"
        ),
    ),
    py("skip taken away", SKIPPED_BEFORE, SUM),
    py(
        "skip reason",
        SKIPPED_BEFORE,
        SKIPPED_BEFORE.replace("skip\n", "skip(reason='no network')\n"),
    ),
    py("skipped test renamed", SKIPPED_BEFORE, SKIPPED_BEFORE.replace("test_sum", "test_total")),
    py(
        "new test for one system",
        SUM,
        SUM
        + (
            "\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='no')\n"
            "def test_posix():\n    assert parse('/') == '/'\n"
        ),
    ),
    py(
        "new test for one system, in several lines",
        SUM,
        SUM
        + (
            "\n\n@pytest.mark.skipif(\n    sys.platform == 'win32',\n    reason='no (yet)',\n)\n"
            "def test_posix():\n    assert parse('/') == '/'\n"
        ),
    ),
    EditCase(
        "new test of a name that another file has",
        {P: HEAD + SUM, "tests/test_b.py": HEAD + ZERO},
        {P: HEAD + SUM + HERE_ALONE + ZERO, "tests/test_b.py": HEAD + ZERO + MORE},
    ),
    py("docstring", SUM, SUM.replace("():\n", '():\n    """It adds."""\n')),
    py(
        "class around",
        SUM,
        "class TestAdd:\n"
        + SUM.replace("def", "    def")
        .replace("()", "(self)")
        .replace("    assert", "        assert"),
    ),
    one(
        "lib_test.go",
        GO,
        GO + "\nfunc TestMore(t *testing.T) {\n\tif add(2, 2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n",
    ),
    one("lib_test.go", GO, GO.replace("TestAdd", "TestAddsTwo")),
    one("lib.test.ts", JS, JS.replace("'adds'", "'adds two numbers'")),
    one("lib.test.ts", JS, "describe('lib', () => {\n" + JS.replace("\n", "\n  ") + "});\n"),
    one(
        "lib.test.ts",
        JS,
        JS
        + "it.each([[1, 2], [2, 3]])('next %i', (a, b) => {\n  expect(add(a, 1)).toBe(b);\n});\n",
    ),
    one("src/lib.rs", RS, RS.replace("fn adds()", "fn adds_two()")),
    one(
        "src/lib.rs",
        "pub fn f(x: i32) {\n    assert!(x > 0);\n    debug_assert_eq!(x, 1);\n}\n",
        "pub fn f(x: i32) {\n}\n",
    ),
    one("src/test/java/ATest.java", JAVA, JAVA.replace("void adds", "void addsTwo")),
    one("A.Tests/ATests.cs", CS, CS.replace("public void Adds", "public async Task AddsAsync")),
    one(
        "A.Tests/ATests.cs",
        CS.replace("Equal(3, Add(1, 2))", "Equal(1, Adds(1).Count)"),
        CS.replace("Equal(3, Add(1, 2))", "Single(Adds(1))"),
    ),
    one(
        "A.Tests/ATests.cs",
        CS.replace("Equal(3, Add(1, 2))", "Equal(0, Adds(1).Count)"),
        CS.replace("Equal(3, Add(1, 2))", "Empty(Adds(1))"),
    ),
    one("spec/lib_spec.rb", RB, RB.replace("'adds'", "'adds two'")),
    one("src/api.py", "def test_connection(self):\n    return ping()\n", "X = 1\n"),
    one("src/check.py", "assert x == 1\n", "assert x\n"),
    one("src/a.py", "import os  # noqa: F401\n", "import sys\nimport os  # noqa: F401\n"),
    one("docs/lint.md", "Text\n", "Write `# noqa: F401` or `# type: ignore`.\n"),
    one("src/a.py", "x = 1  # type: ignore[a]\ny = 2\n", "y = 2\nx = 3  # type: ignore[a]\n"),
    EditCase(
        "silencer moved",
        {"a.py": "x = f()  # noqa: S1\n", "b.py": "y = 1\n"},
        {"a.py": "", "b.py": "y = 1\nx = f()  # noqa: S1\n"},
    ),
    EditCase(
        "data added",
        {"tests/data/a.txt": "one\n"},
        {"tests/data/a.txt": "one\ntwo\n", "tests/data/b.txt": "x\n"},
    ),
    EditCase("data moved", {"tests/a.json": '{"a": 1}\n'}, {"tests/data/a.json": '{"a": 1}\n'}),
]


@pytest.mark.parametrize("edit", HONEST, ids=lambda edit: edit.name)
def test_honest_work_gives_no_alarm(edit):
    assert edit.findings() == ()
