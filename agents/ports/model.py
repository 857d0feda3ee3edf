"""The port for the language model: request, answer, token usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.policy import Effort
from agents.ports.json_types import Block
from agents.requests import Frozen


@dataclass(frozen=True)
class Capabilities:
    """What a model behind its endpoint understands of the Messages API beyond its core."""

    effort: bool = True
    adaptive_thinking: bool = True
    strict_tools: bool = True
    cache_markers: bool = True
    compaction: bool = False
    """It sums a conversation up itself when it is asked to, in a block that takes its place."""
    longest_answer: int = 128_000
    """The most tokens of an answer that the model gives: one that was cut off may have as many."""
    context_window: int = 1_000_000
    """Tokens that the model can read; a conversation that comes near them is summed up."""


@dataclass(frozen=True)
class Query:
    """One call of the model. Everything but `messages` stays the same within a session."""

    model: str
    system: str
    tools: Sequence[Mapping[str, Any]]
    """Messages-API tool definitions, in the order in which they are sent."""
    messages: Sequence[Mapping[str, Any]]
    """Messages-API messages exactly as journalled: never edited, trimmed or re-serialised."""
    max_tokens: int = 32_000
    effort: Effort = "high"
    capabilities: Capabilities = field(default_factory=Capabilities)
    """What the request may ask for; heads of older versions do not name it."""
    compact: bool = False
    """Have the conversation summed up: the answer is a block that is sent in its place later."""
    drop_unbound: bool = False
    """Have thoughts left out that were signed over another head, instead of refused."""


class Usage(Frozen):
    """Tokens of one answer; the whole prompt is `input + cache_write + cache_read`."""

    input: int = 0
    output: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0

    @property
    def cache_read_share(self) -> float | None:
        """The share of input tokens that came from the cache; None when nothing was read."""
        read = self.input + self.cache_write_5m + self.cache_write_1h + self.cache_read
        return self.cache_read / read if read else None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum, field by field."""
        return Usage(**{k: v + getattr(other, k) for k, v in self.model_dump().items()})


@dataclass(frozen=True)
class Answer:
    """What the model said: content blocks verbatim, thinking signatures included."""

    content: list[Block]
    stop_reason: str
    usage: Usage
    cost_usd: float
    model: str
    request_id: str | None
    seconds: float
    category: str = ""
    """For a refusal: what it was for, like `cyber`; empty where the model does not say."""
    estimated: bool = False
    """The server tells no tokens: they, and what they cost, are estimated from the characters."""


class Model(Protocol):
    """A language model behind the Messages API."""

    async def capabilities(self, model: str) -> Capabilities:
        """Return what the model of this name understands.

        Raises TransientError where nobody can tell now, since its server is out of reach, and
        ConfigError where no conversation could begin: the key is refused, or no price is known.
        """
        ...

    async def answer(self, query: Query) -> Answer:
        """Return the model's answer.

        Raises TransientError for overload, rate limits and broken streams once its own short
        retries are used up; ConfigError for bad credentials; PrefixChanged for thoughts that were
        signed over other messages or another head; ContextFull for more than the model can read;
        RunError for another request that is refused.
        """
        ...
