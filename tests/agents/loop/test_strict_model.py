"""Odd answers of a model whose server is strict: each session goes on, and nothing is refused."""

from __future__ import annotations

import pytest

from agents.loop.access import AnthropicAccess
from agents.loop.model import ClaudeModel
from agents.loop.prices import ModelPrice, PriceList

FILES = {"a.txt": "one\n", ".github/fettle.yml": "decisions: {record: false}"}
FREE = PriceList(
    {name: ModelPrice(input=0, output=0) for name in ("big", "small", "wise", "other")}
)
SUBMIT = {"decision": "decline", "kind": "bug", "reasoning": "r", "detail": "d"}
SCRIPT = """
- when: "# Triage"
  turns:
    - say: "I look at it, and there is much to look at."
    - call: [{read: {path: a.txt}}]
    - call:
        - submit_triage: {decision: decline, kind: bug, reasoning: r, detail: d}
      repeat: 3
"""


@pytest.fixture
async def place(make_world, local):
    world = make_world(FILES, [])
    capabilities = dict.fromkeys(("effort", "adaptive_thinking", "strict_tools"), True)
    declared = {"*": capabilities | {"cache_markers": True}}
    world.model = ClaudeModel(
        AnthropicAccess("key", local.url), declared=declared, prices=FREE, tries=1
    )
    yield world
    await world.model.close()


def list_refusals(local):
    return [each.error for each in local.requests if each.error]


async def list_kinds(world):
    return [turn.kind for turn in await world.journal.turns("triage/1")]


async def test_an_answer_that_paused_goes_on_without_a_word_of_ours(place, local, request_):
    local.fail_next("pause_turn")
    outcome = await place.resolve(request_)
    assert list_refusals(local) == []
    assert outcome.kind == "comment", outcome.text
    ours = ["head", "prompt", "answer", "answer", "results", "answer", "results"]
    assert await list_kinds(place) == ours


async def test_prose_without_a_pause_is_asked_what_it_waits_for(place, local, request_):
    assert (await place.resolve(request_)).kind == "comment"
    assert (await list_kinds(place))[:5] == ["head", "prompt", "answer", "prompt", "answer"]


async def test_a_blank_text_beside_a_call_is_not_sent_back(place, local, request_):
    local.fail_next("blank_text", times=3)
    assert (await place.resolve(request_)).kind == "comment"
    assert list_refusals(local) == []
    turns = await place.journal.turns("triage/1")
    blank = [b for t in turns for b in t.content if b["type"] == "text" and not b["text"].strip()]
    assert len(blank) == 3, "the journal has them"


async def test_a_full_window_begins_anew_with_excerpts(place, local, request_):
    local.fail_next("model_context_window_exceeded")
    assert (await place.resolve(request_)).kind == "comment"
    assert list_refusals(local) == []
    assert "summary" in await list_kinds(place)


async def test_a_refusal_tells_its_category(place, local, request_):
    local.fail_next("refusal", category="cyber")
    outcome = await place.resolve(request_)
    assert outcome.kind == "failed"
    assert "Its category: cyber." in outcome.text


async def test_a_refusal_is_answered_by_the_model_that_the_operator_names(place, local, request_):
    local.fail_next("refusal", category="cyber")
    run = place.run(request_)
    run.context.models = {**run.context.models, "fallback": "other"}
    place.run = lambda _: run
    assert (await place.resolve(request_)).kind == "comment"
    assert list_refusals(local) == []
    models = [each.model for each in local.requests]
    assert models[:2] == ["big", "other"]
    assert set(models[1:]) == {"other"}
