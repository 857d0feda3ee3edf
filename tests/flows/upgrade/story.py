"""Four runs that an upgrade cuts short: what the model said before it, and what it says after.

Each part that a run is in the middle of stands here whole, since the fixture holds its beginning.
"""

from __future__ import annotations

from app.simulator.model import Script
from tests.flows.scripted import CURE, bash, part, plan, step, triage, usual

ISSUES = {  # in the order of their numbers
    "approval": "It adds one too many: may the work be thrown away?",
    "answer": "It adds one too many: is the sum rounded?",
    "words": "It adds one too many: how is the change described?",
    "step": "It adds one too many: where is the test?",
}
BODY = "`calc.add(1, 1)` gives 3 and should give 2."
PROOF = "python3 -B -m unittest -q test_calc"
QUESTION = {"question": "Is the sum rounded?", "why": "Tests differ.", "otherwise": "It is not."}
RESET = bash("git reset --hard HEAD~1 || echo could not")
LOOK = {"read": {"path": "calc.py"}}
TEST = {
    "edit": {
        "path": "test_calc.py",
        "old": "    def test_zero(self):",
        "new": "    def test_one(self):\n        self.assertEqual(calc.add(1, 1), 2)\n\n"
        "    def test_zero(self):",
    }
}
WORDS = {
    "branch": "add-without-one",
    "title": "Add without one too many",
    "why": "The sum was one too large.",
    "rejected": "",
    "notes": "",
}
MINUTES = 600.0
"""Seconds after which an answer comes that nobody is to live to see."""

ONE_STEP = plan("Add without one too many")
RISKY = step(LOOK, RESET, CURE)
ASKED = part(
    "# Write the comment",
    {
        "submit_comment": {
            "questions": [QUESTION],
            "approaches": [],
            "recommendation": "",
            "reason": "",
        }
    },
)
AGAIN = triage("action_direct", when="# Decide again")
FIRST = step(LOOK, CURE, number=1, count=2)
SECOND = step(TEST, bash(PROOF), number=2, count=2, proof=PROOF)
DESCRIBED = part("# Write the pull request", LOOK, {"submit_pull_request": WORDS})


def script_before(name: str) -> Script:
    """Return the script for the run on this issue, up to where it waits or is cut short."""
    return {
        "approval": usual(ONE_STEP, RISKY),
        "answer": usual(triage("ask"), ASKED),
        "words": usual(ONE_STEP, step(LOOK, CURE), _slow(DESCRIBED)),
        "step": usual(FIRST, _slow(SECOND)),
    }[name]


def script_after() -> Script:
    """Return the script by which all of them come to their end."""
    return usual(AGAIN, RISKY, FIRST, SECOND, DESCRIBED)


def _slow(slowed):
    """Return the part with a second turn that takes longer than the server lives."""
    first, second, *rest = slowed["turns"]
    return slowed | {"turns": [first, second | {"latency": MINUTES}, *rest]}
