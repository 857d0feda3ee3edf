"""What a model understands and how much of it: what is beyond that is refused as the API does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.simulator.model.cache import tokens_of
from app.simulator.model.compaction import check_compaction
from app.simulator.model.conversation import blocks_of, canonical
from app.simulator.model.refusal import ErrorAnswer


@dataclass(frozen=True)
class ModelLimits:
    """One model behind one endpoint; by default a current one behind the whole API."""

    effort: bool = True
    adaptive_thinking: bool = True
    strict_tools: bool = True
    cache_markers: bool = True
    compaction: bool = True
    betas: bool = True
    """Whether anything beyond the API's core may be asked for by the header that names it."""
    longest_answer: int = 128_000
    context_window: int = 1_000_000
    described: bool = True
    """Whether `GET /v1/models/{id}` tells all this; gateways have no such page."""
    counts_both: bool = False
    """Whether prompt and longest answer have to fit together, as with older models."""

    def check(self, request: Mapping[str, Any], betas: str = "") -> None:
        """Raise ErrorAnswer for a request that asks for more, also by the header for betas."""
        self._check_parts(request, betas)
        self._check_sizes(request)

    def _check_parts(self, request: Mapping[str, Any], betas: str) -> None:
        if betas and not self.betas:
            raise ErrorAnswer(f"Unexpected value(s) `{betas}` for the `anthropic-beta` header")
        if request.get("output_config") and not self.effort:
            raise ErrorAnswer("This model does not support the effort parameter.")
        if request.get("thinking") and not self.adaptive_thinking:
            raise ErrorAnswer("adaptive thinking is not supported on this model")
        if not self.adaptive_thinking and _holds_thoughts(request):
            raise ErrorAnswer("messages: Input tag 'thinking' found using 'type' is not expected")
        if not self.strict_tools and any("strict" in tool for tool in request.get("tools") or []):
            raise ErrorAnswer("tools.0.strict: Extra inputs are not permitted")
        if not self.cache_markers and _marks_cache(request):
            raise ErrorAnswer("cache_control: Extra inputs are not permitted")
        if not self.compaction and check_compaction(request):
            raise ErrorAnswer("compaction is not supported on this model")

    def _check_sizes(self, request: Mapping[str, Any]) -> None:
        name, longest = request["model"], request["max_tokens"]
        if longest > self.longest_answer:
            raise ErrorAnswer(
                f"max_tokens: {longest} > {self.longest_answer}, which is the maximum allowed"
                f" number of output tokens for {name}"
            )
        asked = [request.get(key) for key in ("tools", "system", "messages")]
        prompt = tokens_of(canonical(asked))
        if prompt > self.context_window:
            raise ErrorAnswer(
                f"prompt is too long: {prompt} tokens > {self.context_window} maximum"
            )
        if self.counts_both and prompt + longest > self.context_window:
            raise ErrorAnswer(
                f"input length and `max_tokens` exceed context limit: {prompt} + {longest} >"
                f" {self.context_window}, decrease input length or `max_tokens` and try again"
            )

    def describe(self, name: str) -> dict[str, Any]:
        """Return the answer to `GET /v1/models/{id}`."""
        if not self.described:
            raise ErrorAnswer(f"model: {name}", 404)
        told = {
            "effort": {"supported": self.effort},
            "compaction": {
                "supported": self.compaction,
                "summarize": {"supported": self.compaction},
            },
            "structured_outputs": {"supported": self.strict_tools},
            "thinking": {
                "supported": True,
                "types": {"adaptive": {"supported": self.adaptive_thinking}},
            },
        }
        return {
            "id": name,
            "type": "model",
            "display_name": "A script on this machine",
            "created_at": "1970-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_tokens": self.longest_answer,
            "max_input_tokens": self.context_window,
            "capabilities": told,
        }


def _holds_thoughts(request: Mapping[str, Any]) -> bool:
    blocks = (block for message in request["messages"] for block in blocks_of(message))
    return any(block["type"] == "thinking" for block in blocks)


def _marks_cache(request: Mapping[str, Any]) -> bool:
    said = [block for message in request["messages"] for block in blocks_of(message)]
    told = blocks_of({"content": request.get("system") or []})
    marked = [request, *(request.get("tools") or []), *told, *said]
    return any("cache_control" in each for each in marked)
