"""Of the tests that no longer run, those count as explained that the change itself removes."""

import time

import pytest

from agents.analysis.weakening import RemovedTests, count_removed_tests
from tests.agents.analysis.weakening.conftest import diff_of
from tests.agents.analysis.weakening.samples import HEAD, JS, SUM, ZERO

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
        (
            {"tests/test_a.py": TABLE.format("    (2, 3),\n")},
            {"tests/test_a.py": TABLE.format("    (2, 4),\n    (2, 5),\n")},
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
        *("no test", "row", "other rows", "table", "data", "less data", "slice"),
    ],
)
def test_what_is_no_longer_in_its_file_is_counted(before, after, count, tables):
    removed = count_removed_tests(diff_of(before, after))
    assert (removed.count, removed.tables) == (count, tables)


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


ALL = ["t.py::test_all[1-2]", "t.py::test_all[2-3]"]
RUST = "#[rstest]\n#[case(1)]\nfn adds(#[case] one: i32) {\n    assert_eq!(one, 1);\n}\n"
OTHER = "#[test]\nfn other() {\n    assert!(true);\n}\n"
TITLE = "it('adds ${a}', () => {\n  expect(add(1)).toBe(2);\n});\n"


@pytest.mark.parametrize(
    ("before", "after", "gone", "came", "lost"),
    [
        (make_files(SUM), make_files(SUM, ZERO), ALL, ["t.py::test_zero", "t.py::test_zero"], ALL),
        (make_files(SUM), make_files(SUM, ZERO), ALL[:1], ["t.py::test_zero", ALL[1]], []),
        (make_files(SUM, ZERO), make_files(SUM), ["t.py::test_zero"], (), []),
        (make_files(SUM, ZERO), make_files(SUM), ["t.py::test_zeros"], (), []),
        (make_files(SUM, ZERO), make_files(SUM), ["t.py::test_zero", *ALL], (), ALL),
        (
            make_files(SUM),
            make_files(SUM.replace("_sum", "_s")),
            ["a::test_sum"],
            ["a::test_s"],
            [],
        ),
        ({"tests/test_a.py": SUM}, {"tests/test_b.py": SUM}, ["a::test_sum"], ["b::test_sum"], []),
        (make_files(SUM), make_files(ZERO), ["zero is zero"], (), []),
        ({"a.test.js": JS + TITLE}, {"a.test.js": JS}, ["adds 1", "adds 2"], (), []),
        (
            make_files(SUM),
            make_files(SUM.replace("_sum", "_s"), ZERO),
            ["t::test_sum", *ALL],
            ["t::test_s", "t::test_zero", "t::test_zero"],
            ALL,
        ),
        ({"a.js": "a"}, {"a.js": "b"}, ["a"], ["b"], ["a"]),
        ({"a.py": "a"}, {"a.py": "b"}, ["a.py::a.old"], ["a.py::a.new"], []),
        ({"a.py": "a"}, {"a.py": "b"}, ["a.py::a.old"], [], ["a.py::a.old"]),
        ({"a.ex": "a"}, {"a.ex": "b"}, ["doctest A.old/1 (1)"], ["doctest A.new/1 (1)"], []),
        ({"a.js": "a"}, {"a.js": "b"}, ["a"], [], ["a"]),
    ],
    ids=[
        *("swapped for others", "other row", "removed", "called otherwise by runs", "and rows"),
        *(
            "renamed",
            "moved",
            "replaced",
            "title with values",
            "renamed and swapped",
            "listed by the product",
            "example",
            "lost example",
            "example of Elixir",
            "lost",
        ),
    ],
)
def test_names_that_no_longer_run_are_explained_by_what_is_removed(before, after, gone, came, lost):
    removed = count_removed_tests(diff_of(before, after))
    assert removed.list_unexplained(gone, came) == lost


def test_a_new_test_that_is_called_as_its_file_leaves_the_others_theirs():
    old, new = "tests/test_sum.py", "tests/test_zero.py"
    removed = count_removed_tests(diff_of({old: SUM}, {new: SUM + ZERO}))
    came = [f"{new}::test_sum", f"{new}::test_zero"]
    assert removed.list_unexplained([f"{old}::test_sum"], came) == []


def test_a_test_that_is_gone_beside_a_file_that_moved_is_missed():
    removed = count_removed_tests(diff_of({"tests/a.rs": RUST}, {"tests/b.rs": RUST + OTHER}))
    came = ["tests/b.rs adds::case_1", "tests/b.rs other"]
    gone = ["tests/a.rs adds::case_1", "src/lib.rs tests::lost"]
    assert removed.list_unexplained(gone, came) == gone[1:]


def test_many_names_take_no_time():
    names = frozenset(f"test_{number}" for number in range(3_000))
    gone = [f"t.py::other_{number}" for number in range(5_000)]
    removed = RemovedTests(4_000, removed=names, added=names, renamed=names)
    began = time.process_time()
    assert removed.list_unexplained(gone, ()) == gone[:1_000]
    assert removed.list_unexplained(gone[:600], ()) == []
    assert time.process_time() - began < 4
