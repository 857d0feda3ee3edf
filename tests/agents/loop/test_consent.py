"""People's word on calls: asked before anything runs, told to the model, kept over crashes."""

from __future__ import annotations

import asyncio

import pytest

from agents.errors import ToolError, TransientError
from agents.policy import POLICY_PATH
from agents.ports import Ruling, ToolEffects
from tests.agents.loop.consent_scene import FILES, NO, YES, list_results, script
from tests.fakes.external import MemoryToolsets


async def test_a_call_waits_for_a_yes_and_the_others_of_its_answer_with_it(
    make_world, request_, talk
):
    use, approvals = talk.use, talk.Approvals([YES])
    calls = [use("write", path="calc.py", content="two\n"), use("bash", command="deploy now")]
    ran = []
    commands = {"deploy now": lambda _: (0, ran.append("deploy") or "deployed")}
    world = make_world(FILES, script(use, calls), approvals=approvals, commands=commands)

    assert (await world.resolve(request_)).kind == "pull_request"

    [asking] = approvals.askings
    assert (asking.tool, asking.arguments) == ("bash", {"command": "deploy now"})
    assert (asking.stage, asking.session) == ("implement/1", "implement/1")
    assert "It deploys." in asking.reason
    assert asking.head == world.base
    [written, deployed] = list_results(world)[0]
    assert "is_error" not in written
    assert "deployed" in deployed["content"]
    assert ran == ["deploy"]
    assert approvals.used_up == ["id1"]
    ruled = next(t for t, _ in world.journal.sessions["implement/1"] if t.kind == "results")
    assert ruled.rulings == {
        calls[0]["id"]: Ruling("allow", "default"),
        calls[1]["id"]: Ruling("ask", asking.rule, "id1"),
    }
    names = world.steps.names
    at = names.index("stage/implement/1")
    assert names[at : at + 3] == [
        "stage/implement/1",
        "approval/implement/1/1",
        "stage/implement/1~1",
    ]
    told = [name for name, stage in world.reporter.list_events() if stage == "implement/1"]
    assert told == [
        "stage_started",
        "report_parked",
        "stage_started",
        "tool_called",
        "tool_called",
        "tool_called",
        "stage_finished",
    ]


async def test_nothing_of_an_answer_has_run_while_one_of_its_calls_waits(
    make_world, request_, talk
):
    use, approvals = talk.use, talk.Approvals([talk.Killed()])
    calls = [use("write", path="calc.py", content="two\n"), use("bash", command="deploy now")]
    world = make_world(FILES, script(use, calls), approvals=approvals)

    with pytest.raises(talk.Killed):
        await world.resolve(request_)

    tree = world.source.opened[-1]
    assert tree.files["calc.py"] == "one\n"
    assert tree.ran == []


async def test_a_run_that_died_while_it_waited_goes_on_with_the_same_session(
    make_world, request_, talk
):
    use, approvals = talk.use, talk.Approvals([talk.Killed(), YES])
    calls = [use("write", path="calc.py", content="two\n"), use("bash", command="deploy now")]
    world = make_world(FILES, script(use, calls), approvals=approvals)

    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    asked = len(world.model.asked)
    before = [text for _, text in world.journal.sessions["implement/1"]]
    assert (await world.resolve(request_)).kind == "pull_request"

    after = [text for _, text in world.journal.sessions["implement/1"]]
    assert after[: len(before)] == before
    assert len(world.model.asked) == asked + 5
    assert len(approvals.askings) == 1


async def test_a_killed_call_runs_again_under_the_same_yes(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    deaths = [talk.Killed()]

    def deploy(_):
        if deaths:
            raise deaths.pop()
        return 0, "deployed"

    world = make_world(
        FILES,
        script(use, [use("bash", command="deploy now")]),
        approvals=approvals,
        commands={"deploy now": deploy},
    )
    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    assert approvals.used_up == ["id1"]
    await world.resolve(request_)

    assert "deployed" in list_results(world)[0][0]["content"]
    assert len(approvals.askings) == 1
    assert approvals.used_up == ["id1"]


CLOSES = "mcp_tracker_close"
ACTS = {CLOSES: ToolEffects(only_reads=False, outside=True)}
LISTS = {
    **FILES,
    POLICY_PATH: FILES[POLICY_PATH] + "mcp:\n  - {server: tracker, tools: [close]}\n",
}


async def test_a_killed_call_that_acts_outside_is_not_repeated(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    world = make_world(LISTS, script(use, [use(CLOSES, id=7)]), approvals=approvals)
    world.toolsets = MemoryToolsets(ACTS, faults=[talk.Killed()])

    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    await world.resolve(request_)

    assert world.toolsets.called == [(CLOSES, {"id": 7})]
    [result] = list_results(world)[0]
    assert result["is_error"]
    assert "may already have run" in result["content"]
    assert len(approvals.askings) == 1


async def test_nor_when_the_call_beside_it_was_interrupted(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    faults = [TransientError("The disk is full.")]

    async def look():
        while not world.toolsets.called:
            await asyncio.sleep(0)
        if faults:
            raise faults.pop()
        return 0, "seen"

    world = make_world(
        LISTS,
        script(use, [use(CLOSES, id=7), use("bash", command="look")]),
        approvals=approvals,
        commands={"look": lambda _: look()},
    )
    world.toolsets = MemoryToolsets(ACTS)

    with pytest.raises(TransientError):
        await world.resolve(request_)
    await world.resolve(request_)

    assert world.toolsets.called == [(CLOSES, {"id": 7})]
    closed, seen = list_results(world)[0]
    assert "may already have run" in closed["content"]
    assert "seen" in seen["content"]


async def test_two_calls_of_one_answer_are_decided_each(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([NO, YES])
    calls = [use("bash", command="deploy one"), use("bash", command="deploy two")]
    world = make_world(FILES, script(use, calls), approvals=approvals)

    await world.resolve(request_)

    denied, approved = list_results(world)[0]
    assert denied["is_error"]
    assert denied["content"].startswith("mara denied this: not on a Friday")
    assert "is_error" not in approved
    assert world.source.opened[-1].ran.count("deploy two") == 1
    assert "deploy one" not in [run for tree in world.source.opened for run in tree.ran]
    assert approvals.used_up == ["id2"]


async def test_the_same_call_later_is_another_question(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES, NO])
    call = use("bash", command="deploy now")  # the very same id: some servers number anew
    world = make_world(FILES, script(use, [call], [call]), approvals=approvals)

    await world.resolve(request_)

    first, second = list_results(world)[:2]
    assert "is_error" not in first[0]
    assert "denied" in second[0]["content"]
    names = [name for name in world.steps.names if "implement" in name]
    assert names[:5] == [
        "stage/implement/1",
        "approval/implement/1/1",
        "stage/implement/1~1",
        "approval/implement/1/2",
        "stage/implement/1~2",
    ]


async def test_what_is_void_is_said_and_does_not_run(make_world, request_, talk):
    void = {"state": "void", "reason": "the branch has new commits"}
    use, approvals = talk.use, talk.Approvals([void])
    world = make_world(FILES, script(use, [use("bash", command="deploy")]), approvals=approvals)

    await world.resolve(request_)

    assert (
        "no longer holds, because the branch has new commits"
        in list_results(world)[0][0]["content"]
    )
    assert not any("deploy" in run for tree in world.source.opened for run in tree.ran)


async def test_a_yes_to_another_call_is_no_yes(make_world, request_, talk):
    other = {**YES, "binding": "0" * 64}
    use, approvals = talk.use, talk.Approvals([other])
    world = make_world(FILES, script(use, [use("bash", command="deploy")]), approvals=approvals)

    await world.resolve(request_)

    assert "nobody has approved exactly this call" in list_results(world)[0][0]["content"]
    assert not any("deploy" in run for tree in world.source.opened for run in tree.ran)


async def test_when_nobody_answers_the_run_ends_and_says_what_it_wanted(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([{"state": "expired"}])
    world = make_world(FILES, script(use, [use("bash", command="deploy")]), approvals=approvals)

    ended = await world.resolve(request_)
    assert ended.kind == "failed"
    for words in (
        "`id1`",
        "within 7 days",
        "`implement/1`",
        "deploy",
        "approvals.days",
    ):
        assert words in ended.text
    assert await world.resolve(request_) == ended  # a replay ends it the same way


async def test_where_nobody_can_be_asked_the_call_is_refused(make_world, request_, talk):
    use = talk.use
    world = make_world(FILES, script(use, [use("bash", command="deploy")]))

    await world.resolve(request_)

    assert "this run cannot ask one" in list_results(world)[0][0]["content"]


async def test_a_call_that_cannot_be_shown_to_anybody_is_refused(make_world, request_, talk):
    class Speechless(talk.Approvals):
        async def ask(self, asking):
            raise ToolError("It is too long to be shown. Make it shorter.")

    use = talk.use
    world = make_world(FILES, script(use, [use("bash", command="deploy")]), approvals=Speechless())

    await world.resolve(request_)

    assert "too long to be shown" in list_results(world)[0][0]["content"]


async def test_time_spent_waiting_is_not_time_at_work(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    world = make_world(FILES, script(use, [use("bash", command="deploy")]), approvals=approvals)
    settled = approvals.all_decided

    async def days_later(ids):
        world.now += 3 * 86_400
        return await settled(ids)

    approvals.all_decided = days_later
    assert (await world.resolve(request_)).kind == "pull_request"
    await asyncio.sleep(0)
