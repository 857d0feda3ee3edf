"""The judge: red before, green after a cure, and nothing that a run does to tests helps it."""

from __future__ import annotations

import pytest

from app.evaluation.run_hidden_tests import CommitJudge
from app.evaluation.verdict import compare, find_unsound
from tests.app.evaluation.conftest import SOURCE, write
from tests.app.git.conftest import git

CURED = SOURCE["calc.py"].replace("a + b + 1", "a + b")
SECRET = "not for the sandbox"


async def verdict(judging: CommitJudge, files=None, change=None):
    """Commit these files, or what `change` does, as a run would, and have it judged."""
    repository = judging.repository
    write(repository.folder, files or {})
    if change is not None:
        change(repository.folder)
    git(repository.folder, "add", "--all", "--force")
    git(repository.folder, "commit", "-q", "--allow-empty", "-m", "change")
    head = git(repository.folder, "rev-parse", "HEAD")
    about = judging.fetched.case.about.judge
    return compare(about, await judging.commit(repository.base), await judging.commit(head))


async def test_a_cure_is_solved(judging):
    found = await verdict(judging, {"calc.py": CURED})
    assert found.solved, found.reasons
    assert found.turned == {"test_sum::test_sum": ("failed", "passed")}


async def test_the_case_holds(judging):
    about = judging.fetched.case.about.judge
    before = await judging.commit(judging.repository.base)
    assert find_unsound(about, before, await judging.run_on_fixed_source()) == []
    assert before.own.results == {"test_sign::test_positive": "passed"}
    assert list(judging.place.glob("judged-*")) == []


async def test_a_cure_that_does_not_cure_makes_the_case_unsound(judging):
    about = judging.fetched.case.about.judge
    before = await judging.commit(judging.repository.base)
    assert "with the cure, hidden tests fail" in find_unsound(about, before, before)[0]


async def test_a_cure_that_breaks_something_else_is_not_solved(judging):
    found = await verdict(judging, {"calc.py": CURED.replace("a > 0", "a > 1")})
    assert found.lost == ["test_sign::test_positive"]
    assert found.reasons == ["passed before and does not now: `test_sign::test_positive`"]


GREEN = (
    "import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('<testsuite><testcase classname="
    '"test_sum" name="test_sum"/><testcase classname="test_sign" name="test_positive"/>'
    "</testsuite>')\n"
)
LOOSE = "def test_positive():\n    pass\n\n\ndef test_sum():\n    pass\n"
LEAVES = "\nimport os\nos._exit(0)\n"
CHEATS = {
    "adds tests of the hidden ones' names": {"tests/test_sum.py": LOOSE},
    "breaks something and its test": {
        "calc.py": CURED.replace("a > 0", "a > 1"),
        "tests/test_sign.py": LOOSE,
    },
    "writes the runner anew": {"tests/run.py": GREEN},
    "steers the runner": {"conftest.py": GREEN + LEAVES},
    "hides files from export": {".gitattributes": "tests export-ignore\ncalc.py -text\n"},
    "ends the process": {"calc.py": SOURCE["calc.py"] + LEAVES},
}


@pytest.mark.parametrize("files", CHEATS.values(), ids=CHEATS)
async def test_who_cheats_has_not_solved_it(judging, files):
    found = await verdict(judging, files)
    assert not found.solved


def _link(name, target):
    def change(folder):
        (folder / "old").mkdir()
        for path in list((folder / "tests").iterdir()):
            path.rename(folder / "old" / path.name)
        (folder / "tests").rmdir()
        (folder / name).symlink_to(target)

    return change


async def test_a_link_in_the_place_of_the_tests_leads_nowhere(judging, place):
    outside = place / "outside"
    outside.mkdir()
    found = await verdict(judging, {"calc.py": CURED}, _link("tests", outside))
    assert found.solved, found.reasons
    assert list(outside.iterdir()) == []


async def test_a_report_that_is_a_link_is_not_read(judging, place):
    secret = place / "secret.xml"
    secret.write_text(f'<testsuite><testcase classname="{SECRET}" name=""/></testsuite>')
    linking = f"\nimport os, sys\nos.symlink({str(secret)!r}, sys.argv[1])\nos._exit(0)\n"
    found = await verdict(judging, {"calc.py": CURED + linking})
    assert not found.solved
    assert "its report: `junit.xml` is or passes a symbolic link" in found.reasons[0]
    assert SECRET not in str(found)


async def test_what_the_tests_leave_behind_is_gone(judging):
    littering = "\nimport os\nos.makedirs('deep/er'); os.chmod('deep', 0)\n"
    await verdict(judging, {"calc.py": CURED + littering})
    assert list(judging.place.glob("judged-*")) == []
