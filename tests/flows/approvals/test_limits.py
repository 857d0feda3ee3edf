"""Limits: of money, where the work so far becomes a draft, and of the model's server."""

from __future__ import annotations

from tests.flows.conftest import write_policy
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, bash, evaluation, plan, step, triage, usual

pytestmark = ONE_LOOP

TWO = usual(
    triage("action_direct", kind="feature"),
    plan("Add without one too many", "Go on for ever"),
    step(CURE, number=1, count=2),
    step(*([bash(f"echo {n}")] for n in range(30)), number=2, count=2),
    evaluation("pass"),
)


async def test_at_the_limit_the_work_is_a_draft_with_the_reason(share_place):
    files = write_policy("budget: {turns: 12}")
    async with share_place(files=files, script=TWO) as place:
        await place.label()
        outcome = await place.ends("pull_request")

        assert "Opened an unfinished draft." in outcome.text
        [pull] = place.pulls()
        assert pull.draft
        assert pull.issue.title == "Unfinished: It adds one too many"
        assert "The run used up its budget: 12 of 12 model answers." in pull.issue.body
        assert "Nothing of it counts as verified" in pull.issue.body
        assert "Resolves #1" not in pull.issue.body
        [(_, message)] = await place.commits(pull)
        assert message.startswith("Step 1/2: Add without one too many\n")
        assert await place.show(pull.head_sha, "calc.py") == "def add(a, b):\n    return a + b\n"
        assert "most of what you may use is used" in await place.read_prompts("implement/2")


async def test_what_the_day_allows_holds_for_all_runs_of_a_repository(share_place):
    files = write_policy("budget: {usd_per_day: 0.001}")
    async with share_place(files=files) as place:
        await place.label()
        await place.ends("failed")
        asked = len(place.model.requests)
        other = await place.file("Another one", "It adds one too many as well.")
        await place.label(issue=other)
        await place.all_over("failed", "failed")
        outcome = await place.wait_for_end()

        assert "used up the budget of the day" in outcome.text
        assert "midnight UTC" in outcome.text
        assert asked == len(place.model.requests) == 1, "the second run was not to ask anything"


async def test_a_server_without_room_parks_the_run_which_goes_on_by_itself(share_place):
    async with share_place() as place:
        place.model.fail_next("rate_limit", retry_after=62)
        await place.label()
        await place.wait_for_parked()
        await place.wait_until(lambda: "**Waiting for the model's server" in place.progress())
        assert "goes on by itself" in place.progress()
        asked = len(place.model.requests)
        assert asked == 1
        await place.wait_until(lambda: len(place.model.requests) > asked)
        await place.ends("pull_request")

        assert len(place.pulls()) == 1
        waited = place.model.requests[1].at - place.model.requests[0].at
        assert waited >= 60
