"""The policy in force in a repository, key by key, with where each value comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from agents.policy import Found, InvalidPolicy, MissingPolicy

LONGEST_VALUE = 300
DEFAULT = "default"


def describe_policy(found: Found, *, operator: bool) -> dict[str, Any]:
    """Return where the policy lies, its keys, and what is wrong with it.

    The file of a private repository of the owner's is for operators alone: of it others learn that
    it holds, and no more.
    """
    if isinstance(found, MissingPolicy):
        return {"file": None, "url": None, "faults": [], "keys": list(_list_keys(found.policy, ""))}
    origin = found.origin
    shown = operator or not origin.secret
    told: dict[str, Any] = {
        "file": origin.repository if shown else "the owner's",
        "url": None,
        "faults": [],
    }
    if not shown:
        return {**told, "keys": []}
    told["url"] = origin.url or None
    if isinstance(found, InvalidPolicy):
        told["faults"] = [str(each) for each in found.faults]
        return {**told, "keys": []}
    return {**told, "keys": list(_list_keys(found.policy, origin.repository))}


def _list_keys(policy: BaseModel, origin: str, above: str = "") -> Iterator[dict[str, str]]:
    """Yield each key with its value as JSON, and `default` or the repository of the file."""
    for name in type(policy).model_fields:
        value = getattr(policy, name)
        given = name in policy.model_fields_set
        if isinstance(value, BaseModel):
            yield from _list_keys(value, origin if given else "", f"{above}{name}.")
        else:
            text = json.dumps(policy.model_dump(mode="json", include={name})[name])
            shown = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
            source = origin if given and origin else DEFAULT
            yield {"name": f"{above}{name}", "value": shown, "from": source}
