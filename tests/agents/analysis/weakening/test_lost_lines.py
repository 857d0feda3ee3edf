"""A script demands in words of its own: a line of it that is gone may have been a demand."""

import difflib
import time

import pytest

from agents.analysis.weakening import find_lost_line, read_diff


def find(path, before, after):
    lines = difflib.unified_diff(
        before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}", n=200
    )
    [change] = read_diff("".join(lines))
    return find_lost_line(change)


@pytest.mark.parametrize(
    ("path", "before", "after", "lost"),
    [
        ("tests/run.sh", "sh t/a.sh\nsh t/b.sh\n", "sh t/b.sh\nsh t/c.sh\n", "sh t/a.sh"),
        ("tests/all.js", "require('./a');\n", "require('./b');\n", "require('./a');"),
        ("tests/main_test.c", "  test_add();\n", "  test_neg();\n", "test_add();"),
        (
            "tests/a.js",
            "if (add(1, 2) !== 3) fail();\nif (neg(1) !== -1) fail();\n",
            "if (neg(1) !== -1) fail();\nif (neg(0) !== 0) fail();\n",
            "if (add(1, 2) !== 3) fail();",
        ),
        (
            "t/a.pl",
            "die 'x' unless add(1) == 2;\nok();\n",
            "ok();\n",
            "die 'x' unless add(1) == 2;",
        ),
    ],
)
def test_lines_that_are_gone_are_found(path, before, after, lost):
    assert find(path, before, after) == lost


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("check('a', 1, 2);\n", "check('a', 1, 2);\ncheck('b', 1, 2);\n"),
        ("check('a', 1, 2);\n", "if (x) {\n    check('a', 1, 2);\n}\n"),
        ("check('a', f(1), 2);\n", "check('a', f(1), 3);\n"),
        ("eq(greet('Bob'), 'Hello Bob');\n", "eq(greet('Bob'), 'Hi Bob');\n"),
        ("const { a } = require('../lib');\n", "const { a, b } = require('../lib');\n"),
        ("const total = 3;\nx(total);\n", "const total = 4;\nx(total);\n"),
        ("// old words\nx();\n", "// new text\nx();\n"),
        ("a(1);\nb(2);\n", "b(2);\na(1);\n"),
    ],
)
def test_lines_that_moved_or_changed_are_there(before, after):
    assert find("tests/a.js", before, after) == ""


@pytest.mark.parametrize("part", ["a b ", "x\n", "a b c d e\n", "(", "./a"])
def test_hostile_lines_are_compared_in_little_time(part):
    before = part * (300_000 // len(part))
    after = before.replace("a", "c").replace("x", "y")
    old, new = before.split("\n"), after.split("\n")
    lines = [*(f"-{each}" for each in old), *(f"+{each}" for each in new)]
    head = f"--- a/t/a.sh\n+++ b/t/a.sh\n@@ -1,{len(old)} +1,{len(new)} @@"
    [change] = read_diff("\n".join((head, *lines, "")))
    began = time.process_time()

    find_lost_line(change)

    assert time.process_time() - began < 1
