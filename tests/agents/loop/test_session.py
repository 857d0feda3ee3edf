"""A session: calls settled, prose and faults sent back, budgets kept."""

import asyncio
import json

import pytest

from agents.errors import TransientError
from agents.loop.budget import RunLimits
from agents.loop.session import WRAP_UP

FILES = {"a.txt": "one\n", ".github/fettle.yml": "decisions: {record: false}"}


def triage(use):
    return use("submit_triage", decision="decline", kind="bug", reasoning="r", detail="d")


def last_user_message(world):
    return json.loads(world.model.asked[-1]["messages"])[-1]["content"]


async def test_calls_of_one_answer_come_back_in_one_message_in_order(make_world, request_, talk):
    use = talk.use
    calls = [use("read", path="a.txt"), use("read", path="b.txt"), use("nonsense")]
    world = make_world(FILES, [calls, [triage(use)]])

    await world.resolve(request_)

    results = last_user_message(world)
    assert [r["tool_use_id"] for r in results] == [c["id"] for c in calls]
    assert "one" in results[0]["content"]
    assert results[1]["is_error"]
    assert "There is no tool" in results[2]["content"]


async def test_prose_alone_is_sent_back_but_not_for_ever(make_world, request_, talk):
    world = make_world(FILES, [[talk.say("Done!")]] * 9)

    assert "did not come to a result" in (await world.resolve(request_)).text

    assert len(world.model.asked) == 4
    assert "call submit_triage" in last_user_message(world)[0]["text"]


async def test_a_faulty_submission_is_sent_back_with_the_fault(make_world, request_, talk):
    use = talk.use
    wrong = use("submit_triage", decision="maybe", kind="bug", reasoning="r", detail="d")
    world = make_world(FILES, [[wrong], [triage(use)]])

    await world.resolve(request_)

    [result] = last_user_message(world)
    assert result["is_error"]
    assert "decision" in result["content"]


async def test_the_submission_of_another_stage_is_refused(make_world, request_, talk):
    use = talk.use
    world = make_world(FILES, [[use("submit_plan", steps=[])], [triage(use)]])

    await world.resolve(request_)

    assert "ends with submit_triage" in last_user_message(world)[0]["content"]


@pytest.mark.parametrize("reason", ["refusal", "max_tokens"])
async def test_an_answer_that_is_no_answer_ends_the_run(make_world, request_, talk, reason):
    world = make_world(FILES, [[{"type": "stop", "stop": reason}, talk.say("I")]])

    assert (await world.resolve(request_)).kind == "failed"


async def test_a_stage_that_reads_cannot_change(make_world, request_, talk):
    use = talk.use
    world = make_world(FILES, [[use("write", path="a.txt", content="x")], [triage(use)]])

    await world.resolve(request_)

    assert last_user_message(world)[0]["is_error"]
    assert world.source.opened[0].files == FILES


async def test_the_budget_ends_the_run_before_the_next_answer(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 9
    world = make_world(FILES, answers, limits=RunLimits(usd=0.025, turns=99, minutes=9))

    assert "$0.03 of $0.03" in (await world.resolve(request_)).text

    assert len(world.model.asked) == 3


async def test_near_the_limit_the_model_is_told_once_to_wrap_up(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 9 + [[triage(talk.use)]]
    world = make_world(FILES, answers, limits=RunLimits(usd=9, turns=11, minutes=9))

    await world.resolve(request_)

    assert world.model.asked[-1]["messages"].count(WRAP_UP[:40]) == 1


def was_warned(world):
    return "this very call" in str(last_user_message(world))


async def test_the_same_call_with_the_same_result_is_remarked_upon(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 4 + [[triage(talk.use)]]
    world = make_world(FILES, answers)

    await world.resolve(request_)

    assert was_warned(world)


async def test_a_call_that_fails_again_and_again_is_remarked_upon(make_world, request_, talk):
    answers = [[talk.use("read", path="none.txt")]] * 4 + [[triage(talk.use)]]
    world = make_world(FILES, answers)

    await world.resolve(request_)

    assert was_warned(world)


async def test_how_long_a_command_took_makes_its_result_no_other_one(make_world, request_, talk):
    times = iter(["0.31s", "0.29s", "0.30s", "0.33s"])
    answers = [[talk.use("bash", command="test")]] * 4 + [[triage(talk.use)]]
    commands = {"test": lambda _: (1, f"1 failed in {next(times)}")}
    world = make_world(FILES, answers, commands=commands)

    await world.resolve(request_)

    assert was_warned(world)


async def test_failing_calls_that_speak_of_a_submission_are_no_faulty_submissions(
    make_world, request_, talk
):
    looking = [[talk.use("read", path=f"submit_{n}.py")] for n in range(6)]
    world = make_world(FILES, [*looking, [triage(talk.use)]])

    assert (await world.resolve(request_)).kind == "comment"


async def test_a_submission_that_is_faulty_again_and_again_ends_the_run(make_world, request_, talk):
    world = make_world(FILES, [[talk.use("submit_plan", steps=[])]] * 9)

    assert "did not come to a result" in (await world.resolve(request_)).text

    assert len(world.model.asked) == 5


async def test_a_submission_beside_a_call_that_failed_is_not_taken(make_world, request_, talk):
    use = talk.use
    hasty = [triage(use), use("read", path="none.txt")]
    world = make_world(FILES, [hasty, [triage(use)]])

    await world.resolve(request_)

    refused, failed = last_user_message(world)
    assert "another call of this answer failed" in refused["content"]
    assert refused["tool_use_id"] == hasty[0]["id"]
    assert failed["tool_use_id"] == hasty[1]["id"]


async def test_what_is_submitted_with_the_last_answer_of_the_budget_counts(
    make_world, request_, talk
):
    answers = [[talk.use("read", path="a.txt")], [triage(talk.use)]]
    world = make_world(FILES, answers, limits=RunLimits(usd=9, turns=2, minutes=9))

    assert (await world.resolve(request_)).kind == "comment"


async def test_trouble_in_one_call_ends_those_beside_it(make_world, request_, talk):
    use, ended = talk.use, []

    async def slow():
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("slow")

    class Failing(dict):
        def get(self, name, default):
            if name == "slow":
                return lambda _: slow()
            raise TransientError("the disk is gone")

    calls = [use("grep", pattern="x"), use("bash", command="slow")]
    world = make_world(FILES, [calls], commands=Failing())

    with pytest.raises(TransientError):
        await world.resolve(request_)

    assert ended == ["slow"]
