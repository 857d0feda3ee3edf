"""What fresh eyes say of a change, and what becomes of work that changed nothing."""

from __future__ import annotations

from tests.flows.keeping import ONE_LOOP
from tests.flows.resolve.test_signing_flow import see_that_all_is_signed
from tests.flows.scripted import CURE, evaluation, part, plan, pull_request, step, triage, usual

pytestmark = ONE_LOOP

FLAW = {"where": "calc.py, add", "what": "It does not say what it adds."}
NOTE = {"edit": {"path": "calc.py", "old": "    return", "new": "    # the sum\n    return"}}
REVISED = {"submit_fix": {"summary": "It says so now."}}
CHANGE = (triage("action_direct", kind="feature"), plan("Add without one too many"))


async def test_a_change_that_needs_context_is_kept_and_asked_about(share_place):
    missing = "Whether negative sums count, @everyone."
    script = usual(
        *CHANGE,
        step(CURE),
        evaluation("needs_context", missing=missing),
        part("# Say what is missing", {"submit_eval_comment": {"comment": missing + " Do they?"}}),
    )
    async with share_place(script=script) as place:
        await place.label()
        await place.ends("comment")

        asked = await place.wait_for_comment(
            "### The change is made, but one thing has to be settled first"
        )
        assert "Do they?" in asked
        assert "@everyone" not in asked
        [branch] = await place.branches()
        assert branch.startswith("bot/1-unfinished-")
        assert branch in asked
        assert "return a + b\n" in await place.show(branch, "calc.py")
        assert not place.pulls()


CRITERIA = ["add(1, 1) is 2", "it is fast | enough"]
MET = [
    {"number": 1, "met": True, "commit": 2, "test": "test_calc.py::test_sum"},
    {"number": 2, "met": True, "commit": 0, "test": ""},
]


async def test_a_flaw_is_mended_once_by_whoever_made_it_and_what_is_demanded_is_held_against_it(
    share_place, rest_referee
):
    """All of it in a repository that demands signed commits."""
    demanding = triage("action_direct", kind="feature", criteria=CRITERIA)
    mending = (demanding, CHANGE[1], step(CURE), part("# Revise", NOTE, REVISED))
    revise = evaluation("revise", flaws=[FLAW], criteria=[MET[0] | {"commit": 1}, MET[1]])
    async with share_place(script=usual(*mending, revise)) as place:
        place.repository.requires_signatures = True
        place.model.on_answered(_then_pass(place, mending))
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert not pull.draft
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects == ["Add without one too many", "Mend what the evaluation found"]
        assert "# the sum" in await place.show(pull.head_sha, "calc.py")
        assert FLAW["what"] in await place.read_prompts("implement/1")
        assert (await place.turns("evaluation/1"))[0] != (await place.turns("evaluation/2"))[0]
        [row] = [line for line in pull.issue.body.splitlines() if CRITERIA[0] in line]
        assert "`test_calc.py::test_sum`" in row
        assert row.split("|")[2].strip() == pull.head_sha[:10]
        assert "| no commit named | none |" in pull.issue.body
        await see_that_all_is_signed(place, pull, rest_referee)


async def test_a_flaw_that_stays_makes_a_draft(share_place):
    script = usual(
        *CHANGE,
        step(CURE),
        evaluation("revise", flaws=[FLAW]),
        part("# Revise", REVISED),
        pull_request(draft=True),
    )
    async with share_place(script=script) as place:
        await place.label()
        await place.ends("pull_request")

        [pull] = place.pulls()
        assert pull.draft
        assert FLAW["what"] in pull.issue.body


async def test_work_that_changed_nothing_says_why(share_place):
    why = {
        "obstacle": "It works already, @everyone: the sum is right.",
        "tried": "I ran add(1, 1).",
        "needed": "An input for which it is wrong.",
    }
    script = usual(
        *CHANGE,
        step(summary="It works already."),
        part("# Say why nothing changed", {"submit_infeasible": why}),
    )
    async with share_place(script=script) as place:
        await place.label()
        await place.ends("comment")

        told = await place.wait_for_comment("### I found nothing to change")
        assert "It works already" in told
        assert "An input for which it is wrong." in told
        assert "@everyone" not in told
        assert not place.pulls()
        assert not await place.branches()


def _then_pass(place, mending):
    """Return a hook: once the change was judged, the next judge lets it pass."""

    async def hook(asked):
        if asked.part == "# Evaluate":
            place.model.play(usual(*mending, evaluation("pass", criteria=MET)))

    return hook
