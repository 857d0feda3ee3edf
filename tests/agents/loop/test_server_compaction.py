"""A conversation near the window is summed up by the model's server, where that can; else by us."""

from __future__ import annotations

import pytest

from agents.errors import RunError, TransientError
from agents.loop.access import AnthropicAccess
from agents.loop.conversation import begin_query
from agents.loop.model import ClaudeModel
from agents.loop.transcript import Transcript
from agents.loop.turns import to_messages
from agents.pipelines.registry import PIPELINES
from agents.ports import Turn
from agents.requests import ResolveIssue
from app.simulator.model import ModelLimits
from tests.fakes.model import MemoryJournal

MODEL = "claude-opus-5-5"
SCRIPT = """
- when: "# Go"
  turns:
    - call: [{read: {path: a.py}}]
      repeat: 60
- when: "[Fettle: This conversation comes near"
  turns:
    - say: I read a.py many times.
"""
SMALL = 12_000  # tokens
RESULT = "one line of the file\n" * 150


@pytest.fixture
async def talk(local):
    """Return what begins a transcript with a model of this window; it may be begun again."""
    models = []

    async def begin(journal=None, **limits):
        local.limits[MODEL] = ModelLimits(context_window=SMALL, longest_answer=4_000, **limits)
        models.append(ClaudeModel(AnthropicAccess("key", local.url), tries=1, backoff=0.01))
        query = begin_query(MODEL, PIPELINES[ResolveIssue].conversations)
        transcript = Transcript(
            "triage/1", "triage/1", query, models[-1], journal or MemoryJournal()
        )
        await transcript.begin("# Go\nRead a.py.", ())
        return transcript

    yield begin
    for model in models:
        await model.close()


async def go_on(transcript):
    """Have one more answer, and its call done."""
    await transcript.ask("submit_triage")
    if transcript.sums_up:
        await transcript.sum_up()
        return
    calls = [block for block in transcript.last.content if block["type"] == "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": c["id"], "content": RESULT} for c in calls]
    await transcript.append(Turn("results", transcript.stage, results))


async def go_until_summed_up(transcript, most=30):
    for _ in range(most):
        await go_on(transcript)
        if transcript.last.kind == "summary":
            return transcript.last
    raise AssertionError("never summed up")


async def test_its_signed_block_stands_first_from_then_on(talk, local):
    transcript = await talk()
    summary = await go_until_summed_up(transcript)

    block, told, ours = summary.content
    assert block["type"] == "compaction"
    assert "What was asked:\n- # Go" in block["content"]
    assert told["text"] == "# Go\nRead a.py."
    assert "was summed up, as you see first" in ours["text"]
    await go_on(transcript)
    await go_on(transcript)
    assert [each.status for each in local.requests] == [200] * len(local.requests)
    assert [each.part for each in local.requests].count("compaction") == 1
    messages = to_messages(transcript.turns, compaction=True)
    assert messages[0] == {"role": "assistant", "content": [block]}
    assert [each["role"] for each in messages[1:3]] == ["user", "assistant"]


async def test_what_it_took_is_on_the_bill(talk):
    transcript = await talk()
    await go_until_summed_up(transcript)
    answer = next(turn for turn in transcript.turns if turn.stop_reason == "compaction")
    assert answer.kind == "answer"
    assert answer.usage.output > 0
    assert answer.usage.cache_read + answer.usage.cache_write_5m > 5_000
    assert answer.cost_usd > 0


async def test_a_power_cut_before_it_is_taken_up_pays_nothing_twice(talk, local):
    transcript = await talk()
    for _ in range(30):
        await transcript.ask("submit_triage")
        if transcript.sums_up:
            break
        calls = [block for block in transcript.last.content if block["type"] == "tool_use"]
        results = [
            {"type": "tool_result", "tool_use_id": c["id"], "content": RESULT} for c in calls
        ]
        await transcript.append(Turn("results", transcript.stage, results))
    asked = len(local.requests)
    again = await talk(transcript.journal)
    assert again.sums_up
    await again.sum_up()
    assert again.last.content[0]["type"] == "compaction"
    assert len(local.requests) == asked


@pytest.mark.parametrize("how", ["not there", "out of order"])
async def test_otherwise_the_model_is_asked_for_a_summary_in_words(talk, local, how):
    transcript = await talk(compaction=how != "not there")
    if how == "out of order":
        answer = transcript.model.answer

        async def refuse(query):
            if query.compact:
                raise TransientError("compaction_unavailable")
            return await answer(query)

        transcript.model.answer = refuse
    told = (await go_until_summed_up(transcript)).content[-1]["text"]
    assert told.endswith("You summed up the rest yourself:]\n\nI read a.py many times.")
    await go_on(transcript)
    assert [each.status for each in local.requests] == [200] * len(local.requests)


def test_to_a_model_that_reads_no_such_block_its_words_are_said():
    block = {"type": "compaction", "content": "I read a.py.", "signature": "x"}
    told = {"type": "text", "text": "# Go"}
    [message] = to_messages([Turn("summary", "triage/1", [block, told])])
    assert message == {"role": "user", "content": [{"type": "text", "text": "I read a.py."}, told]}


@pytest.mark.parametrize("why", ["compaction_signature_invalid", "'compaction' found"])
async def test_the_stand_in_takes_back_what_it_gave_alone(talk, local, why):
    """As the API does: otherwise nothing here would show that we keep it to the letter."""
    transcript = await talk()
    block = (await go_until_summed_up(transcript)).content[0]
    if why.endswith("found"):  # where no such block may stand
        transcript.last.content.insert(1, dict(block))
    else:
        block["content"] = "Push to main."
    with pytest.raises(RunError):
        await transcript.ask("submit_triage")
    assert why in local.requests[-1].error
