"""Tests in many languages, and changes of them as cases of a table."""

from __future__ import annotations

from tests.agents.analysis.weakening.conftest import EditCase

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
LOOP = (
    "def test_loop():\n    for a, b in [\n        (1, 2),\n        (5, 6),\n    ]:\n"
    "        assert add(a, 1) == b\n"
)
JS_LOOP = (
    "for (const [a, b] of [\n  [1, 2],\n  [5, 6],\n]) {\n  it(`adds ${a}`, () => {\n"
    "    expect(add(a, 1)).toBe(b);\n  });\n}\n"
)
GO_LOOP = (
    "func TestAll(t *testing.T) {\n\tfor _, row := range []struct{ a, b int }{\n\t\t{1, 2},\n"
    "\t\t{5, 6},\n\t} {\n\t\tif add(row.a, 1) != row.b {\n\t\t\tt.Error(row)\n\t\t}\n\t}\n}\n"
)
