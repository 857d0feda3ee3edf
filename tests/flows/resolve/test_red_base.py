"""A suite that is red before the change: one more failing test is noticed all the same."""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path

import yaml

from tests.flows.conftest import CALC
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import part, plan, pull_request, step, triage, usual

pytestmark = ONE_LOOP

RED = {
    "calc.py": "def add(a, b):\n    return a + b + 1\n\n\ndef twice(a):\n    return a + a\n",
    "test_calc.py": (
        "import unittest\n\nimport calc\n\n\nclass Sums(unittest.TestCase):\n"
        "    def test_long_broken(self):\n        self.fail('nobody knows why')\n\n"
        "    def test_twice(self):\n        self.assertEqual(calc.twice(2), 4)\n"
    ),
}
CURE = {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}}
BREAK = {"edit": {"path": "calc.py", "old": "a + a", "new": "a + 1"}}
MEND = {"edit": {"path": "calc.py", "old": "a + 1", "new": "a + a"}}
FIX = part("# Fix the checks", MEND, {"submit_fix": {"summary": "twice() adds a again."}})
BEGIN = (triage("action_direct", kind="feature"), plan("Add"))


def row(place):
    """Return the row of the table of checks in the only pull request."""
    [pull] = place.pulls()
    [found] = [line for line in pull.issue.body.splitlines() if line.startswith("| tests |")]
    return pull, found


async def test_one_more_failure_is_mended_and_the_same_failures_pass(share_place):
    async with share_place(RED, script=usual(*BEGIN, step([CURE, BREAK]), FIX)) as place:
        await place.label()
        await place.ends("pull_request")

        pull, shown = row(place)
        told = await place.read_prompts("implement/1")
        assert "These fail with the change and did not fail before it:" in told
        assert "- test_calc.Sums.test_twice" in told
        assert "- test_calc.Sums.test_long_broken" not in told
        assert not pull.draft
        assert shown.count("failed (1; exit 1, ") == 2
        assert "### Still failing" not in pull.issue.body
        assert "a + a" in await place.show(pull.head_sha, "calc.py")
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects == ["Add", "Fix failing checks"]


CHECKS = [
    {"name": "tests", "run": "python3 -B -m unittest -q"},
    {"name": "sums", "run": "python3 -B -c 'import calc; assert calc.add(1, 1) == 3'"},
]


async def test_one_more_failure_that_stays_makes_a_draft_and_so_does_a_check_that_passed_before(
    share_place,
):
    nothing = part("# Fix the checks", {"submit_fix": {"summary": "I do not know how."}})
    files = RED | {".github/fettle.yml": yaml.safe_dump({"quality": CHECKS})}
    script = usual(*BEGIN, step([CURE, BREAK]), nothing, pull_request(draft=True))
    async with share_place(files, script=script) as place:
        await place.label()
        await place.ends("pull_request")

        pull, shown = row(place)
        assert pull.draft
        assert "failed (1; exit 1, " in shown
        assert "failed (2, 1 new: `test_calc.Sums.test_twice`; exit 1, " in shown
        assert "### Still failing" in pull.issue.body
        [sums] = [line for line in pull.issue.body.splitlines() if line.startswith("| sums |")]
        assert "passed (exit 0" in sums
        assert "failed (exit 1" in sums


SECONDS = f"61.{secrets.randbelow(10**9):09}"
FLAKY = f"""
import os, subprocess
from pathlib import Path
import calc
alone = "::" in os.environ["PYTEST_ADDOPTS"]
passed = Path.home() / "passed-alone"
if alone and not passed.exists():
    subprocess.run(["sleep", "{SECONDS}"])
    passed.touch()
fails = calc.add(1, 1) == 2 and not passed.exists()
print("=== short test summary info ===")
print("FAILED t.py::late - x\\n=== 1 failed in 0.1s ===" if fails else "1 passed in 0.1s")
raise SystemExit(fails)
"""


def find_sleeping():
    """Return the processes in which a test sleeps that is run alone for the first time."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            asleep = (entry / "cmdline").read_bytes() == f"sleep\0{SECONDS}\0".encode()
        except OSError:
            continue
        found += [int(entry.name)] if asleep else []
    return found


async def test_what_flakes_is_remembered_once_through_a_power_cut_and_told_in_the_next_run(
    share_place,
):
    policy = yaml.safe_dump({"quality": [{"name": "tests", "run": "python3 -B suite.py"}]})
    files = CALC | {"suite.py": FLAKY, ".github/fettle.yml": policy}
    async with share_place(files, script=usual(*BEGIN, step(CURE))) as place:
        await place.label()
        await place.wait_until(find_sleeping)
        await place.kill_and_restart()
        await place.wait_until(lambda: not find_sleeping())
        await place.wait_until(find_sleeping)
        [pid] = find_sleeping()
        os.kill(pid, signal.SIGTERM)
        await place.ends("pull_request")
        [first] = place.pulls()
        assert first.draft, "it failed with the change alone"
        assert "`t.py::late` failed at first, then in none of 3 runs by itself" in first.issue.body
        assert "held against nobody" not in first.issue.body
        assert "earlier runs" not in first.issue.body

        other = await place.file("It adds one too many, still", "See calc.add.")
        await place.label(issue=other)
        await place.wait_until(find_sleeping)
        [pid] = find_sleeping()
        os.kill(pid, signal.SIGTERM)
        await place.all_done(2)
        second = place.pulls()[1]
        assert "`t.py::late` (in 1 run, 0 of them without a change; last on" in second.issue.body
