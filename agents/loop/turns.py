"""Read recorded turns of a session: as messages, as tool calls, as traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.ports import Block, Json, Turn

OUTSIDE = ("webfetch", "gh", "mcp_")
"""Tools, and the beginning of their names, whose results anybody may have written."""


def messages(turns: Sequence[Turn]) -> list[dict[str, Json]]:
    """Return the turns as Messages-API messages, their content untouched.

    An answer without content is left out: the API gives such answers but does not take them.
    """
    return [
        {"role": "assistant" if turn.kind == "answer" else "user", "content": turn.content}
        for turn in turns
        if turn.content
    ]


def last_tree(turns: Sequence[Turn], stage: str) -> str | None:
    """Return the work tree that a stage's finished calls left, or None if they left it alone."""
    return next((t.tree for t in reversed(turns) if t.stage == stage and t.tree), None)


def heard_outsiders(turns: Sequence[Turn]) -> bool:
    """Return whether a tool told the model something that anybody may have written."""
    names = (call["name"] for turn in turns if turn.kind == "answer" for call in calls_of(turn))
    return any(name.startswith(OUTSIDE) for name in names)


def pair_calls(turns: Sequence[Turn]) -> Iterator[tuple[Block, Block]]:
    """Yield the calls of these turns, each with its result."""
    for answer, results in pairwise(turns):
        if (answer.kind, results.kind) == ("answer", "results"):
            told = [block for block in results.content if block["type"] == "tool_result"]
            yield from zip(calls_of(answer), told, strict=True)


def calls_of(answer: Turn) -> list[Block]:
    """Return the tool calls of an answer."""
    return [block for block in answer.content if block["type"] == "tool_use"]


def submits(call: Block) -> bool:
    """Return whether the call ends a stage, instead of doing anything."""
    return bool(call["name"].startswith("submit_"))
