"""Names of models: the provider, the affixes that clouds and gateways add, and capabilities.

`us.anthropic.claude-opus-5-5-v1:0` and `claude-opus-5-5@20260922` are the same model: its price and
what it understands do not change with the name of a region or a version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agents.ports import Capabilities, Json

PROVIDERS = ("anthropic", "bedrock", "vertex", "openai")
"""Who can be asked; a name without `provider:` before it belongs to the first."""

_AFFIXES = re.compile(r"(?:.*[./])?(?P<name>claude-[a-z0-9-]+?)(?:-v\d+)?(?:[:@][\w.:-]*)?\Z")
_CLAUDE = re.compile(r"claude-(?P<line>[a-z]+)-(?P<major>\d)(?:-(?P<minor>\d))?(?:-\d{8})?\Z")

CORE = Capabilities(
    effort=False,
    adaptive_thinking=False,
    strict_tools=False,
    cache_markers=False,
    longest_answer=32_000,
    context_window=200_000,
)
"""What is taken for granted of a model that nobody knows: every server of the API has as much."""


def split_provider(model: str) -> tuple[str, str]:
    """Return who is asked for the model, and its name there."""
    provider, colon, name = model.partition(":")
    if colon and provider in PROVIDERS:
        return provider, name
    return PROVIDERS[0], model


def apply_declared(
    found: Capabilities, declared: Mapping[str, Mapping[str, Any]], model: str
) -> Capabilities:
    """Return a model's capabilities, overruled by what the operator declares for all and for it."""
    for name in ("*", model):
        found = replace(found, **declared.get(name, {}))
    return found


def strip_affixes(model: str) -> str:
    """Return the name without region, provider and version; another maker's name as it is."""
    found = _AFFIXES.match(model[:300])
    return found["name"] if found else model


def find_known(model: str) -> Capabilities | None:
    """Return what a Claude model of this name understands, None for another one.

    https://docs.claude.com/en/docs/about-claude/models/overview
    """
    found = _CLAUDE.match(strip_affixes(model))
    if found is None:
        return None
    line, version = found["line"], (int(found["major"]), int(found["minor"] or 0))
    if version >= (5, 0):
        return Capabilities()
    modern = version >= (4, 6)
    longest = 32_000 if line == "opus" and version < (4, 5) else 64_000
    return Capabilities(
        effort=modern or (line, version) == ("opus", (4, 5)),
        adaptive_thinking=modern,
        strict_tools=version >= (4, 5) or (line, version) == ("opus", (4, 1)),
        longest_answer=128_000 if modern and line == "opus" else longest,
        context_window=1_000_000 if modern else 200_000,
    )


def read_capabilities(said: Mapping[str, Json], otherwise: Capabilities) -> Capabilities:
    """Return what `GET /v1/models/{id}` says of a model, and what holds otherwise of the rest.

    https://docs.claude.com/en/api/models
    """
    told = said.get("capabilities")
    flags = otherwise
    if isinstance(told, dict):
        thinking = _step_into(_step_into(told, "thinking"), "types")
        flags = Capabilities(
            effort=_is_supported(told, "effort"),
            adaptive_thinking=_is_supported(thinking, "adaptive"),
            strict_tools=_is_supported(told, "structured_outputs"),
            compaction=_is_supported(_step_into(told, "compaction"), "summarize"),
        )
    return replace(
        flags,
        longest_answer=_read_number(said, "max_tokens", otherwise.longest_answer),
        context_window=_read_number(said, "max_input_tokens", otherwise.context_window),
    )


def _step_into(values: Json, name: str) -> Json:
    return values.get(name) if isinstance(values, dict) else None


def _is_supported(values: Json, name: str) -> bool:
    return _step_into(_step_into(values, name), "supported") is True


def _read_number(said: Mapping[str, Json], name: str, otherwise: int) -> int:
    value = said.get(name)
    return value if isinstance(value, int) and value > 0 else otherwise
