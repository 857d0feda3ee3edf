"""A session keeps the head that it began with, whatever the version that goes on with it."""

import json
import zlib
from base64 import b64encode
from dataclasses import replace

import pytest

from agents.errors import PrefixChanged, RunError
from agents.loop.head import read_head, write_head
from agents.loop.turns import to_messages
from agents.ports import Capabilities, Query, Turn
from tests.fakes.external import MemoryToolsets
from tests.fakes.model import Killed

FILES = {"a.txt": "one\n", ".github/fettle.yml": "decisions: {record: false}"}
HEAD = ("model", "system", "tools")
QUERY = Query(
    model="m", system="Be brief.", tools=[{"name": "b", "x": 1}, {"name": "a"}], messages=[{}]
)


THOUGHT = {"type": "thinking", "thinking": "It is a.txt.", "signature": "x"}


class OtherServers(MemoryToolsets):
    """The port Toolsets, with one tool that has another text after an upgrade."""

    text = "Looks up words."

    def definitions(self):
        return [{"name": "mcp_words", "description": self.text, "input_schema": {}}]


def triage(use):
    return use("submit_triage", decision="decline", kind="bug", reasoning="r", detail="d")


def thoughts_in(asked):
    blocks = (block for message in json.loads(asked["messages"]) for block in message["content"])
    return sum(block["type"] == "thinking" for block in blocks)


def heads(world):
    return [{name: asked[name] for name in HEAD} for asked in world.model.asked]


async def test_a_session_under_way_keeps_its_head_and_a_new_one_takes_the_new(
    make_world, request_, talk, monkeypatch
):
    look = [talk.use("read", path="a.txt")]
    world = make_world(FILES, [look, Killed(), look, [triage(talk.use)]])
    world.toolsets = OtherServers()
    with pytest.raises(Killed):
        await world.resolve(request_)

    monkeypatch.setattr("agents.loop.conversation.system_prompt", lambda: "Another prompt.")
    monkeypatch.setattr(OtherServers, "text", "Looks up words, faster.")
    upgraded = world.run(request_)
    upgraded.context.models = {"strong": "bigger", "judge": "wiser", "fast": "smaller"}
    monkeypatch.setattr(world, "run", lambda _: upgraded)
    await world.resolve(request_)

    first, *later = heads(world)
    assert (later, first["model"]) == ([first] * 3, "big")
    assert "mcp_words" in first["tools"]
    assert not any(asked["drop_unbound"] for asked in world.model.asked)

    fresh = upgraded.context._query(upgraded.context.conversations[0])
    assert (fresh.model, fresh.system) == ("bigger", "Another prompt.")
    assert "faster" in json.dumps(fresh.tools)


async def test_another_model_holds_one_stage_and_the_session_goes_on_with_its_own(
    make_world, request_, talk
):
    """Words are the fast model's: it reads the session, and its head is for that stage alone."""
    question = {"question": "Which one is meant?", "why": "All.", "otherwise": "The first."}
    empty = {"approaches": [], "recommendation": "", "reason": ""}
    ask = talk.use("submit_comment", questions=[question], **empty)
    ponder = talk.use("submit_triage", decision="ask", kind="bug", reasoning="r", detail="d")
    world = make_world(FILES, [[ponder], Killed(), [ask], [triage(talk.use)]])
    world.tracker, world.steering = talk.Tracker(), talk.Steering()
    world.steps.meanwhile = lambda name, until: world.steering.say("go", "")
    with pytest.raises(Killed):
        await world.resolve(request_)

    assert (await world.resolve(request_)).kind == "comment"

    asked = [(each["model"], each["effort"]) for each in world.model.asked]
    fast, own = ("small", "low"), ("big", "medium")
    assert asked == [own, fast, fast, own]
    assert not any(each["drop_unbound"] for each in world.model.asked), "not all gateways know it"
    own, passing, again = [t for t in await world.journal.turns("triage/1") if t.kind == "head"]
    assert (passing.stage, again.stage) == ("comment_draft/1", "triage_again/1")
    assert again.content == own.content, "byte for byte: its thoughts are signed over it"


async def test_a_stage_that_is_handed_over_is_so_however_long_the_session_is(
    make_world, request_, talk
):
    question = {"question": "Which one is meant?", "why": "All.", "otherwise": "The first."}
    empty = {"approaches": [], "recommendation": "", "reason": ""}
    ask = talk.use("submit_comment", questions=[question], **empty)
    ponder = talk.use("submit_triage", decision="ask", kind="bug", reasoning="r", detail="d")
    world = make_world(FILES, [[ponder], [ask]])
    world.model.prompt_tokens = 100_000
    await world.resolve(request_)
    assert [each["model"] for each in world.model.asked] == ["big", "small"]
    lists = [asked["tools"] for asked in world.model.asked]
    assert ["submit_comment" in each for each in lists] == [False, True]
    assert ["submit_triage" in each for each in lists] == [True, False]


async def test_a_tool_that_could_do_nothing_is_not_listed(make_world, request_, talk):
    """A run on a clone has no GitHub; an installation may have no web."""
    world = make_world(FILES, [[triage(talk.use)]])
    bare = world.run(request_).context
    lists = []
    for forge, web in ((None, None), (object(), object())):
        bare.ports = replace(bare.ports, forge=forge, web=web)
        tools = bare._query(bare.conversations[0]).tools
        lists.append({tool["name"] for tool in tools})
    assert lists[1] - lists[0] == {"gh", "webfetch"}
    assert {"bash", "edit", "submit_triage"} <= lists[0]


async def test_killed_between_its_head_and_the_first_request_it_has_one_head_and_one_prompt(
    make_world, request_, talk
):
    world = make_world(FILES, [[triage(talk.use)]])
    append, killed = world.journal.append, []

    async def die_after_the_head(session, number, turn):
        await append(session, number, turn)
        if turn.kind == "head" and not killed:
            killed.append(session)
            raise Killed

    world.journal.append = die_after_the_head
    with pytest.raises(Killed):
        await world.resolve(request_)

    await world.resolve(request_)

    kinds = [turn.kind for turn in await world.journal.turns("triage/1")]
    assert kinds == ["head", "prompt", "answer", "results"]


async def test_a_session_of_an_older_version_goes_on_without_its_thoughts(
    make_world, request_, talk
):
    world = make_world(FILES, [[triage(talk.use)]])
    call = talk.use("read", path="a.txt")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "one"}
    for number, turn in enumerate(
        (
            Turn("prompt", "triage/1", [talk.say("Look.")]),
            Turn("answer", "triage/1", [THOUGHT, call], stop_reason="tool_use"),
            Turn("results", "triage/1", [result]),
        )
    ):
        await world.journal.append("triage/1", number, turn)

    await world.resolve(request_)

    [asked] = world.model.asked
    assert THOUGHT["thinking"] not in asked["messages"]
    assert len(json.loads(asked["messages"])) == 3
    kinds = [turn.kind for turn in await world.journal.turns("triage/1")]
    assert kinds == ["prompt", "answer", "results", "head", "answer", "results"]


async def test_thoughts_that_the_server_refuses_are_dropped_from_then_on(
    make_world, request_, talk
):
    look = [THOUGHT, talk.use("read", path="a.txt")]
    refused = PrefixChanged("Invalid `signature`")
    world = make_world(FILES, [look, refused, look, [triage(talk.use)]])

    assert (await world.resolve(request_)).kind == "comment"

    asked = [(each["drop_unbound"], thoughts_in(each)) for each in world.model.asked]
    assert asked == [(False, 0), (False, 1), (True, 1), (True, 2)], "the server says which"


async def test_where_the_server_cannot_drop_thoughts_they_are_not_sent(make_world, request_, talk):
    look = [THOUGHT, talk.use("read", path="a.txt")]
    refused = PrefixChanged("Invalid `signature`")
    unknown = RunError("Unexpected value for the `anthropic-beta` header")
    world = make_world(FILES, [look, refused, unknown, look, [triage(talk.use)]])

    assert (await world.resolve(request_)).kind == "comment"

    asked = [(each["drop_unbound"], thoughts_in(each)) for each in world.model.asked]
    assert asked == [(False, 0), (False, 1), (True, 1), (False, 0), (False, 1)]


def test_a_head_comes_back_as_it_was_sent():
    turns = [write_head(QUERY, "triage/1"), Turn("prompt", "triage/1", [])]
    kept = read_head(turns)
    assert json.dumps(list(kept.tools)) == json.dumps(list(QUERY.tools)), "in the same order"
    assert (kept.model, kept.system, kept.effort) == (QUERY.model, QUERY.system, QUERY.effort)
    assert (list(kept.messages), kept.drop_unbound) == ([], False)


def test_a_head_of_an_older_version_that_names_no_capabilities_is_read():
    sent = {"model": "m", "system": "s", "tools": [], "longest_answer": 9, "context_window": 9}
    packed = b64encode(zlib.compress(json.dumps(sent).encode())).decode()
    kept = read_head([Turn("head", "a/1", [{"type": "head", "model": "m", "packed": packed}])])
    assert (kept.model, kept.capabilities) == ("m", Capabilities())


def test_a_newer_head_holds_and_sees_only_what_was_thought_under_it():
    answers = [Turn("answer", "a/1", [{**THOUGHT, "thinking": text}]) for text in "abc"]
    first, other = write_head(QUERY, "a/1"), write_head(replace(QUERY, model="n"), "b/1")
    said = [first, answers[0], other, answers[1], replace(first, stage="c/1"), answers[2]]
    assert read_head(said[:4]).model == "n"
    seen = [[m["content"][0]["thinking"] for m in to_messages(said[:end])] for end in (2, 4, 6)]
    assert seen == [["a"], ["b"], ["a", "c"]]


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_blank_texts_are_left_out_of_what_is_sent(blank):
    text, call = {"type": "text", "text": blank}, {"type": "tool_use", "id": "t"}
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    turns = [
        Turn("prompt", "a/1", [{"type": "text", "text": "Go."}]),
        Turn("answer", "a/1", [thought, text, call]),
        Turn("answer", "a/1", [text]),
        Turn("answer", "a/1", [thought]),
    ]
    sent = [message["content"] for message in to_messages(turns)]
    assert sent == [turns[0].content, [thought, call], [thought]]
