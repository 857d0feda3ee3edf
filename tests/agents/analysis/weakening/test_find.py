"""What weakens tests is found, by table; the tables of what does not stand beside this one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.analysis.weakening.find import find
from tests.agents.analysis.weakening.conftest import EditCase, diff_of, kinds_of
from tests.gears import examples

HEAD = "import pytest\n\nfrom lib import add, parse\n\n\n"
SUM = "def test_sum():\n    assert add(1, 2) == 3\n"
ZERO = "\n\ndef test_zero():\n    assert add(0, 0) == 0\n    assert add(0, 5) == 5\n"
P = "tests/test_lib.py"


def py(name, before, after, *kinds, path=P):
    """Return a change of one Python test file."""
    return EditCase(name, {path: HEAD + before}, {path: HEAD + after}, kinds=kinds)


def one(path, before, after, *kinds):
    """Return a change of one file; its name is that of the case."""
    return EditCase(f"{path}: {before[:20]!r}", {path: before}, {path: after}, kinds=kinds)


def swap(name, old, new, *kinds, text=SUM + ZERO):
    assert old in text
    return py(name, text, text.replace(old, new), *kinds)


GO = 'func TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Errorf("no")\n\t}\n}\n'
JS = "it('adds', () => {\n  expect(add(1, 2)).toBe(3);\n});\n"
RS = (
    "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n"
    "    fn adds() {\n        assert_eq!(add(1, 2), 3);\n    }\n}\n"
)
JAVA = "class ATest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n"
CS = (
    "public class ATests {\n    [Fact]\n    public void Adds() {\n"
    "        Assert.Equal(3, Add(1, 2));\n    }\n}\n"
)
RB = "describe Lib do\n  it 'adds' do\n    expect(add(1, 2)).to eq(3)\n  end\nend\n"
PHP = (
    "<?php\nclass ATest {\n  public function testAdds() {\n"
    "    $this->assertSame(3, add(1, 2));\n  }\n}\n"
)
EX = 'defmodule ATest do\n  test "adds" do\n    assert add(1, 2) == 3\n  end\nend\n'
UNIT = "class TestLib(TestCase):\n    def test_sum(self):\n        self.assertEqual(add(1, 2), 3)\n"
TABLE = (
    '@pytest.mark.parametrize(\n    ("a", "b"),\n    [\n        (1, 2),\n        (5, 6),\n'
    "        (7, 8),\n    ],\n)\ndef test_next(a, b):\n    assert add(a, 1) == b\n"
)

TAMPERED = [
    EditCase("deleted file", {P: HEAD + SUM}, {}, kinds=("deleted",)),
    EditCase("deleted data", {"tests/data/a.json": '{"a": 1}\n'}, {}, kinds=("deleted",)),
    EditCase(
        "renamed to something that is never run",
        {P: HEAD + SUM},
        {"tests_old/lib.py": HEAD + SUM},
        renames=((P, "tests_old/lib.py"),),
        kinds=("deleted",),
    ),
    py("removed test", SUM + ZERO, SUM, "removed"),
    py("removed class", UNIT, "X = 1\n", "removed", "removed"),
    swap("hidden from pytest", "def test_zero", "def _zero", "removed"),
    swap("emptied", "    assert add(1, 2) == 3", "    add(1, 2)", "assertion"),
    swap("commented out", "    assert add(1, 2)", "    # assert add(1, 2)", "assertion"),
    swap("vacuous", "assert add(1, 2) == 3", "assert True", "assertion"),
    swap(
        "vacuous: itself", "assert add(1, 2) == 3", "x = add(1, 2)\n    assert x == x", "assertion"
    ),
    swap("vacuous: constants", "assert add(1, 2) == 3", "assert 2 == 2", "assertion"),
    py(
        "assertTrue 1",
        UNIT,
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertTrue(1)"),
        "assertion",
    ),
    swap("or true", "== 3", "== 3 or True", "assertion"),
    swap("alternative", "add(1, 2) == 3", "add(1, 2) == 3 or add(1, 2) == 4", "weaker"),
    swap("one of two", "    assert add(0, 0) == 0\n", "", "assertion"),
    swap("not None", "add(1, 2) == 3", "add(1, 2) is not None", "weaker"),
    swap("truth", "add(1, 2) == 3", "add(1, 2)", "weaker"),
    swap("membership", "add(1, 2) == 3", "add(1, 2) in (3, 4)", "weaker"),
    swap("larger", "add(1, 2) == 3", "add(1, 2) > 0", "weaker"),
    swap("type alone", "add(1, 2) == 3", "isinstance(add(1, 2), int)", "weaker"),
    swap("nearly", "== 3", "== pytest.approx(3)", "weaker"),
    swap("other value", "add(1, 2) == 3", "add(1, 2) == 4", "expectation?"),
    py("replaced by nothing much", SUM, "def test_other():\n    assert True\n", "removed"),
    py(
        "new tests do not make up",
        SUM + ZERO,
        ZERO + "\n\ndef test_more():\n    assert parse('a') == 'a'\n",
        "removed",
    ),
    py(
        "assertEqual to True",
        UNIT,
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertTrue(add(1, 2))"),
        "weaker",
    ),
    py(
        "assertEqual to In",
        UNIT,
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertIn(add(1, 2), [3, 4])"),
        "weaker",
    ),
    py(
        "assertEqual to NotNone",
        UNIT,
        UNIT.replace("assertEqual(add(1, 2), 3)", "assertIsNotNone(add(1, 2))"),
        "weaker",
    ),
    py(
        "AlmostEqual places",
        UNIT.replace("Equal(add(1, 2), 3", "AlmostEqual(add(1, 2), 3, places=7"),
        UNIT.replace("Equal(add(1, 2), 3", "AlmostEqual(add(1, 2), 3, places=1"),
        "weaker",
    ),
    py(
        "raises anything",
        "def test_bad():\n    with pytest.raises(ValueError):\n        parse(1)\n",
        "def test_bad():\n    with pytest.raises(Exception):\n        parse(1)\n",
        "weaker",
    ),
    py(
        "raises without match",
        "def test_bad():\n    with pytest.raises(ValueError, match='no'):\n        parse(1)\n",
        "def test_bad():\n    with pytest.raises(ValueError):\n        parse(1)\n",
        "weaker",
    ),
    py(
        "raises another",
        "def test_bad():\n    with pytest.raises(ValueError):\n        parse(1)\n",
        "def test_bad():\n    with pytest.raises(TypeError):\n        parse(1)\n",
        "expectation?",
    ),
    py(
        "approx rel",
        "def test_f():\n    assert add(1, 2) == pytest.approx(3, rel=1e-6)\n",
        "def test_f():\n    assert add(1, 2) == pytest.approx(3, rel=0.5)\n",
        "weaker",
    ),
    py("fewer cases", TABLE, TABLE.replace("        (5, 6),\n", ""), "removed"),
    py("other case", TABLE, TABLE.replace("(5, 6)", "(5, 9)"), "expectation?"),
    swap("skip mark", "def test_zero", "@pytest.mark.skip\ndef test_zero", "skipped"),
    swap(
        "skip with reason",
        "def test_zero",
        "@pytest.mark.skip(reason='later')\ndef test_zero",
        "skipped",
    ),
    swap(
        "skipif", "def test_zero", "@pytest.mark.skipif(True, reason='')\ndef test_zero", "skipped"
    ),
    swap("xfail", "def test_zero", "@pytest.mark.xfail\ndef test_zero", "skipped"),
    swap(
        "skip inside",
        "    assert add(0, 0)",
        "    pytest.skip('later')\n    assert add(0, 0)",
        "skipped",
    ),
    swap(
        "whole file", "def test_sum", "pytestmark = pytest.mark.skip\n\n\ndef test_sum", "skipped"
    ),
    py(
        "unittest",
        UNIT,
        UNIT.replace("    def test", "    @unittest.skip('x')\n    def test"),
        "skipped",
    ),
    py(
        "expected failure",
        UNIT,
        UNIT.replace("    def test", "    @unittest.expectedFailure\n    def test"),
        "skipped",
    ),
    py("one class", UNIT, "@unittest.skipIf(True, '')\n" + UNIT, "skipped"),
    EditCase(
        "collected no more",
        {"tests/conftest.py": "import os\n"},
        {"tests/conftest.py": "import os\n\ncollect_ignore = ['test_lib.py']\n"},
        kinds=("skipped",),
    ),
    one("lib_test.go", GO, GO.replace("\tif add", "\tt.Skip()\n\tif add"), "skipped"),
    one("lib_test.go", GO, GO.replace("if add(1, 2) != 3", "if false"), "assertion"),
    one("lib_test.go", GO + "\nfunc TestB(t *testing.T) {\n\tt.Fatal(parse())\n}\n", GO, "removed"),
    one("lib.test.ts", JS, JS.replace("it(", "it.skip("), "skipped"),
    one("lib.test.ts", JS, JS.replace("it(", "xit("), "skipped"),
    one("lib.test.ts", JS, JS.replace("it(", "it.only("), "focused"),
    one("lib.test.ts", JS, JS.replace("toBe(3)", "toBeTruthy()"), "weaker"),
    one("lib.test.ts", JS, JS.replace("toBe(3)", "toBeDefined()"), "weaker"),
    one("lib.test.ts", JS, JS.replace("expect(add(1, 2)).toBe(3)", "add(1, 2)"), "assertion"),
    one("lib.test.ts", JS + JS.replace("adds", "adds more").replace("3", "4"), JS, "removed"),
    one(
        "lib.test.ts",
        JS.replace("toBe(3)", "toBeCloseTo(3, 5)"),
        JS.replace("toBe(3)", "toBeCloseTo(3, 0)"),
        "weaker",
    ),
    one("src/lib.rs", RS, RS.replace("    #[test]", "    #[test]\n    #[ignore]"), "skipped"),
    one("src/lib.rs", RS, RS.replace("    #[test]\n", ""), "removed"),
    one(
        "src/lib.rs", RS, RS.replace("assert_eq!(add(1, 2), 3)", "assert!(add(1, 2) > 0)"), "weaker"
    ),
    one("src/lib.rs", RS, "pub fn add() {}\n", "removed"),
    one(
        "src/test/java/ATest.java",
        JAVA,
        JAVA.replace("  @Test\n", "  @Disabled\n  @Test\n"),
        "skipped",
    ),
    one("src/test/java/ATest.java", JAVA, JAVA.replace("  @Test\n", ""), "removed"),
    one(
        "src/test/java/ATest.java",
        JAVA,
        JAVA.replace("assertEquals(3, add(1, 2))", "assertNotNull(add(1, 2))"),
        "weaker",
    ),
    one("A.Tests/ATests.cs", CS, CS.replace("[Fact]", '[Fact(Skip = "later")]'), "skipped"),
    one(
        "A.Tests/ATests.cs",
        CS,
        CS.replace("Assert.Equal(3, Add(1, 2))", "Assert.NotNull(Add(1, 2))"),
        "weaker",
    ),
    one("spec/lib_spec.rb", RB, RB.replace("  it 'adds'", "  xit 'adds'"), "skipped"),
    one(
        "spec/lib_spec.rb", RB, RB.replace("    expect", "    skip 'later'\n    expect"), "skipped"
    ),
    one("spec/lib_spec.rb", RB, RB.replace("to eq(3)", "to be_truthy"), "weaker"),
    one(
        "tests/ATest.php",
        PHP,
        PHP.replace("    $this", "    $this->markTestSkipped();\n    $this"),
        "skipped",
    ),
    one(
        "tests/ATest.php",
        PHP,
        PHP.replace("assertSame(3, add(1, 2))", "assertNotNull(add(1, 2))"),
        "weaker",
    ),
    one("test/a_test.exs", EX, EX.replace("  test", "  @tag :skip\n  test"), "skipped"),
    one("src/a.py", "x = f()\n", "x = f()  # type: ignore\n", "suppressed?"),
    one("src/a.py", "import os\n", "import os  # noqa: F401\n", "suppressed?"),
    one("src/a.py", "import os\n", "# ruff: noqa\nimport os\n", "suppressed"),
    one("src/a.ts", "f(x)\n", "// @ts-ignore\nf(x)\n", "suppressed?"),
    one("src/a.ts", "f(x)\n", "/* eslint-disable */\nf(x)\n", "suppressed"),
    one("src/a.go", "f(x)\n", "f(x) //nolint:errcheck\n", "suppressed?"),
    one("src/a.rs", "fn f() {}\n", "#[allow(dead_code)]\nfn f() {}\n", "suppressed?"),
    one("src/a.rb", "f\n", "f # rubocop:disable Style/Foo\n", "suppressed?"),
    one("src/a.py", "if x:\n", "if x:  # pragma: no cover\n", "suppressed?"),
    one("src/A.java", "class A {}\n", '@SuppressWarnings("all")\nclass A {}\n', "suppressed?"),
    one("tests/data/out.txt", "one\ntwo\n", "one\nthree\n", "expectation?"),
    # What leaves every assertion where it is.
    swap("ends before it", "    assert add(0, 0)", "    return\n    assert add(0, 0)", "around"),
    swap(
        "nobody hears of it",
        "    assert add(0, 0) == 0\n",
        "    try:\n        assert add(0, 0) == 0\n    except AssertionError:\n        pass\n",
        "around",
    ),
    swap(
        "suppressed",
        "    assert add(0, 0) == 0\n",
        "    with suppress(Exception):\n        assert add(0, 0) == 0\n",
        "around",
    ),
    swap(
        "never true",
        "    assert add(0, 0) == 0\n",
        "    if False:\n        assert add(0, 0) == 0\n",
        "around",
    ),
    swap("a fixture", "def test_zero", "@pytest.fixture\ndef test_zero", "around"),
    swap("may fail", "def test_zero", "@pytest.mark.flaky(reruns=9)\ndef test_zero", "around"),
    swap(
        "an empty table",
        "def test_zero():",
        "@pytest.mark.parametrize('x', [])\ndef test_zero(x):",
        "around",
    ),
    py("hidden by another", SUM + ZERO, SUM + ZERO + "\n\ndef test_sum():\n    pass\n", "around"),
    py("taken away again", SUM + ZERO, SUM + ZERO + "\n\ndel test_zero\n", "around"),
    py("the whole run ends", SUM, "import os\n\nos._exit(0)\n" + SUM, "around"),
    swap("itself, in full", "== 3", "== add(1, 2)", "assertion"),
    swap("anything", "== 3", "== ANY", "assertion"),
    one("lib.test.ts", JS, JS.replace("  expect", "  return;\n  expect"), "around"),
    one("lib.test.ts", JS, JS.replace("toBe(3)", "toBe(add(1, 2))"), "assertion"),
    one("lib_test.go", GO, "//go:build never\n\n" + GO, "around"),
    EditCase(
        "a hook that changes results",
        {"tests/conftest.py": "import os\n"},
        {"tests/conftest.py": "import os\n\n\ndef pytest_runtest_makereport(item):\n    ...\n"},
        kinds=("around",),
    ),
    EditCase(
        "a new file that leaves out others",
        {},
        {"tests/conftest.py": "collect_ignore = ['test_lib.py']\n"},
        kinds=("skipped",),
    ),
    EditCase(
        "renamed to what nobody looks for",
        {P: SUM},
        {"tests/lib_checks.py": SUM},
        renames=((P, "tests/lib_checks.py"),),
        kinds=("deleted",),
    ),
]


@pytest.mark.parametrize("edit", TAMPERED, ids=lambda edit: edit.name)
def test_what_weakens_tests_is_found(edit):
    assert kinds_of(edit.findings()) == sorted(edit.kinds)


MORE = "\n\ndef test_more():\n    assert add(4, 4) == 8\n"
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
    [finding] = find(diff)

    assert (finding.kind, finding.grave) == ("unreadable", True)


def test_no_change_is_no_finding():
    assert find("") == ()


def test_a_test_that_git_was_told_not_to_show_needs_a_person():
    """An attribute `-diff` would hide whatever is done to a test."""
    diff = f"diff --git a/{P} b/{P}\nindex 1..2 100644\nBinary files a/{P} and b/{P} differ\n"

    [finding] = find(diff)

    assert (finding.kind, finding.grave, finding.path) == ("unreadable", True, P)


def test_names_that_git_quotes_are_read():
    name = r'"b/tests/test_\303\244 \"x\".py"'
    diff = (
        f"diff --git {name.replace('b/', 'a/')} {name}\ndeleted file mode 100644\n"
        f"--- {name.replace('b/', 'a/')}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n"
        "-def test_a():\n-    assert f() == 1\n"
    )

    [finding] = find(diff)

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
    for finding in find(diff_of({path: before}, {path: after})):
        assert finding.path == path
    assert find(diff_of({path: before}, {path: before})) == ()


@settings(max_examples=examples(60))
@given(text=LINES)
def test_adding_a_file_or_lines_at_the_end_takes_nothing_away(text):
    tests = HEAD + SUM
    assert not any(each.grave for each in find(diff_of({}, {P: HEAD + SUM + ZERO})))
    added = find(diff_of({P: tests}, {P: f"{tests}\n\nclass TestNew:\n    pass\n\n\n{ZERO}"}))
    assert added == ()
    assert find(diff_of({P: text}, {P: text})) == ()


@settings(max_examples=examples(60))
@given(noise=st.text(max_size=300))
def test_noise_is_never_trusted(noise):
    assert isinstance(find(noise), tuple)


@pytest.mark.parametrize(
    "line", ["it" + ".a" * 40_000 + "(", "}" * 90_000, "(" * 90_000, "a." * 50_000]
)
def test_a_long_line_takes_no_time(line):
    began = time.process_time()

    find(diff_of({"a.test.ts": f"{line}\n"}, {"a.test.ts": f"x\n{line}1\n"}))

    assert time.process_time() - began < 3


def test_thousands_of_tests_take_seconds():
    before = "".join(
        f"def test_{n}():\n    assert add({n}, 1) == {n + 1}\n\n" for n in range(1_500)
    )
    after = "".join(
        f"def test_x{n}():\n    assert sub({n}, 1) == {n - 1}\n\n" for n in range(1_500)
    )
    began = time.process_time()

    found = find(diff_of({P: before}, {P: after}))

    assert len(found) == 1_500
    assert time.process_time() - began < 15
