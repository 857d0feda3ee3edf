"""Each model gets requests that it understands: what its server says, our table or the operator."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from agents.errors import ConfigError, TransientError
from agents.loop.access import AnthropicAccess
from agents.loop.model import ClaudeModel
from agents.loop.model_names import CORE, find_known, strip_affixes
from agents.loop.prices import ModelPrice, PriceList
from agents.loop.transcript import Transcript
from agents.loop.turns import calls_of
from agents.ports import Capabilities, Query, Turn
from app.simulator.model import ModelLimits
from tests.fakes.model import MemoryJournal

SCRIPT = """
- when: "# Go"
  turns:
    - call: [{read: {path: a.py}}]
    - say: done
      repeat: 9
"""
READ = {"type": "object", "properties": {"path": {"type": "string"}}}
TOOLS = [{"name": "read", "description": "Read.", "strict": True, "input_schema": READ}]
TOOLS[0]["input_schema"] = {**READ, "required": ["path"], "additionalProperties": False}
OLD = {"effort": False, "adaptive_thinking": False}
BARE = {**OLD, "betas": False, "strict_tools": False, "cache_markers": False, "described": False}
FLAGS = ("effort", "adaptive_thinking", "strict_tools", "cache_markers")
MATRIX = {
    "current": ("claude-opus-5-5", {}, {}),
    "a gateway that knows no beta": ("claude-opus-5-5", {"betas": False, "compaction": False}, {}),
    "older, described": ("claude-haiku-4-5", {**OLD, "longest_answer": 64_000}, {}),
    "older, not described": (
        "claude-haiku-4-5",
        {**OLD, "longest_answer": 64_000, "context_window": 200_000, "described": False},
        {},
    ),
    "old, a narrow window": (
        "us.anthropic.claude-sonnet-4-5-v1:0",
        {
            **BARE,
            "strict_tools": True,
            "cache_markers": True,
            "longest_answer": 64_000,
            "context_window": 200_000,
            "counts_both": True,
        },
        {},
    ),
    "a region's name": ("us.anthropic.claude-opus-5-5-v1:0", {"described": False}, {}),
    "a house's model": ("house-model", {**BARE, "longest_answer": 32_000}, {}),
    "a gateway with the core": ("claude-opus-5-5", BARE, {"*": dict.fromkeys(FLAGS, False)}),
    "declared": (
        "house-model",
        {"described": False, "longest_answer": 8_192, "context_window": 64_000},
        {
            "*": dict.fromkeys(FLAGS, True),
            "house-model": {"longest_answer": 8_192, "context_window": 64_000},
        },
    ),
}


FREE = PriceList({"house-model": ModelPrice(input=0, output=0)})


def query(model: str, can: Capabilities, *more: dict) -> Query:
    first = {"role": "user", "content": [{"type": "text", "text": "# Go"}]}
    return Query(model, "Be brief.", TOOLS, [first, *more], capabilities=can)


@pytest.mark.parametrize("name", MATRIX)
async def test_a_conversation_is_held_with_every_kind_of_model(local, name):
    model_name, limits, declared = MATRIX[name]
    local.limits[model_name] = ModelLimits(**limits)
    model = ClaudeModel(AnthropicAccess("key", local.url), declared=declared, prices=FREE, tries=1)
    can = await model.capabilities(model_name)
    try:
        asked = query(model_name, can)
        first = await model.answer(asked)
        [call] = [block for block in first.content if block["type"] == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "x"}
        more = (
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        )
        longest = replace(query(model_name, can, *more), max_tokens=can.longest_answer)
        assert (await model.answer(longest)).stop_reason == "end_turn"
    finally:
        await model.close()
    assert [each.status for each in local.requests] == [200, 200]
    assert can.longest_answer <= ModelLimits(**limits).longest_answer
    assert can.context_window <= ModelLimits(**limits).context_window


@pytest.mark.parametrize("name", MATRIX)
async def test_every_kind_of_model_finds_words_for_what_another_thought(local, name):
    """A session of one model, a stage of it by another one, and its own model again, twice."""
    model_name, limits, declared = MATRIX[name]
    local.limits[model_name] = ModelLimits(**limits)
    model = ClaudeModel(AnthropicAccess("key", local.url), declared=declared, prices=FREE, tries=1)
    own, others = (query(each, Capabilities()) for each in ("claude-sonnet-5-5", model_name))
    journal = MemoryJournal()
    try:
        for stage in ("implement/1", "words/1", "docs/1", "words/2", "docs/2"):
            passing = stage.startswith("words")
            asked = others if passing else own
            said = Transcript("implement/1", stage, asked, model, journal, passing=passing)
            await said.begin("# Go", ())
            for _ in range(2):
                await said.ask("read")
                calls = calls_of(said.last)
                told = [{"type": "tool_result", "tool_use_id": c["id"]} for c in calls]
                if told:
                    await said.append(Turn("results", stage, told))
    finally:
        await model.close()
    assert [each.error for each in local.requests] == [None] * 10
    assert [each.dropped for each in local.requests] == [0] * 10, "its own thoughts are its own"
    said = await journal.turns("implement/1")
    thought = [block for turn in said for block in turn.content if block["type"] == "thinking"]
    assert len(thought) >= 6 or declared, "where nobody thinks there is nothing to leave out"


async def test_what_the_server_says_goes_before_the_table_and_is_asked_once(local, monkeypatch):
    local.limits["claude-opus-5-5"] = ModelLimits(effort=False, longest_answer=50_000)
    asked, describe = [], ModelLimits.describe
    monkeypatch.setattr(
        ModelLimits, "describe", lambda limits, name: asked.append(name) or describe(limits, name)
    )
    model = ClaudeModel(AnthropicAccess("key", local.url))
    can = [await model.capabilities("claude-opus-5-5") for _ in range(3)]
    await model.close()
    assert (can[0].effort, can[0].longest_answer, len(set(map(str, can)))) == (False, 50_000, 1)
    assert asked == ["claude-opus-5-5"]


async def test_a_server_out_of_reach_leaves_known_models_known_and_the_others_for_later():
    model = ClaudeModel(AnthropicAccess("key", "http://127.0.0.1:9"), prices=FREE)
    assert await model.capabilities("claude-opus-5-5") == Capabilities()
    with pytest.raises(TransientError):
        await model.capabilities("house-model")
    await model.close()


async def test_a_key_that_is_refused_and_a_model_without_a_price_are_found_before_a_question(local):
    local.keys = frozenset({"another"})
    model = ClaudeModel(AnthropicAccess("a-wrong-key", local.url))
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY") as raised:
        await model.capabilities("claude-opus-5-5")
    assert "a-wrong-key" not in str(raised.value)
    with pytest.raises(ConfigError, match="No price is known for the model `house-model`"):
        await model.capabilities("house-model")
    await model.close()
    assert not local.requests


@pytest.mark.parametrize("described", [True, False])
async def test_a_model_that_there_is_not_is_found_before_a_question(local, described):
    local.models = frozenset({"claude-opus-5-5"})
    local.limits["claude-opus-5-5"] = ModelLimits(described=described)
    model = ClaudeModel(AnthropicAccess("key", local.url), prices=FREE)
    assert (await model.capabilities("claude-opus-5-5")).effort, "a gateway need not have pages"
    with pytest.raises(ConfigError, match="does not know the model `claude-opus-5`") as raised:
        await model.capabilities("claude-opus-5")
    assert "FETTLE_MODEL" in str(raised.value)
    await model.close()
    assert not local.requests


async def test_a_bearer_token_goes_alone_and_is_in_no_message(local, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    seen = []
    monkeypatch.setattr(
        "app.simulator.model.server.check_headers", lambda headers, _: seen.append(dict(headers))
    )
    model = ClaudeModel(AnthropicAccess(base_url=local.url, token="a-bearer-token"))
    await model.answer(query("claude-opus-5-5", Capabilities()))
    await model.close()
    headers = {name.lower(): value for name, value in seen[0].items()}
    assert headers["authorization"] == "Bearer a-bearer-token"
    assert "from-the-environment" not in str(headers)


async def test_thoughts_of_another_model_are_left_out_for_one_that_cannot_read_them(local):
    local.limits["old"] = ModelLimits(**BARE)
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    model = ClaudeModel(AnthropicAccess("key", local.url), tries=1)
    said = [{"role": "assistant", "content": [thought]}, {"role": "user", "content": "Go on."}]
    assert (await model.answer(query("old", CORE, *said))).content
    await model.close()


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("us.anthropic.claude-opus-5-5-v1:0", "claude-opus-5-5"),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5-20251001"),
        ("claude-opus-5-5@20260922", "claude-opus-5-5"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("arn:aws:bedrock:x:1:inference-profile/us.anthropic.claude-opus-5-v1:0", "claude-opus-5"),
        ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("house-model", "house-model"),
        ("my-claude-opus-5-5", "my-claude-opus-5-5"),
        ("gpt-9@latest", "gpt-9@latest"),
    ],
)
def test_names_of_regions_and_versions(name, plain):
    assert strip_affixes(name) == plain
    assert (find_known(name) is None) == ("claude" not in plain or plain.startswith("my-"))


def test_the_table_never_says_more_than_a_current_model_understands():
    current = asdict(Capabilities())
    for name in ("claude-opus-4-0", "claude-sonnet-4-5", "claude-opus-4-8", "claude-3-opus"):
        known = asdict(find_known(name) or CORE)
        assert all(known[key] <= value for key, value in current.items())
