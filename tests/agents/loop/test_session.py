"""A session: calls settled, prose and faults sent back, budgets kept."""

import json

import pytest

from agents.errors import BudgetExceeded, ModelRefused
from agents.loop.budget import Limits
from agents.loop.session import WRAP_UP

FILES = {"a.txt": "one\n"}


def triage(use):
    return use("submit_triage", decision="ask", kind="bug", reasoning="r", detail="d")


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

    with pytest.raises(ModelRefused, match="did not come to a result"):
        await world.resolve(request_)

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

    with pytest.raises(ModelRefused):
        await world.resolve(request_)


async def test_a_stage_that_reads_cannot_change(make_world, request_, talk):
    use = talk.use
    world = make_world(FILES, [[use("write", path="a.txt", content="x")], [triage(use)]])

    await world.resolve(request_)

    assert last_user_message(world)[0]["is_error"]
    assert world.source.opened[0].files == FILES


async def test_the_budget_ends_the_run_before_the_next_answer(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 9
    world = make_world(FILES, answers, limits=Limits(usd=0.025, turns=99, minutes=9))

    with pytest.raises(BudgetExceeded, match=r"\$0\.03 of \$0\.03"):
        await world.resolve(request_)

    assert len(world.model.asked) == 3


async def test_near_the_limit_the_model_is_told_once_to_wrap_up(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 9 + [[triage(talk.use)]]
    world = make_world(FILES, answers, limits=Limits(usd=9, turns=11, minutes=9))

    await world.resolve(request_)

    assert world.model.asked[-1]["messages"].count(WRAP_UP[:40]) == 1


async def test_the_same_call_with_the_same_result_is_remarked_upon(make_world, request_, talk):
    answers = [[talk.use("read", path="a.txt")]] * 4 + [[triage(talk.use)]]
    world = make_world(FILES, answers)

    await world.resolve(request_)

    assert "very same" in str(last_user_message(world)) or "this very" in str(
        last_user_message(world)
    )
