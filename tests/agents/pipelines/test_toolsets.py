"""Tools of other servers in a run: asked for once, the same ones ever after, held by the gate."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agents.pipelines.registry import PIPELINES
from agents.ports import ToolEffects
from tests.fakes.external import MemoryToolsets

POLICY = """\
mcp:
- server: far
  tools: [look]
  stages: [triage]
decisions: {record: false}
"""
FILES = {"lib.py": "x = 1\n", ".github/fettle.yml": POLICY}


class ChangingToolsets(MemoryToolsets):
    """The port Toolsets over a server that changes its mind each time it is asked."""

    def __init__(self, asked, called):
        self.asked = asked
        self.called = called
        self.tools = []

    async def fetch_tools(self, policy):
        self.asked.append([each.server for each in policy.mcp])
        self.recall([{"name": "mcp_far_look", "says": f"version {len(self.asked)}"}])
        return self.tools

    def recall(self, learned):
        self.tools = learned

    def definitions(self):
        return [
            {"name": each["name"], "description": each["says"], "input_schema": {"type": "object"}}
            for each in self.tools
        ]

    def effects(self, name):
        known = name in [each["name"] for each in self.tools]
        return ToolEffects(only_reads=True, outside=False) if known else None

    async def call(self, name, arguments):
        self.called.append((name, arguments))
        return "seen"


@pytest.fixture
def asked():
    return []


@pytest.fixture
def called():
    return []


@pytest.fixture
def resolve(request_, asked, called):
    """Do a run, or go on with it, as a fresh process does."""

    async def go(world):
        run = world.run(request_)
        run.context.ports = replace(run.context.ports, toolsets=ChangingToolsets(asked, called))
        return await PIPELINES[type(request_)].work(run, request_)

    return go


def submit_triage(talk, *before):
    submitted = talk.use(
        "submit_triage", decision="decline", kind="bug", reasoning="no", detail="No, because."
    )
    return [*([each] for each in before), [submitted]]


def list_offered(world):
    """Return what each query offered the model, as it went out."""
    return [each["tools"] for each in world.model.asked]


async def test_the_servers_are_asked_once_and_their_tools_stand_in_their_place(
    make_world, talk, resolve, asked, called
):
    world = make_world(FILES, submit_triage(talk, talk.use("mcp_far_look", at="x")))

    await resolve(world)

    assert asked == [["far"]]
    names = [each["name"] for each in json.loads(list_offered(world)[0])]
    foreign = names.index("mcp_far_look")
    assert names[:foreign] == sorted(names[:foreign]), "Fettle's own come first"
    assert all(name.startswith("submit_") for name in names[foreign + 1 :])
    assert called == [("mcp_far_look", {"at": "x"})]


async def test_a_run_that_goes_on_has_the_tools_it_began_with(
    make_world, talk, resolve, asked, called
):
    look = talk.use("mcp_far_look", at="x")
    world = make_world(FILES, [[look], talk.Killed(), *submit_triage(talk)])

    with pytest.raises(talk.Killed):
        await resolve(world)
    await resolve(world)

    assert asked == [["far"]]
    assert len(set(list_offered(world))) == 1
    assert "version 1" in list_offered(world)[-1]


async def test_another_stage_may_not_call_what_this_one_may(make_world, talk, resolve, called):
    files = FILES | {".github/fettle.yml": POLICY.replace("[triage]", "[implement]")}
    world = make_world(files, submit_triage(talk, talk.use("mcp_far_look", at="x")))

    await resolve(world)

    assert called == []
    assert "mcp/unlisted" in world.model.asked[-1]["messages"]


async def test_a_tool_that_was_not_learnt_does_not_exist(make_world, talk, resolve, called):
    world = make_world(FILES, submit_triage(talk, talk.use("mcp_far_other", at="x")))

    await resolve(world)

    assert called == []
    assert "There is no tool" in world.model.asked[-1]["messages"]
