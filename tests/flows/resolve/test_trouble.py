"""What goes wrong outside, and what hostile text makes a model try: the run stays in hand."""

from tests.flows.conftest import CALC
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import usual

pytestmark = ONE_LOOP


async def test_a_model_in_trouble_is_asked_again_and_lost_answers_make_nothing_twice(share_place):
    kinds = ["overloaded", "stream_error", "truncated", "drop"]
    async with share_place() as place:
        left = list(kinds)

        async def fail(asked):
            if left and not asked.fault:
                place.model.fail_next(left.pop(), times=2)

        place.model.on_answered(fail)
        place.model.fail_next(left.pop(), times=2)
        faults = place.github.faults
        faults.lose_answer("POST", r"/issues/1/comments$")
        faults.lose_answer("POST", r"/pulls$")
        faults.status("GET", r"/collaborators/", 502)
        faults.rate_limit("POST", r"/reactions$", retry_after=1)
        await place.label()

        assert (await place.wait_for_end()).kind == "pull_request"
        assert len(place.pulls()) == 1
        assert len(place.comments()) == 1
        failed = [asked.fault for asked in place.model.requests if asked.fault]
        assert failed == [kind for kind in reversed(kinds) for _ in range(2)]


async def test_work_that_no_pull_request_can_be_opened_for_is_kept_and_named(share_place):
    async with share_place() as place:

        async def take_base_away(asked):
            if asked.number == 4:
                await place.github.delete_branch(place.repository, "main", place.people["mara"])

        place.model.on_request(take_base_away)
        await place.label()

        outcome = await place.ends("failed")
        [branch] = [each for each in await place.branches() if "unfinished" in each]
        assert f"What it had made until then is kept on [`{branch}`]" in outcome.text
        assert outcome.text.count("Validation Failed for 'base'") == 1
        assert "could not be pushed" not in outcome.text


async def test_a_label_that_is_gone_again_starts_nothing(share_place):
    async with share_place() as place:

        async def take_off(_request):
            place.github.parts.issues.remove_label(
                place.issue, place.actor("mara"), place.repository.labels["bot:resolve"]
            )

        place.github.faults.call_before("POST", r"/api/graphql$", take_off)
        await place.label()

        outcome = await place.wait_for_end()
        assert (outcome.kind, outcome.rule) == ("refused", "label-on")
        assert not place.model.requests


async def test_a_policy_that_cannot_be_read_is_said_before_anything_is_paid(share_place):
    files = CALC | {".github/fettle.yml": "qualty: []\n"}
    async with share_place(files=files) as place:
        await place.label()

        outcome = await place.wait_for_end()
        assert (outcome.kind, outcome.rule) == ("refused", "policy-valid")
        [said] = place.comments()
        page = f"{place.github.url}/{place.repository.full_name}/blob/main/.github/fettle.yml"
        assert f"[line 1, column 1]({page}#L1): `qualty` is not a key of the policy." in said
        assert "Did you mean `quality`?" in said
        assert not place.model.requests
        assert not [each for each in place.github.requests if ".git/" in each.path]


SNEAK = "mkdir -p .github/workflows; echo on: push >.github/workflows/x"


async def test_a_protected_file_written_behind_the_tools_ends_the_run(share_place):
    sneaking = {
        "when": "# Implement step 1 of 2",
        "turns": [
            {
                "call": [
                    {"write": {"path": ".github/workflows/x", "content": "on: push"}},
                    {"write": {"path": "sneak.sh", "content": SNEAK}},
                ]
            },
            {"call": [{"bash": {"command": "bash sneak.sh; rm sneak.sh"}}]},
            {"call": [{"submit_step": {"summary": "Added a workflow.", "tried": "-"}}]},
        ],
    }
    async with share_place(script=usual(sneaking)) as place:
        await place.label()

        outcome = await place.wait_for_end()
        assert outcome.kind == "failed"
        assert ".github/workflows/x" in outcome.text
        assert not place.pulls()
        assert "path/never" in await place.read_results("implement/1")
