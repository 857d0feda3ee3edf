"""A run on a clone waits for whoever started it: asked right there, or once they come back."""

from __future__ import annotations

import json

import pytest

from app.clone.ask_person import CloneWaits
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from tests.app.clone.conftest import DOCS, JUDGE, PLAN, PULL, TRIAGE, make_clone, part
from tests.app.git.conftest import git

PATH = "docs/CODEOWNERS"
SUBMIT = {"submit_step": {"summary": "add() added one too many.", "tried": "Ran it."}}
STEP = {
    "when": "# Implement step 1 of 1",
    "turns": [
        {"call": [{"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}}]},
        {"call": [{"write": {"path": PATH, "content": "* @ada\n"}}]},
        {"call": [SUBMIT]},
    ],
}
SCRIPT = (TRIAGE, PLAN, STEP, JUDGE, DOCS, PULL)


OVER = ("failed-", "done-")


def databases(data):
    """Return the URLs of the databases of all runs that are not over."""
    found = sorted(data.glob("clones/*/run.db"))
    return [f"sqlite:///{path}" for path in found if not path.parent.name.startswith(OVER)]


def open_only_database(data):
    [url] = databases(data)
    return Database(url)


async def test_a_run_that_waits_ends_the_command_and_the_next_one_goes_on(bench, calc):
    async def decide_later(_waiting):
        return None

    model = await bench.play(SCRIPT)
    with pytest.raises(CloneWaits) as ended:
        await bench.resolve(calc, decide=decide_later)
    [ident] = ended.value.approvals
    for words in (ident, PATH, "* @ada", f"fettle approve {'ID'}"):
        assert words in ended.value.text
    assert json.loads(ended.value.json())["approvals"][0]["arguments"]["path"] == PATH
    [folder] = bench.list_folders()
    assert f"Run `{folder.name}`" in ended.value.text
    assert json.loads(ended.value.json())["run"] == folder.name
    assert (folder / "run.db").exists()
    assert not (folder / "runs").exists()
    asked = len(model.requests)

    with pytest.raises(CloneWaits):  # nobody has decided yet, nor is anybody there
        await bench.resolve(calc)
    assert len(model.requests) == asked

    database = open_only_database(bench.data)
    await StoredApprovals(database).decide(
        ident, verdict="approved", by="ada", by_id=None, via="terminal"
    )
    database.close()
    done = await bench.resolve(calc)
    assert done.exit_code == 0
    assert git(calc, "show", f"{done.branch}:{PATH}") == "* @ada"
    assert "a + b\n" in git(calc, "show", f"{done.branch}:calc.py") + "\n"
    assert databases(bench.data) == []


@pytest.mark.parametrize(("answer", "there"), [("approved", True), ("denied", False)])
async def test_whoever_sits_there_is_asked_and_the_run_goes_on_at_once(bench, calc, answer, there):
    asked = []

    async def decide(waiting):
        asked.append(waiting.asking.arguments["path"])
        return answer, "leave the owners alone"

    await bench.play(SCRIPT)
    done = await bench.resolve(calc, decide=decide)
    assert asked == [PATH]
    assert done.exit_code == 0
    listed = git(calc, "ls-tree", "-r", "--name-only", done.branch).split()
    assert (PATH in listed) is there


ROWS = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n",
    ".github/fettle.yml": "quality:\n  - {name: sums, run: python3 -B tests/run.py}\n",
    "tests/run.py": "import json, pathlib\n"
    "rows = json.loads(pathlib.Path('tests/cases.json').read_text())\n"
    "print(len(rows), 'passed in 0.1s')\n",
    "tests/cases.json": "[[0, 0], [1, 1], [2, 2]]\n",
}


@pytest.mark.parametrize("answer", ["approved", "denied"])
async def test_rows_that_no_test_runs_for_any_more_take_a_yes(bench, answer):
    clone = make_clone(bench.place / "rows", ROWS)
    write = {"call": [{"write": {"path": "tests/cases.json", "content": "[[0, 0]]\n"}}]}
    look = {"call": [{"read": {"path": "tests/cases.json"}}]}
    step = {**STEP, "turns": [STEP["turns"][0], look, write, {"call": [SUBMIT]}]}
    back = {"write": {"path": "tests/cases.json", "content": ROWS["tests/cases.json"]}}
    mended = {"submit_fix": {"summary": "Put the rows back."}}
    put_back = part("# Put back", back, mended)
    await bench.play((TRIAGE, PLAN, step, JUDGE, DOCS, PULL, put_back))
    asked = []

    async def decide(waiting):
        asked.append(waiting.asking.arguments["changes"])
        return answer, "the rows are wrong"

    done = await bench.resolve(clone, decide=decide)

    assert asked[0].startswith("tests/cases.json: test removed: 2 tests fewer ran (3 → 1) in sums")
    assert (len(asked), done.exit_code) == (1, 0)
    left = git(clone, "show", f"{done.branch}:tests/cases.json") + "\n"
    assert (left == ROWS["tests/cases.json"]) == (answer == "denied")
