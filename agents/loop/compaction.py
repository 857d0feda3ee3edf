"""Compaction: how a conversation goes on that has become too long for its model.

The journal keeps every turn. What is sent begins anew at the newest summary, which is a turn like
any other: what the stage was told, what people said meanwhile, and what became of it so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from agents.loop.turns import is_compaction, pair_calls, since_summary
from agents.ports import Block, Query, Turn, Usage

COMPACT_AT = 0.8
"""The share of the model's window at which a conversation is summed up."""
CHARACTERS = 3  # of one token, at least: too many tokens are counted rather than too few
PICTURE = 5_000 * CHARACTERS  # the most that one takes, however large its file
MOST_EXCERPTS = 40  # of the newest calls
EXCERPT = 400  # characters of a call, and of its result
REQUEST = (
    "[Fettle: This conversation comes near the longest that you can read. Sum it up for yourself,"
    " without calling any tool: what you found and where (files, functions, lines), what you"
    " changed, what you ran and what it showed, what is left to do. You go on from your summary and"
    " from the stage's first message; everything else is gone.]"
)
_GOES_ON = (
    "[Fettle: The conversation became too long and was cut. Above stands what this stage was told."
    " The files are as you left them. {what}]\n\n{text}"
)
_GOES_ON_BELOW = (
    "[Fettle: The conversation became too long and was summed up, as you see first of all. After it"
    " stands what this stage was told. The files are as you left them.]"
)
_OWN_WORDS = "You summed up the rest yourself:"
_EXCERPTS = "These are the newest calls of it, shortened; read again what you need:"


def is_due(turns: Sequence[Turn], head: Query) -> bool:
    """Return whether the next request would come near the model's window."""
    return estimate_tokens(turns, head) >= COMPACT_AT * head.capabilities.context_window


def estimate_tokens(turns: Sequence[Turn], head: Query) -> int:
    """Return about how many tokens the next request has: as counted last, and what came since.

    Answers that an earlier run has paid for count nothing.
    """
    sent = since_summary(turns)
    answers = [place for place, turn in enumerate(sent) if turn.usage != Usage()]
    if not answers:
        fixed = len(head.system) + len(json.dumps(list(head.tools)))
        return (fixed + _length(sent)) // CHARACTERS
    usage = sent[answers[-1]].usage
    read = usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
    return read + usage.output + _length(sent[answers[-1] + 1 :]) // CHARACTERS


def is_window_full(turns: Sequence[Turn]) -> bool:
    """Return whether the model stopped since the last summary because its window was full."""
    return any(t.stop_reason == "model_context_window_exceeded" for t in since_summary(turns))


def write_summary(turns: Sequence[Turn], stage: str) -> Turn:
    """Return the turn that goes on from the model's summary, which is the newest answer.

    A block that its server has signed is kept as it is.

    Where that holds no words, or was cut off, excerpts take its place.
    """
    answer = turns[-1]
    if answer.content and is_compaction(answer.content[0]):
        told = [*_list_told(turns, stage), {"type": "text", "text": _GOES_ON_BELOW}]
        return Turn("summary", stage, [answer.content[0], *told])
    words = "\n\n".join(b["text"] for b in answer.content if b["type"] == "text").strip()
    if answer.stop_reason != "end_turn" or not words:
        return write_excerpts(turns[:-1], stage)
    return _go_on(turns, stage, _GOES_ON.format(what=_OWN_WORDS, text=words))


def write_excerpts(turns: Sequence[Turn], stage: str) -> Turn:
    """Return the turn that goes on from excerpts of the newest calls."""
    text = "\n\n".join(_describe_calls(turns)[-MOST_EXCERPTS:])
    return _go_on(turns, stage, _GOES_ON.format(what=_EXCERPTS, text=text))


def _go_on(turns: Sequence[Turn], stage: str, text: str) -> Turn:
    told = [*_list_told(turns, stage), {"type": "text", "text": text}]
    return Turn("summary", stage, told)


def _list_told(turns: Sequence[Turn], stage: str) -> Iterator[Block]:
    """Yield what the stage was told first, and what people said in the whole session."""
    first = next((t for t in turns if t.kind == "prompt" and t.stage == stage), None)
    yield from first.content if first else ()
    for turn in turns:
        if turn.kind == "remark":
            yield from turn.content


def _describe_calls(turns: Sequence[Turn]) -> list[str]:
    said = []
    for call, result in pair_calls(turns):
        arguments = json.dumps(call["input"], ensure_ascii=False)
        said.append(f"{call['name']} {_cut(arguments)}\n→ {_cut(str(result['content']))}")
    return said


def _cut(text: str) -> str:
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]} […]"


def _length(turns: Sequence[Turn]) -> int:
    return sum(measure_block(block) for turn in turns for block in turn.content)


def measure_block(block: Block) -> int:
    """Return how many characters the block takes, `CHARACTERS` of which are a token at least."""
    return PICTURE if block["type"] == "image" else len(json.dumps(block))
