"""Simulate the prompt cache by the API's rules, so that usage shows every lost prefix.

Order tools, system, messages; at most four markers; an entry is written at each marker; a marker
finds entries up to 20 blocks back; a change of model, tools or system loses what follows it, a
change of thinking or tool choice the messages. Left out: the minimum length of a prefix.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.simulator.model.conversation import ContentBlock, blocks_of, canonical
from app.simulator.model.refusal import ErrorAnswer

SECONDS = {"5m": 300.0, "1h": 3600.0}
MOST_MARKERS = 4
LOOK_BACK = 20


def tokens_of(data: bytes) -> int:
    """Return about how many tokens a text has: a quarter of its bytes."""
    return -(-len(data) // 4)


@dataclass(frozen=True)
class _Segment:
    digest: str
    """Of the whole prefix up to here."""
    tokens: int
    marker: str | None


@dataclass(frozen=True)
class PromptUsage:
    """Where the tokens of a prompt came from."""

    input: int
    read: int
    written_5m: int
    written_1h: int


@dataclass
class PrefixCache:
    """The entries of all requests so far: digest of a prefix → when it ends, and its lifetime."""

    clock: Callable[[], float] = time.monotonic
    _entries: dict[str, tuple[float, str]] = field(default_factory=dict)

    def account(self, request: Mapping[str, Any]) -> PromptUsage:
        """Return the usage of this prompt and remember its marked prefixes."""
        segments = _segments(request)
        markers = [i for i, segment in enumerate(segments) if segment.marker]
        _check_markers([str(segments[i].marker) for i in markers])
        hit = max((self._find(segments, marker) for marker in markers), default=-1)
        spent = {"5m": 0, "1h": 0}
        done = hit + 1
        for marker in markers:
            lifetime = str(segments[marker].marker)
            spent[lifetime] += sum(segment.tokens for segment in segments[done : marker + 1])
            done = max(done, marker + 1)
            self._keep(segments[marker].digest, lifetime)
        return PromptUsage(
            input=sum(segment.tokens for segment in segments[done:]),
            read=sum(segment.tokens for segment in segments[: hit + 1]),
            written_5m=spent["5m"],
            written_1h=spent["1h"],
        )

    def _find(self, segments: list[_Segment], marker: int) -> int:
        for index in range(marker, max(marker - LOOK_BACK, -1), -1):
            digest = segments[index].digest
            ends, lifetime = self._entries.get(digest, (0.0, "5m"))
            if self.clock() < ends:
                self._keep(digest, lifetime)  # reading an entry prolongs it
                return index
        return -1

    def _keep(self, digest: str, lifetime: str) -> None:
        _, before = self._entries.get(digest, (0.0, lifetime))
        longer = max(before, lifetime, key=lambda name: SECONDS[name])
        self._entries[digest] = (self.clock() + SECONDS[longer], longer)


def _check_markers(lifetimes: list[str]) -> None:
    if len(lifetimes) > MOST_MARKERS:
        raise ErrorAnswer(
            f"A maximum of {MOST_MARKERS} blocks with cache_control may be provided."
            f" Found {len(lifetimes)}."
        )
    if lifetimes != sorted(lifetimes, key=lambda name: -SECONDS[name]):
        raise ErrorAnswer("a ttl='1h' cache_control block must not come after a ttl='5m' one")


def _segments(request: Mapping[str, Any]) -> list[_Segment]:
    chain = hashlib.sha256(request["model"].encode())
    segments = []
    for part, block in _blocks(request):
        data = canonical(block)
        chain.update(part + data)
        marker = block.get("cache_control")
        lifetime = marker.get("ttl", "5m") if marker else None
        segments.append(_Segment(chain.hexdigest(), tokens_of(data), lifetime))
    automatic = request.get("cache_control")
    if automatic and segments[-1].marker is None:
        last = segments[-1]
        segments[-1] = _Segment(last.digest, last.tokens, automatic.get("ttl", "5m"))
    return segments


def _blocks(request: Mapping[str, Any]) -> Iterator[tuple[bytes, ContentBlock]]:
    for tool in request.get("tools") or []:
        yield b"tool", tool
    for block in blocks_of({"content": request.get("system") or []}):
        yield b"system", block
    settings = [request.get(key) for key in ("thinking", "tool_choice")]
    settings.append((request.get("output_config") or {}).get("format"))
    for message in request["messages"]:
        for block in blocks_of(message):
            yield message["role"].encode() + canonical(settings), block
