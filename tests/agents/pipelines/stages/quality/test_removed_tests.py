"""Fewer tests than before say nothing, unless the change itself removes those that are missing."""

import pytest

from agents.analysis.check_failures import FailuresByProgram
from agents.analysis.check_failures.named_tests import pack_names
from agents.analysis.check_failures.reported import ReportedFailures
from agents.analysis.weakening import RemovedTests
from agents.pipelines.stages.quality import headline
from agents.pipelines.stages.quality.confirm import Confirmation
from agents.pipelines.stages.quality.results import CheckResult
from agents.policy import POLICY_PATH

POLICY = "quality: [{name: tests, run: make test}]\nsetup: {second_look: false}\n"
TESTS = "".join(f"def test_{n}():\n    assert {n} + 1\n\n\n" for n in range(10))


@pytest.fixture
def compared(compare_change):
    """Run the checks on a base and on a head with other files; each run ends as the list says."""

    async def compare(files, *ends):
        left = list(ends)
        base = {
            POLICY_PATH: POLICY,
            "lib.py": "A = 1\n",
            "tests/test_a.py": TESTS,
            CASES: "[1, 2]\n",
        }
        changes = {path: text or None for path, text in files.items()}
        quality = await compare_change(base, changes, {"make test": lambda _files: left.pop(0)})
        assert not left
        return quality

    return compare


CASES = "tests/cases.json"
TWENTY, TEN, LESS = ((0, f"{number} passed in 0.1s") for number in (20, 10, 19))


async def test_tests_that_are_gone_with_their_file_are_not_missed(compared):
    removed = await compared({"tests/test_a.py": ""}, TWENTY, TEN)

    assert removed.verdict == "no worse"


async def test_tests_that_no_longer_run_and_are_still_there_leave_the_verdict_open(compared):
    other = await compared({"lib.py": "A = 2\n"}, TWENTY, TEN, TEN, TWENTY)

    assert other.verdict == "unknown"
    assert "it ran 10 tests, of 20 before, and the change removes none" in other.untold[0]


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((LESS, TWENTY), "unknown"),
        ((TWENTY,), "no worse"),
        ((LESS, LESS), "no worse"),
        ((TEN, LESS), "unknown"),
    ],
    ids=["always", "sometimes with the change", "sometimes before it", "ever fewer"],
)
async def test_one_test_less_is_chance_only_where_runs_of_one_commit_differ(
    compared, ends, verdict
):
    quality = await compared({"lib.py": "A = 2\n"}, TWENTY, LESS, *ends)

    assert quality.verdict == verdict
    assert bool(quality.untold) == (verdict == "unknown")


async def test_what_fails_in_the_run_that_looks_for_missing_tests_counts(compared):
    red = (1, "FAILED tests/test_a.py::test_3 - assert 0\n1 failed, 19 passed in 0.1s")
    quality = await compared({"lib.py": "A = 2\n"}, TWENTY, LESS, red, *[red] * 3)

    assert quality.verdict == "worse"


async def test_rows_that_are_gone_are_for_people_to_agree_to(compared):
    quality = await compared({CASES: "[1]\n"}, TWENTY, LESS, LESS, TWENTY)

    assert quality.verdict == "no worse"
    [lost] = quality.lost
    assert (lost.place, lost.kind, lost.grave) == (CASES, "removed", True)
    assert lost.text.startswith("1 test fewer ran (20 → 19) in tests")
    assert lost.text in headline(quality)


async def test_rows_that_are_gone_may_be_most_of_them(compared):
    few = (0, "1 passed in 0.1s")
    quality = await compared({CASES: "[1]\n"}, TWENTY, few, few, TWENTY)

    assert quality.verdict == "no worse"
    assert quality.lost


@pytest.mark.parametrize("ends", [(TWENTY,), (LESS, LESS)], ids=["with it", "before it"])
async def test_tests_that_lack_by_chance_are_nobodys_rows(compared, ends):
    quality = await compared({CASES: "[1]\n"}, TWENTY, LESS, *ends)

    assert (quality.verdict, quality.lost) == ("no worse", ())


async def test_where_tests_flake_besides_people_are_asked_for_the_rows_still(compared):
    flaky = "FAILED tests/test_a.py::test_3 - assert 0\n1 failed, {} passed in 0.1s"
    before, now = (1, flaky.format(19)), (1, flaky.format(18))
    quality = await compared({CASES: "[1]\n"}, TWENTY, now, LESS, LESS, LESS, before)

    assert (quality.verdict, len(quality.lost)) == ("no worse", 1)


def end_with(*names):
    """Return a run whose report names these tests."""
    report = ReportedFailures(whole=True, ended=True, ran=len(names), tests=pack_names(names))
    failures = FailuresByProgram(reports={"pytest": report}, of_tests=True)
    told = {"name": "tests", "command": "pytest", "timeout": 9, "exit_code": 0, "seconds": 1}
    return CheckResult(**told, output="", failures=failures)


@pytest.mark.parametrize(
    ("tables", "verdict"), [((CASES,), "no worse"), ((), "unknown")], ids=["rows", "hidden"]
)
async def test_tests_that_others_run_in_the_place_of_are_missed(tables, verdict):
    before, now = end_with("all[1]", "all[2]", "all[3]"), end_with("all[1]", "more", "most")
    removed = RemovedTests(tables=tables, added=frozenset(("more", "most")))

    async def run_again(commit, _given):
        return before if commit == "base" else now

    confirm = Confirmation([before], "base", "head", run_again, lambda _: None, removed=removed)
    judged = await confirm.confirm(now)

    assert judged.verdict == verdict
    assert bool(judged.lost) == bool(tables)
    said = "".join(each.text for each in judged.lost) or judged.why
    assert "2 of 3 tests did not run again" in said
    assert "all[2]" in said


@pytest.mark.parametrize(
    ("earlier", "verdict"),
    [(("all[1]", "x 4"), "no worse"), (("all[1]", "x 1"), "unknown")],
    ids=["names that are others in each run", "names that stay"],
)
async def test_what_the_product_lists_and_tests_are_made_of_is_missed(earlier, verdict):
    before, now = end_with("all[1]", "x 1"), end_with("all[1]", "x 2")
    again = [now, end_with(*earlier)]

    async def run_again(_commit, _given):
        return again.pop(0)

    removed = RemovedTests(product=("lib.py",))
    confirm = Confirmation([before], "base", "head", run_again, lambda _: None, removed=removed)

    assert (await confirm.confirm(now)).verdict == verdict
