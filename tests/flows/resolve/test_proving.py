"""What our own process finds in a change: no test that shows the bug, tests that were loosened."""

from __future__ import annotations

import re

from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, part, plan, pull_request, step, triage, usual

pytestmark = ONE_LOOP

TEST = {
    "edit": {
        "path": "test_calc.py",
        "old": "    def test_zero(self):",
        "new": "    def test_one(self):\n        self.assertEqual(calc.add(1, 1), 2)\n\n"
        "    def test_zero(self):",
    }
}
PROOF = "python3 -B -m unittest -q test_calc"
NOTHING = part("# Show the bug by a test", {"submit_proof": {"summary": "I cannot.", "proof": ""}})
ASKED = re.compile(r"/bot approve ([a-z0-9]+)`")
SKIP = {
    "edit": {
        "path": "test_calc.py",
        "old": "    def test_zero(self):",
        "new": "    @unittest.skip('slow')\n    def test_zero(self):",
    }
}
LOOSE = (triage("action_direct", kind="feature"), plan("Add"), step([CURE, SKIP]))
PUT_BACK = part(
    "# Put back",
    {"edit": {"path": "test_calc.py", "old": "    @unittest.skip('slow')\n", "new": ""}},
    {"submit_fix": {"summary": "The test is back."}},
)


async def test_a_bug_without_a_test_says_so(share_place):
    async with share_place(script=usual(plan("Add"), step(CURE), NOTHING)) as place:
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert "**No test shows the bug**: no test was added or changed." in pull.issue.body


async def test_a_test_that_is_made_when_it_is_asked_for_counts(share_place):
    shown = part(
        "# Show the bug by a test", TEST, {"submit_proof": {"summary": "Now.", "proof": PROOF}}
    )
    async with share_place(script=usual(plan("Add"), step(CURE), shown)) as place:
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert "**A test shows the bug.**" in pull.issue.body
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects == ["Add", "Add a test that shows the bug"]


async def question(place):
    """Wait until people are asked about what was loosened; return the id and the comment."""
    body = await place.wait_for_comment("loosen tests or checks")
    return ASKED.search(body)[1], body


async def test_a_skipped_test_needs_a_yes(share_place):
    async with share_place(script=usual(*LOOSE)) as place:
        await place.label()
        ident, asked = await question(place)
        assert "test_calc.py" in asked
        await place.wait_for_parked()
        assert not place.pulls()
        await place.say("mara", f"/bot approve {ident}")
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.draft, "the only test there is ran no more, so nothing is known of the change"
        assert "it ran no test" in pull.issue.body
        assert "### What was loosened" in pull.issue.body
        assert f"mara approved this (approval {ident})" in pull.issue.body


async def test_after_a_no_the_test_is_put_back(share_place):
    async with share_place(script=usual(*LOOSE, PUT_BACK)) as place:
        await place.label()
        ident, _ = await question(place)
        await place.say("mara", f"/bot deny {ident} it is not slow")
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert not pull.draft
        assert "skip" not in await place.show(pull.head_sha, "test_calc.py")
        assert "it is not slow" in await place.read_prompts("implement/1")
        assert "### What was loosened" not in pull.issue.body


async def test_what_is_not_put_back_makes_a_draft(share_place):
    stubborn = part("# Put back", {"submit_fix": {"summary": "It has to go."}})
    script = usual(*LOOSE, stubborn, pull_request(draft=True))
    async with share_place(script=script) as place:
        await place.label()
        ident, _ = await question(place)
        await place.say("mara", f"/bot deny {ident} it is not slow")
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.draft
        assert f"mara said no (approval {ident})" in pull.issue.body
        assert "it is not slow" in pull.issue.body
