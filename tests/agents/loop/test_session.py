"""A session: calls settled, prose and faults sent back, budgets kept."""

import asyncio
import json

import pytest

from agents.errors import ContextFull, TransientError
from agents.loop.budget import LAST_CALL, WRAP_UP, RunLimits
from agents.loop.compaction import estimate_tokens
from agents.loop.head import read_head
from agents.ports import Capabilities, Query, Ruling, Turn
from tests.fakes.model import Killed

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
    told = [turn for said in world.journal.sessions.values() for turn, _ in said]
    ruled = next(turn for turn in told if turn.kind == "results")
    assert dict(ruled.rulings) == {c["id"]: Ruling("allow", "default") for c in calls[:2]}
    assert {turn.model for turn in told if turn.kind == "answer"} == {"big"}


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


async def test_a_tool_of_another_stage_is_listed_and_refused_in_words(make_world, request_, talk):
    use = talk.use
    edit = use("edit", path="a.txt", old="one", new="two")
    shell = use("bash", command="git push origin main")
    early = use("submit_step", summary="Done.", tried="Ran it.")
    text = use("submit_pull_request", branch="a-b", title="All is well")
    world = make_world(FILES, [[edit, shell], [early], [text], [triage(use)]])

    outcome = await world.resolve(request_)

    listed = [tool["name"] for tool in json.loads(world.model.asked[0]["tools"])]
    assert {"edit", "submit_step", "submit_pull_request"} <= set(listed)
    told = [
        block
        for message in json.loads(world.model.asked[-1]["messages"])
        if message["role"] == "user"
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert [block.get("is_error") for block in told] == [True] * 4
    assert "stage/read-only" in told[0]["content"]
    assert "Refused by the rule" in told[1]["content"]
    assert "ends with submit_triage, not with submit_step" in told[2]["content"]
    assert "ends with submit_triage, not with submit_pull_request" in told[3]["content"]
    assert world.source.opened[0].files == FILES
    assert outcome.kind == "comment"


def stop(reason, *blocks, **told):
    return [{"type": "stop", "stop": reason, **told}, *blocks]


async def test_a_refusal_ends_the_run_and_says_whose_rule_it_is(make_world, request_, talk):
    world = make_world(FILES, [stop("refusal", talk.say("I"), category="cyber")])

    outcome = await world.resolve(request_)

    assert outcome.kind == "failed"
    assert "category: cyber" in outcome.text
    assert (await world.journal.turns("triage/1"))[-1].stop_reason == "refusal/cyber"


async def test_where_the_model_refuses_the_fallback_is_asked_once(make_world, request_, talk):
    refusal = stop("refusal", talk.say("I"))
    world = make_world(FILES, [refusal, [triage(talk.use)]])
    run = world.run(request_)
    run.context.models = {**run.context.models, "fallback": "other"}
    world.run = lambda _: run

    assert (await world.resolve(request_)).kind == "comment"

    assert [asked["model"] for asked in world.model.asked] == ["big", "other"]
    assert world.model.asked[0]["messages"] == world.model.asked[1]["messages"]

    world = make_world(FILES, [refusal, refusal])
    run = world.run(request_)
    run.context.models = {**run.context.models, "fallback": "other"}
    world.run = lambda _: run
    assert (await world.resolve(request_)).kind == "failed"


async def test_an_answer_that_was_cut_off_goes_on_with_a_longer_one(make_world, request_, talk):
    cut = talk.use("write", path="a.txt", content="x")
    answers = [stop("max_tokens", talk.say("First,")), stop("max_tokens", cut), [triage(talk.use)]]
    world = make_world(FILES, answers)

    assert (await world.resolve(request_)).kind == "comment"

    assert [asked["max_tokens"] for asked in world.model.asked] == [32_000, 128_000, 128_000]
    [result] = last_user_message(world)
    assert (result["tool_use_id"], result["is_error"]) == (cut["id"], True)
    assert "none of its calls ran" in result["content"]


async def test_an_answer_is_no_longer_than_its_model_gives_and_its_window_holds(
    make_world, request_, talk
):
    cut = stop("max_tokens", talk.say("First,"))
    world = make_world(FILES, [cut, cut, [triage(talk.use)]])
    world.model.can = Capabilities(longest_answer=20_000)
    await world.resolve(request_)
    assert [asked["max_tokens"] for asked in world.model.asked] == [20_000] * 3
    head = read_head(await world.journal.turns("triage/1"))
    assert head.capabilities == world.model.can

    world = make_world(FILES, [cut, cut, [triage(talk.use)]])
    world.model.can = Capabilities(longest_answer=64_000, context_window=120_000)
    world.model.prompt_tokens = 90_000
    await world.resolve(request_)
    first, *grown = [asked["max_tokens"] for asked in world.model.asked]
    assert first == 32_000
    assert all(1_024 < most < 30_000 for most in grown)


def test_a_large_picture_does_not_fill_a_window():
    data = "A" * 900_000
    source = {"type": "base64", "media_type": "image/png", "data": data}
    turn = Turn("prompt", "a/1", [{"type": "image", "source": source}])
    assert estimate_tokens([turn], Query("m", "s", (), ())) < 10_000


def test_answers_that_an_earlier_run_paid_for_fill_the_window_all_the_same():
    said = Turn("prompt", "a/1", [{"type": "text", "text": "x" * 300_000}])
    answer = Turn("answer", "a/1", [{"type": "text", "text": "y" * 3_000}])
    assert estimate_tokens([said, answer, said], Query("m", "s", (), ())) > 200_000


async def test_answers_that_are_cut_off_again_and_again_end_the_stage(make_world, request_, talk):
    world = make_world(FILES, [stop("max_tokens", talk.say("First,"))] * 9)

    assert "cut off 4 times" in (await world.resolve(request_)).text


def one_message(world, number):
    [message] = json.loads(world.model.asked[number]["messages"])
    return "\n".join(block["text"] for block in message["content"])


async def test_a_conversation_too_long_for_the_model_goes_on_with_excerpts(
    make_world, request_, talk
):
    full = ContextFull("prompt is too long")
    look = [talk.use("read", path="a.txt")]
    world = make_world(
        FILES, [look, full, stop("model_context_window_exceeded"), [triage(talk.use)]]
    )

    assert (await world.resolve(request_)).kind == "comment"

    for number in (2, 3):
        told = one_message(world, number)
        assert told.startswith("# Triage")
        assert 'read {"path": "a.txt"}' in told


async def test_a_conversation_near_the_models_window_is_summed_up_by_the_model(
    make_world, request_, talk
):
    look = [talk.use("read", path="a.txt")]
    summary, killed = stop("end_turn", talk.say("a.txt says one.")), Killed()
    world = make_world(FILES, [look, killed, summary, [triage(talk.use)]])
    world.model.prompt_tokens = 800_000
    with pytest.raises(Killed):
        await world.resolve(request_)
    world.model.prompt_tokens = 100

    assert (await world.resolve(request_)).kind == "comment"

    assert "Sum it up" in str(last_message(world, 2)), "asked for once, also after the kill"
    assert one_message(world, 3).endswith("a.txt says one.")
    kinds = [turn.kind for turn in await world.journal.turns("triage/1")]
    assert kinds[4:] == ["compact", "answer", "summary", "answer", "results"]


def last_message(world, number):
    return json.loads(world.model.asked[number]["messages"])[-1]


async def test_a_stage_that_used_up_its_answers_is_asked_for_what_it_has(
    make_world, request_, talk
):
    looking = [[talk.use("grep", pattern=f"x{n}")] for n in range(40)]
    world = make_world(FILES, [*looking, [triage(talk.use)]])

    assert (await world.resolve(request_)).kind == "comment"

    said = world.model.asked[-1]["messages"]
    assert (said.count(WRAP_UP[:40]), said.count(LAST_CALL[:40])) == (1, 1)
    assert WRAP_UP[:40] in world.model.asked[30]["messages"]
    assert WRAP_UP[:40] not in world.model.asked[29]["messages"]


async def test_a_stage_that_does_not_submit_after_the_last_call_ends(make_world, request_, talk):
    world = make_world(FILES, [[talk.use("grep", pattern=f"x{n}")] for n in range(60)])

    assert "did not come to a result within 42 answers" in (await world.resolve(request_)).text


async def test_the_same_call_eight_times_ends_the_stage(make_world, request_, talk):
    world = make_world(FILES, [[talk.use("read", path="a.txt")]] * 20)

    assert "same result 8 times" in (await world.resolve(request_)).text

    assert len(world.model.asked) == 8


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
    answers = [[talk.use("grep", pattern=f"x{n}")] for n in range(9)] + [[triage(talk.use)]]
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
