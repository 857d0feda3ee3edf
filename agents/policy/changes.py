"""Describe a change of the policy, key by key, for its reviewers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents.policy.document import quote_word
from agents.policy.policy import Policy
from agents.policy.sections import Strict

MOST = 40
"""Lines; who changes more reads the file."""


def describe_changes(old: Policy, new: Policy) -> list[str]:
    """Return a line of Markdown for each thing that changes. No word in it acts, or is a link."""
    found = list(_changes("", old, new))
    more = len(found) - MOST
    return found[:MOST] + ([f"and {more} more"] if more > 0 else [])


def _changes(path: str, old: Strict, new: Strict) -> Iterator[str]:
    for key in type(old).model_fields:
        name = f"{path}.{key}" if path else key
        before, after = getattr(old, key), getattr(new, key)
        if before == after:
            continue
        if isinstance(before, Strict) and isinstance(after, Strict):
            yield from _changes(name, before, after)
        elif isinstance(before, tuple) and isinstance(after, tuple):
            yield from (
                f"`{name}` loses {_format_value(each)}" for each in before if each not in after
            )
            yield from (
                f"`{name}` gets {_format_value(each)}" for each in after if each not in before
            )
            if sorted(map(repr, before)) == sorted(map(repr, after)):
                yield f"`{name}` is in another order"
        else:
            yield f"`{name}`: {_format_value(before)} becomes {_format_value(after)}"


def _format_value(value: Any) -> str:
    if value is None:
        return "what is there by itself"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Strict):
        fields = value.model_dump(exclude_defaults=True).items()
        return ", ".join(f"{key} {_format_value(each)}" for key, each in fields)
    if isinstance(value, tuple | list):
        return ", ".join(map(_format_value, value)) or "nothing"
    return quote_word(f"{value:g}" if isinstance(value, float) else str(value))
