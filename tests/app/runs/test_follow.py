"""A run followed from outside: each thing is told once, and what it waits for as well."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

from agents.ports import Turn, Usage
from agents.run import Outcome
from app.runs.follow import Follower, WaitReason, list_calls, stage_titles
from app.store.runs.history import History
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.app.cli.runs.runs_scene import STEP, STEPS
from tests.app.operator.test_submit import REQUEST
from tests.fakes.reporter import RecordingReporter


class FollowedRun:
    """A run, as its process stores it."""

    def __init__(self, database):
        self.database = database
        self.runs = Runs(database)
        self.journal = StoredJournal(database, "run")
        self.heard = RecordingReporter()
        self.follower = Follower(History(database), "run", self.heard)
        self.number = 0

    async def finish_stage(self, name, **record):
        """Have the engine keep a step."""
        self.number += 1
        row = {"run": "run", "number": self.number, "name": name, "start": 1000, "end": 2000}
        row["output"] = json.dumps({"value": record})
        await self.database.write(lambda c: c.execute(text(STEP), row))

    async def answer(self, stage, number, usage, *blocks):
        turn = Turn("answer", stage, list(blocks), usage=usage, cost_usd=0.5)
        await self.journal.append(stage, number, turn)


@pytest.fixture
async def scene(database):
    await database.write(lambda c: c.execute(text(STEPS)))
    return FollowedRun(database)


def call(name, **arguments):
    return {"type": "tool_use", "id": "1", "name": name, "input": arguments}


async def test_stages_calls_spending_and_what_it_came_to(scene):
    assert await scene.follower.look() is None
    await scene.runs.create("run", REQUEST)
    await scene.runs.record_stage("run", "access/1")
    await scene.follower.look()
    assert scene.heard.calls == []

    await scene.runs.record_stage("run", "stage/prepare/1")
    await scene.follower.look()
    await scene.finish_stage("stage/prepare/1", summary="at abc")
    await scene.runs.record_stage("run", "stage/implement/2")
    calls = (call("read", path="calc.py"), call("read", wrong=1), call("submit_step"))
    await scene.answer("implement/2", 0, Usage(output=7), {"type": "text", "text": "Hm."}, *calls)
    await scene.answer("implement/2", 1, Usage(), call("read", path="kept.py"))
    for _ in range(3):
        assert not (await scene.follower.look()).has_ended
    titles = stage_titles()
    assert scene.heard.calls_of("stage_started") == [
        ("prepare/1", titles["prepare"]),
        ("implement/2", titles["implement"]),
    ]
    assert scene.heard.calls_of("stage_finished") == [("prepare/1", "at abc")]
    assert scene.heard.calls_of("tool_called") == [("implement/2", "read", "calc.py")]
    assert scene.heard.calls_of("report_spending") == [(Usage(output=7), 0.5, 1)]

    await scene.finish_stage("stage/implement/2", error="it broke")
    await scene.runs.record_end("run", Outcome(kind="failed", text="It broke."))
    seen = await scene.follower.look()
    assert seen.has_ended
    assert seen.run.outcome.text == "It broke."
    assert scene.heard.calls_of("stage_finished")[-1] == ("implement/2", "it broke")


@pytest.mark.parametrize(
    ("record", "waits", "told"),
    [
        ({"parked": ["k3f9"]}, WaitReason("approval", ("k3f9",)), ("report_parked", ("k3f9",))),
        ({"paused_until": 9.0}, WaitReason("pause"), ("report_pause", "the model's server")),
        ({"summary": "asked"}, WaitReason("answer"), ("report_pause", "an answer on the issue")),
    ],
)
async def test_what_it_waits_for_is_told_once_and_when_it_goes_on(scene, record, waits, told):
    await scene.runs.create("run", REQUEST)
    await scene.runs.record_stage("run", "stage/triage/1")
    await scene.finish_stage("stage/triage/1", **record)
    await scene.runs.record_parked("run", "approval")
    for _ in range(3):
        assert (await scene.follower.look()).waits == waits
    name, what = told
    assert scene.heard.calls_of(name) == [("triage/1", what)]
    began = len(scene.heard.calls_of("stage_started"))

    await scene.runs.record_stage("run", "stage/triage/1~1")
    assert (await scene.follower.look()).waits is None
    assert len(scene.heard.calls_of("stage_started")) == began + 1


def test_every_stage_of_the_pipeline_has_a_title():
    assert {"prepare", "triage", "implement", "publish", "keep_work"} <= set(stage_titles())


def test_calls_of_unknown_tools_are_left_out():
    assert list(list_calls([call("teleport")])) == []
