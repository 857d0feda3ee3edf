"""Of the tests that no longer run, those count as explained that the change itself removes."""

import pytest

from agents.analysis.weakening import RemovedTests, count_removed_tests
from tests.agents.analysis.weakening.conftest import diff_of
from tests.agents.analysis.weakening.samples import HEAD, SUM, ZERO

SKIPPED = "@pytest.mark.skipif(NEW, reason='x')\n"
TABLE = "@pytest.mark.parametrize('a', [\n    (1, 2),\n{}])\ndef test_all(a):\n    assert a\n"
PICKS = "@pytest.mark.parametrize('a', ROWS)\ndef test_all(a):\n    assert a\n"
DATA = {"tests/data/cases.json": "[1,\n2]\n"}


def make_files(*tests):
    return {"tests/test_a.py": HEAD + "\n\n".join(tests)}


@pytest.mark.parametrize(
    ("before", "after", "count", "tables"),
    [
        (make_files(SUM, ZERO), make_files(SUM), 1, ()),
        (make_files(SUM, ZERO), {}, 2, ()),
        (make_files(SUM, ZERO), make_files(SUM, ZERO), 0, ()),
        (make_files(SUM, ZERO), make_files(SUM, SKIPPED + ZERO), 0, ()),
        (make_files(SUM), make_files(SUM.replace("test_sum", "test_other")), 0, ()),
        (make_files(SUM), make_files(SUM, ZERO), 0, ()),
        ({"tests/test_a.py": SUM}, {"tests/deep/test_b.py": SUM}, 1, ()),
        ({"lib.py": "a = 1\n"}, {}, 0, ()),
        (
            {"tests/test_a.py": TABLE.format("    (2, 3),\n")},
            {"tests/test_a.py": TABLE.format("")},
            0,
            ("tests/test_a.py",),
        ),
        ({"tests/test_a.py": TABLE.format("")}, {}, 1, ("tests/test_a.py",)),
        (DATA, {}, 0, ("tests/data/cases.json",)),
        (DATA, {"tests/data/cases.json": "[1]\n"}, 0, ("tests/data/cases.json",)),
        (
            {"tests/test_a.py": PICKS},
            {"tests/test_a.py": PICKS.replace("ROWS)", "ROWS[:1])")},
            0,
            ("tests/test_a.py",),
        ),
    ],
    ids=[
        *("removed", "deleted", "same", "skipped", "renamed", "added", "moved"),
        *("no test", "row", "table", "data", "less data", "slice"),
    ],
)
def test_what_is_no_longer_in_its_file_is_counted(before, after, count, tables):
    assert count_removed_tests(diff_of(before, after)) == RemovedTests(count, tables)


def test_a_file_of_tests_with_another_name_has_all_its_tests_still():
    moved = "similarity index 100%\nrename from tests/test_a.py\nrename to old/a.py\n"
    assert (
        count_removed_tests(f"diff --git a/tests/test_a.py b/old/a.py\n{moved}") == RemovedTests()
    )


@pytest.mark.parametrize(
    ("path", "line", "is_table"),
    [
        ("tests/test_a.py", "class SumTest(unittest.TestCase):", False),
        ("tests/SumTest.php", "class SumTest extends TestCase", False),
        ("SumTests.cs", "    [TestCase(1)]", True),
        ("SumTests.cs", "    [Test, TestCase(1)]", True),
        ("SumTests.fs", "[<InlineData(1)>]", True),
    ],
)
def test_the_class_of_tests_is_no_table(path, line, is_table):
    other = line.replace("TestCase", "Other").replace("InlineData", "Other")
    before, after = (f"{each}\n    def test_a(self):\n        pass\n" for each in (line, other))
    removed = count_removed_tests(diff_of({path: before}, {path: after}))
    assert bool(removed.tables) == is_table


def test_a_diff_that_cannot_be_read_explains_nothing():
    assert count_removed_tests("no diff") == RemovedTests()
