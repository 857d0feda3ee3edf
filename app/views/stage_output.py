"""What a stage came to, as its step recorded it: bounded, without secrets, for pages and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from agents.ports import Json
from app.secrets.redaction import Redactor
from app.store.runs import KeptStep
from app.views.text import cut, redact

MOST_TEXT = 4_000  # characters of each text
MOST_ENTRIES = 100  # of each list
DEEPEST = 8
_LEFT_OUT = "(deeper than is shown)"
_STANDING = {"head": "commit", "branch": "branch", "tainted": "heard_outsiders"}
"""What is told of how the run stood after the stage, and what it is called."""


def describe_output(steps: Sequence[KeptStep], redactor: Redactor) -> dict[str, Any] | None:
    """Return the output of the last execution that has one, and the commit it left; or None."""
    records = [step.record for step in steps if isinstance(step.record, dict)]
    found = next((each for each in reversed(records) if each.get("output") is not None), None)
    if found is None:
        return None
    standing = found.get("standing")
    told = standing if isinstance(standing, dict) else {}
    after = {name: told[key] for key, name in _STANDING.items() if told.get(key)}
    described: dict[str, Any] = _shorten(redact({**after, "output": found["output"]}, redactor))
    return described


def _shorten(value: Json, depth: int = 0) -> Json:
    if isinstance(value, str):
        return cut(value, MOST_TEXT)
    if not isinstance(value, dict | list):
        return value
    if depth == DEEPEST:
        return _LEFT_OUT
    if isinstance(value, dict):
        named = islice(value.items(), MOST_ENTRIES)
        return {cut(name, 200): _shorten(each, depth + 1) for name, each in named}
    shown = [_shorten(each, depth + 1) for each in value[:MOST_ENTRIES]]
    more = len(value) - MOST_ENTRIES
    return [*shown, f"({more} more)"] if more > 0 else shown
