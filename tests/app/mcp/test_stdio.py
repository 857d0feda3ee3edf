"""A server that runs inside the sandbox, honest and hostile."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agents.errors import ToolError
from agents.policy import Policy, Toolset
from app.mcp import connection
from tests.app.mcp.conftest import MARK
from tests.patience import PATIENCE

NAME = "mcp_test-server_"


def list_processes():
    """Return the processes that belong to our server."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if MARK.encode() in line.split(b"\0"):
                found.append(int(entry.name))
    return found


async def test_its_tools_are_learnt_and_called_and_it_is_held_like_any_command(
    served, policy, monkeypatch
):
    monkeypatch.setenv("FETTLE_PRIVATE_KEY", "planted-secret")
    listener = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    toolsets = served(CANARY=str(listener.sockets[0].getsockname()[1]))

    await toolsets.fetch_tools(policy)

    names = [each["name"] for each in toolsets.definitions()]
    assert names == sorted(names)
    assert f"{NAME}add" in names
    [add] = [each for each in toolsets.definitions() if each["name"] == f"{NAME}add"]
    assert add["description"] == (
        "A tool of the server test_server, in its own words: Adds two numbers."
    )
    assert add["input_schema"]["properties"] == {"a": {"type": "integer"}, "b": {"type": "integer"}}
    assert add["input_schema"]["required"] == ["a", "b"]
    assert await toolsets.call(f"{NAME}add", {"a": 2, "b": 40}) == "42"
    # a name like one of ours is another name
    assert not {"bash", "read"} & set(names)
    assert await toolsets.call(f"{NAME}bash", {"command": "ls"}) == "not really: ls"
    assert toolsets.effects(f"{NAME}bash").only_reads
    assert not toolsets.effects(f"{NAME}add").only_reads
    assert not toolsets.effects(f"{NAME}add").outside
    assert toolsets.effects(f"{NAME}nothing") is None

    await _see_that_it_is_held(toolsets)
    listener.close()
    await _see_bounded_text(toolsets)
    await _close(toolsets)


async def _see_that_it_is_held(toolsets):
    found = json.loads(await toolsets.call(f"{NAME}look", {}))

    assert found["network"] is False
    assert found["writes"] is False
    assert found["root"] is False
    assert found["uid"] == 1000
    assert found["files"] == ["server.py"]
    assert not [name for name in found["environment"] if name.startswith("FETTLE")]


async def _see_bounded_text(toolsets):
    huge = await toolsets.call(f"{NAME}huge", {})
    picture = await toolsets.call(f"{NAME}picture", {})
    with pytest.raises(ToolError, match="The tool failed: "):
        await toolsets.call(f"{NAME}fail", {})

    assert len(huge) <= 61_000
    assert "left out" in huge
    assert picture == "ared word\n\n[image left out]"


async def _close(toolsets):
    """Closing ends it."""
    [*processes] = list_processes()
    assert processes

    await toolsets.close()

    assert not set(processes) & set(list_processes())


async def test_the_same_tools_for_the_whole_run_whatever_the_server_does(served, policy):
    toolsets = served()
    learned = await toolsets.fetch_tools(policy)
    before = json.dumps(toolsets.definitions())

    assert await toolsets.call(f"{NAME}change", {}) == "changed"

    assert json.dumps(toolsets.definitions()) == before
    with pytest.raises(ToolError, match="failed"):
        await toolsets.call(f"{NAME}add", {"a": 1, "b": 1})
    with pytest.raises(ToolError, match="There is no tool"):
        await toolsets.call(f"{NAME}brand_new", {})
    again = served()  # another process of the same run
    again.recall(json.loads(json.dumps(learned)))
    assert json.dumps(again.definitions()) == before


async def test_only_what_the_policy_names_is_learnt(served):
    wanted = (Toolset(server="test_server", tools=("a*", "bash")), Toolset(server="unknown"))
    toolsets = served()

    await toolsets.fetch_tools(Policy(mcp=wanted))

    assert [each["name"] for each in toolsets.definitions()] == [f"{NAME}add", f"{NAME}bash"]


async def test_without_a_word_in_the_policy_nothing_is_started(served):
    toolsets = served()

    assert await toolsets.fetch_tools(Policy()) == []
    assert list_processes() == []


# --- hostile ------------------------------------------------------------------------------------


async def test_one_that_dies_or_never_answers_or_is_done_ends_and_is_started_again(
    served, policy, monkeypatch
):
    toolsets = served()
    await toolsets.fetch_tools(policy)
    assert list_processes() == []

    with pytest.raises(ToolError, match="failed"):
        await toolsets.call(f"{NAME}crash", {})

    assert await toolsets.call(f"{NAME}add", {"a": 1, "b": 1}) == "2"

    with monkeypatch.context() as hurried:
        hurried.setattr(connection, "CALL_SECONDS", 0.5)
        with pytest.raises(ToolError, match="did not answer"):
            await toolsets.call(f"{NAME}hang", {})
        assert list_processes() == []

    monkeypatch.setattr(connection, "IDLE_SECONDS", 0.2)
    assert await toolsets.call(f"{NAME}add", {"a": 1, "b": 1}) == "2"
    assert list_processes()

    for _ in range(100):
        if not list_processes():
            break
        await asyncio.sleep(0.05)

    assert list_processes() == [], "nothing is held after a while"
    assert await toolsets.call(f"{NAME}add", {"a": 1, "b": 1}) == "2"


async def test_words_of_a_server_are_bounded_cleaned_and_told_as_its_own(served, policy):
    toolsets = served("injecting")
    await toolsets.fetch_tools(policy)

    [add] = [each for each in toolsets.definitions() if each["name"] == f"{NAME}add"]

    assert add["description"].startswith("A tool of the server test_server, in its own words: ")
    assert len(add["description"]) < 700
    assert "hidden" not in add["description"]
    assert add["description"].isprintable()


@pytest.mark.parametrize("mode", ["silent", "garbage", "flood", "endless", "dies"])
async def test_a_server_that_does_not_speak_gives_no_tools_and_holds_nothing_up(
    served, policy, mode, monkeypatch
):
    monkeypatch.setattr(connection, "START_SECONDS", 0.7)
    toolsets = served(mode)

    async with asyncio.timeout(PATIENCE):
        assert await toolsets.fetch_tools(policy) == []

    assert list_processes() == []
