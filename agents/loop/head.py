"""The head of a session: what stands before its messages, journalled as it was first sent.

A model signs its thoughts over model, system prompt, tools and all earlier messages. A session
that goes on after an upgrade, or after another server's tools changed, is therefore sent with the
head that it began with; new sessions take the new one. What was thought under another head than the
newest is left out when it is sent, by `to_messages`: each head sees a conversation of its own, that
only grows.

https://docs.claude.com/en/docs/build-with-claude/preserved-thinking
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from agents.loop.turns import DROP, MISMATCH
from agents.ports import Block, Query, Turn

_OWN = frozenset({"messages", "drop_unbound", "compact"})
"""Fields of a query that each request sets for itself."""


def write_head(query: Query, stage: str, *, passing: bool = False) -> Turn:
    """Return the turn that keeps all of the query but its messages.

    System prompt and tools take 30 kB as text, and a run has ten sessions: they are packed.
    `passing`: it holds for this stage alone, and the session goes on with the head before it.
    """
    sent = _fields().dump_python(query, mode="json", exclude=set(_OWN))
    packed = b64encode(zlib.compress(json.dumps(sent).encode())).decode()
    block = {"type": "head", "model": query.model, "packed": packed}
    return Turn("head", stage, [block | ({"passing": True} if passing else {})])


def has_head(turns: Sequence[Turn]) -> bool:
    """Return whether the session's turns hold a head, which older versions did not write."""
    return any(turn.kind == "head" for turn in turns)


def is_passing(turns: Sequence[Turn]) -> bool:
    """Return whether the newest head held for its stage alone."""
    newest = _find_newest(turns)
    return newest is not None and "passing" in newest.content[0]


def _find_newest(turns: Sequence[Turn]) -> Turn | None:
    return next((turn for turn in reversed(turns) if turn.kind == "head"), None)


def find_lasting(turns: Sequence[Turn]) -> Turn | None:
    """Return the newest head that the session goes on with after each stage."""
    heads = (turn for turn in reversed(turns) if turn.kind == "head")
    return next((turn for turn in heads if "passing" not in turn.content[0]), None)


def read_head(turns: Sequence[Turn]) -> Query:
    """Return the newest head of the session as a query without messages.

    Raises ValueError where there is no head.
    """
    newest = _find_newest(turns)
    if newest is None:
        raise ValueError("the session has no head")
    sent = unpack_head(newest.content)
    query = _fields().validate_python({**sent, "messages": ()}, extra="ignore")
    return replace(query, drop_unbound=newest.content[0].get(MISMATCH) == DROP)


def forget_thoughts(turns: Sequence[Turn], stage: str, how: str) -> Turn:
    """Return the newest head once more, for a session whose thoughts its model's server refuses.

    The server is asked to drop them from now on (`DROP`), or none of them is sent (`LEAVE_OUT`):
    not every gateway knows how to drop.
    """
    newest = _find_newest(turns)
    assert newest is not None, "what was sent has a head"
    return Turn("head", stage, [{**newest.content[0], MISMATCH: how}])


def unpack_head(content: Sequence[Block]) -> dict[str, Any]:
    """Return the fields of a query that the content of a head keeps, as JSON values."""
    [block] = content
    sent: dict[str, Any] = json.loads(zlib.decompress(b64decode(block["packed"])))
    return sent


def lists_tool(query: Query, name: str) -> bool:
    """Return whether the head's tools hold one of this name."""
    return any(tool.get("name") == name for tool in query.tools)


@cache
def _fields() -> TypeAdapter[Query]:
    return TypeAdapter(Query)
