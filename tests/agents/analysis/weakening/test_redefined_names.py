"""Tests that are about what the change wrote for them, and not about the product, are found."""

import time

import pytest

from agents.analysis.weakening import find_weakening
from tests.agents.analysis.weakening.conftest import diff_of

PY = """import unittest

from app.main import (
    add,
    half as halved,
)
from app.sums import twice
from tests.helpers import make_client


class TwiceTest(unittest.TestCase):
    def test_twice(self):
        self.assertEqual(twice(2), 4)

    def test_half(self):
        got = halved(4)
        self.assertEqual(got, 2)


def check(case, got, wanted):
    case.assertEqual(got, wanted)
"""
JS = """import { twice, half as halved } from '../sum.js';
const { add } = require('../add');

it('adds', () => {
  const got = twice(2);
  expect(got).toBe(4);
  expect(add(1, 2)).toBe(3);
});
"""
GO = """package sum

func TestTwice(t *testing.T) {
\tassert.Equal(t, 4, Twice(2))
}
"""
RB = """require "sum"

describe Sum do
  it "adds" do
    expect(Sum.add(1, 2)).to eq(3)
  end
end
"""
PHP = """<?php
use App\\Sum;

class SumTest extends TestCase {
  public function testAdds() {
    $this->assertSame(3, Sum::add(1, 2));
  }
}
"""
JAVA = """import com.acme.Sum;
import static com.acme.Sums.twice;

class SumTest {
  @Test
  void adds() {
    assertEquals(4, twice(2, Sum.ZERO));
  }
}
"""
RS = """use tally::{add, twice};

#[test]
fn doubles() {
    assert_eq!(twice(2), 4);
}
"""
SH = """. ./lib.sh
got=$(twice 2)
wanted=4
test "$got" = "$wanted"
"""
FILES = {
    "tests/test_a.py": PY,
    "test/a.test.js": JS,
    "sum_test.go": GO,
    "spec/sum_spec.rb": RB,
    "tests/SumTest.php": PHP,
    "src/test/java/SumTest.java": JAVA,
    "tests/a.rs": RS,
    "tests/a.sh": SH,
    "tests/b.sh": '. ./lib.sh\nout=$(twice 2)\n[ "$out" = 4 ] || exit 1\n',
}
MORE_PY = """class MoreTest(unittest.TestCase):
    def test_more(self):
        add = 5
        self.assertEqual(add + 1, 6)
"""
MORE_JS = """it('more', () => {
  const add = { x: 5 };
  jest.spyOn(api, 'twice');
  expect(add.x).toBe(5);
});
"""
CLASS, CASE = "class TwiceTest", "        self.assertEqual(twice"


def find(path, old, new):
    before = FILES[path]
    assert old in before
    after = before.replace(old, new, 1)
    return [
        each.kind for each in find_weakening(diff_of({path: before}, {path: after})) if each.grave
    ]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", CLASS, f"def twice(a):\n    return 4\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f"twice = {{2: 4}}.get\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f"def halved(a):\n    return 2\n\n\n{CLASS}"),
        ("tests/test_a.py", "from app.sums import twice\n", "def twice(a):\n    return 4\n\n"),
        ("tests/test_a.py", CASE, f"        twice = lambda a: 4\n{CASE}"),
        ("tests/test_a.py", CASE, f"        def twice(a):\n            return 4\n\n{CASE}"),
        ("tests/test_a.py", CASE, f"        for twice in [four]:\n            pass\n{CASE}"),
        ("tests/test_a.py", CASE, f"        (twice := four)\n{CASE}"),
        ("tests/test_a.py", CLASS, f"twice, other = four, five\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f'globals()["twice"] = four\n\n\n{CLASS}'),
        ("tests/test_a.py", CLASS, f'sys.modules["app.sums"] = four\n\n\n{CLASS}'),
        ("tests/test_a.py", "test_twice(self)", "test_twice(self, twice=lambda a: 4)"),
        ("tests/test_a.py", "from app.sums", "from tests.helpers"),
        ("tests/test_a.py", "from app.sums", "from .sums"),
        ("tests/test_a.py", "from app.sums import", "from app.fake_sums import"),
        ("tests/test_a.py", CASE, f"        self.assertEqual = lambda *a: None\n{CASE}"),
        ("tests/test_a.py", CASE, f"        self.assertEqual = Mock()\n{CASE}"),
        ("tests/test_a.py", CASE, f'        setattr(self, "assertEqual", print)\n{CASE}'),
        ("tests/test_a.py", CASE, f'        monkeypatch.setattr(sums, "twice", four)\n{CASE}'),
        ("tests/test_a.py", CASE, f'        patch("app.sums.twice").start()\n{CASE}'),
        ("tests/test_a.py", CASE, f"        sums.twice = lambda a: 4\n{CASE}"),
        (
            "tests/test_a.py",
            CLASS,
            f"{CLASS[:6]}Base:\n    def assertEqual(self, *a): ...\n\n\n{CLASS}",
        ),
        ("tests/test_a.py", "    case.assert", "    got = wanted\n    case.assert"),
        ("tests/test_a.py", "    case.assert", "    wanted = got  # the same\n    case.assert"),
        (
            "tests/test_a.py",
            "        self.assertEqual(got",
            "        got = 2\n        self.assertEqual(got",
        ),
        ("test/a.test.js", "import { twice, half", "function twice() { return 4; }\nimport { half"),
        ("test/a.test.js", "it('adds", "const add = () => 3;\nit('adds"),
        ("test/a.test.js", "  const got = twice(2);", "  let got = twice(2);\n  got = 4;"),
        ("test/a.test.js", "  expect(add", "  expect = () => ({ toBe() {} });\n  expect(add"),
        ("test/a.test.js", "it('adds", "assert.equal = () => {};\nit('adds"),
        ("test/a.test.js", "it('adds", "const { twice } = { twice: () => 4 };\nit('adds"),
        ("test/a.test.js", "it('adds", "twice = () => 4;\nit('adds"),
        ("test/a.test.js", "import", "jest.mock('../sum.js', () => ({ twice: () => 4 }));\nimport"),
        ("test/a.test.js", "import", "vi.mock(import('../sum.js'));\nimport"),
        ("test/a.test.js", "'../add'", "'./stand_in'"),
        ("test/a.test.js", "'../add'", "'../lib/fakes/add'"),
        ("sum_test.go", "\tassert", "\tTwice := func(int) int { return 4 }\n\tassert"),
        ("spec/sum_spec.rb", "describe", "class Sum\n  def self.add(*) = 3\nend\n\ndescribe"),
        ("spec/sum_spec.rb", "describe", "def Sum.add(*) = 3\n\ndescribe"),
        ("tests/SumTest.php", "use App\\Sum;", "class Sum {}"),
        (
            "src/test/java/SumTest.java",
            "  @Test",
            "  static int twice(int a) { return 4; }\n  @Test",
        ),
        ("src/test/java/SumTest.java", "  @Test", "  static class Sum {}\n  @Test"),
        ("tests/a.rs", "{add, twice};", "add;\nfn twice(_: i32) -> i32 { 4 }"),
        ("tests/a.sh", "test ", "got=$wanted\ntest "),
        ("tests/b.sh", "$(twice 2)", "$(echo 4)"),
        ("tests/b.sh", "$(twice 2)", "$(twice 2 || printf '%s' \"4\")"),
        ("tests/b.sh", "out=", "twice() { echo 4; }\nout="),
        ("tests/b.sh", "out=", "alias twice='echo 4; :'\nout="),
    ],
)
def test_what_tests_are_about_and_is_defined_anew_is_for_people_to_agree_to(path, old, new):
    assert "around" in find(path, old, new)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/test_a.py", CLASS, f"def make_sum(a):\n    return a\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f"def make_client(a):\n    return a\n\n\n{CLASS}"),
        ("tests/test_a.py", "sums import twice", "sums import double as twice"),
        ("tests/test_a.py", "got = halved(4)", "given = 4\n        got = halved(given)"),
        ("tests/test_a.py", "got = halved(4)", "got = halved(a=4)"),
        ("tests/test_a.py", "    case.assert", "    got = got.strip()\n    case.assert"),
        ("tests/test_a.py", "    case.assert", "    case.name = 'x'\n    case.assert"),
        ("tests/test_a.py", CASE, f"        self.client.fetch = Mock()\n{CASE}"),
        ("tests/test_a.py", CASE, f'        monkeypatch.setattr(sums, "load", fake)\n{CASE}'),
        (
            "tests/test_a.py",
            CLASS,
            f"def assert_close(a, b):\n    assert abs(a - b) < 1\n\n\n{CLASS}",
        ),
        (
            "tests/test_a.py",
            "def check(",
            f"{MORE_PY}\n\ndef check(",
        ),
        (
            "tests/test_a.py",
            "        got = halved(4)\n",
            "        got = halved(\n            add=add,\n            a=4,\n        )\n",
        ),
        ("tests/test_a.py", CLASS, f"class Fake:\n    def twice(self):\n        pass\n\n\n{CLASS}"),
        ("tests/test_a.py", "import twice\n", "import twice  # noqa\n"),
        ("test/a.test.js", "'../add'", "'addition'"),
        ("tests/test_a.py", CASE, f"        halved = 5\n{CASE}"),
        ("tests/test_a.py", CASE, f"        for each in [twice]:\n            pass\n{CASE}"),
        ("tests/test_a.py", "from app.sums", "from app.helpers"),
        ("tests/test_a.py", "from app.sums", "from app.testing"),
        ("tests/test_a.py", CLASS, f"def test_more(twice=4):\n    assert twice == 4\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f'sys.modules["app.other"] = four\n\n\n{CLASS}'),
        ("tests/test_a.py", CLASS, f"def add():\n    return 4\n\n\n{CLASS}"),
        ("tests/test_a.py", CLASS, f"@pytest.fixture\ndef twice():\n    return 4\n\n\n{CLASS}"),
        (
            "tests/test_a.py",
            "from app.sums import twice\n",
            "try:\n    from app.sums import twice\nexcept ImportError:\n    twice = None\n",
        ),
        (
            "test/a.test.js",
            "it('adds",
            f"{MORE_JS}\nit('adds",
        ),
        ("test/a.test.js", "'../add'", "'../lib/utils'"),
        (
            "test/a.test.js",
            "import",
            "jest.mock('../mail');\nimport { mail } from '../mail';\nimport",
        ),
        ("test/a.test.js", "import", "jest.mock('axios');\nimport axios from 'axios';\nimport"),
        (
            "test/a.test.js",
            "  const got",
            "  const n = 4;\n  expect(twice(n)).toBe(8);\n  const got",
        ),
        ("test/a.test.js", "it('adds", "let app;\nbeforeEach(() => { app = make(); });\nit('adds"),
        ("tests/b.sh", "$(twice 2)", "$(twice 1 | twice)"),
        ("tests/b.sh", "out=", "check() { twice 3; }\nout="),
        ("tests/b.sh", "out=", "given=$(echo 2)\nout="),
        ("test/a.test.js", "it('adds", "const more = () => 3;\nit('adds"),
        (
            "test/a.test.js",
            "const { add } = require('../add')",
            "const { add } = require('../sum.js')",
        ),
        ("test/a.test.js", "it('adds", "const expect2 = require('chai').expect;\nit('adds"),
        ("sum_test.go", "\tassert", "\tmake := func(int) int { return 4 }\n\tassert"),
        ("spec/sum_spec.rb", "describe", "class Other\nend\n\ndescribe"),
        (
            "src/test/java/SumTest.java",
            "  @Test",
            "  static int other(int a) { return 4; }\n  @Test",
        ),
    ],
)
def test_honest_names_ask_nobody(path, old, new):
    assert find(path, old, new) == []


CALLS = """import axios from 'axios';
import { sum } from 'sums';
import { load } from '@/load';

it('loads', async () => {
  axios.get.mockResolvedValue({ data: 4 });
  expect(await load(sum)).toBe(4);
});
"""
ALONE = "import { sum } from 'sums';\n\nit('adds', () => {\n  expect(sum(1, 2)).toBe(3);\n});\n"


@pytest.mark.parametrize(
    ("text", "module", "asked"),
    [
        (CALLS, "axios", False),
        (CALLS, "sums", False),
        (CALLS, "@/load", True),
        (CALLS.replace("@/load", "src/load"), "src/load", True),
        (ALONE, "sums", True),
    ],
)
def test_a_package_may_be_mocked_beside_what_tests_are_about(text, module, asked):
    path = "test/a.test.js"
    found = find_weakening(diff_of({path: text}, {path: f"jest.mock('{module}');\n{text}"}))

    assert [each.kind for each in found] == ["around"] * asked


@pytest.mark.parametrize(
    ("path", "before", "assertion", "new", "asked"),
    [
        ("tests/test_a.py", "n = 3", "assert clamp(n, 4) == 4", "n = 4", False),
        ("tests/test_a.py", "n = 3", "self.assertEqual(clamp(n), 4)", "n = 4", False),
        ("tests/test_a.py", "n = clamp(3)", "assert round(n) == 4", "n = 4", True),
        ("tests/test_a.py", "n = 3", "assert round(n) == 4", "n = 4", True),
        ("tests/test_a.py", "n = clamp(3)", "assert as_text(n) == 4", "n = 4", True),
        ("tests/test_a.py", "n = make()", "assert n.grow(1) == 4", "n = 4", True),
        ("test/a.test.js", "let n = 3;", "expect(clamp(n)).toBe(4);", "let n = 4;", False),
        ("test/a.test.js", "let n = clamp(3);", "expect(n).toBe(4);", "let n = 4;", True),
        ("test/a.test.js", "let n = clamp(3);", "expect(4).toBe(n);", "let n = 4;", True),
    ],
)
def test_a_value_that_a_call_is_given_may_be_that_of_its_result(
    path, before, assertion, new, asked
):
    head = "def test_a():\n    " if path.endswith(".py") else "it('a', () => {\n    "
    files = [{path: f"{head}{line}\n    {assertion}\n"} for line in (before, new)]

    assert ("around" in [each.kind for each in find_weakening(diff_of(*files))]) == asked


@pytest.mark.parametrize(
    ("path", "old", "new", "line"),
    [
        (
            "tests/test_a.py",
            "from unittest import TestCase",
            "from django.test import TestCase",
            "class ATest(TestCase):\n    def test_a(self):\n        self.assertEqual(add(1), 2)",
        ),
        (
            "src/test/kotlin/ATest.kt",
            "import org.junit.jupiter.api.Test",
            "import kotlin.test.Test",
            "class ATest {\n  @Test fun a() {\n    assertThat(add(1)).isEqualTo(2)\n  }\n}",
        ),
        (
            "tests/a.spec.ts",
            "import { test, expect } from 'vitest'",
            "import { test, expect } from '@playwright/test'",
            "test('a', () => {\n  expect(add(1)).toBe(2)\n})",
        ),
    ],
)
def test_another_framework_for_tests_stands_in_for_nothing(path, old, new, line):
    files = ({path: f"{each}\n\n{line}\n"} for each in (old, new))

    assert find_weakening(diff_of(*files)) == ()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/test_a.py", "from a import (" + "a, " * 300),
        ("tests/test_a.py", "patch(" * 160),
        ("tests/test_a.py", "assert.a" * 120),
        ("tests/test_a.py", "a" + ".b" * 490),
        ("tests/test_a.py", "for a" + " " * 990),
        ("tests/test_a.py", "a, " * 330),
        ("tests/test_a.py", "def a(" + "a" * 990),
        ("tests/test_a.py", "def a(" + "a:" * 490),
        ("tests/a.sh", "a=$(" + "echo " * 190),
        ("tests/a.sh", "a=$(echo " + "a " * 490),
        ("test/a.test.js", "const {" + "a, " * 330),
        ("test/a.test.js", "import {" + " " * 900),
        ("test/a.test.js", "import" + " " * 990),
        ("test/a.test.js", "const " + "a" * 900),
        ("src/test/java/SumTest.java", "static " * 140),
        ("tests/a.rs", "use a::{" + "a, " * 300),
    ],
)
def test_hostile_lines_take_no_time(path, line):
    before = FILES[path] + "\n".join([line] * 40)
    began = time.process_time()
    find_weakening(diff_of({path: before}, {path: before + f"\n{line}x" * 40}))
    assert time.process_time() - began < 2


def test_a_new_file_of_tests_stands_in_for_a_module():
    before = {"tests/test_a.py": PY}
    after = {
        "tests/test_a.py": PY.replace("app.sums", "sums"),
        "tests/sums.py": "def twice(a):\n    return 4\n",
    }
    [found] = find_weakening(diff_of(before, after))
    assert (found.kind, found.text) == ("around", "from sums import twice")
    assert find_weakening(diff_of(before, {"tests/test_a.py": after["tests/test_a.py"]})) == ()
