"""The JSON schema of the policy, for editors."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from agents.policy.policy import POLICY_PATH, Policy

VERSION = 1
"""Raised when a key comes to mean something else, or is taken away; new ones do not count."""


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12, with what every key does in its description."""
    made = Policy.model_json_schema()
    made["description"] = " ".join((made["description"], f"In `{POLICY_PATH}`."))
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:fettle:policy:{VERSION}",
        **_plain(made),
    }


def leaves() -> list[str]:
    """Return the name of each key that holds a value, like `budget.usd` or `ask[].host`."""
    schema = json_schema()
    return sorted(_leaves(schema, schema, ""))


def _leaves(schema: dict[str, Any], part: dict[str, Any], name: str) -> list[str]:
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    if "properties" in part:
        start = f"{name}." if name else ""
        found = (_leaves(schema, each, f"{start}{key}") for key, each in part["properties"].items())
        return [leaf for several in found for leaf in several]
    items = [each for each in (part, *part.get("anyOf", ())) if "$ref" in each.get("items", {})]
    return _leaves(schema, items[0]["items"], f"{name}[]") if items else [name]


def _plain(part: Any) -> Any:
    """Return the schema without titles made of names, and without line ends in descriptions."""
    if isinstance(part, list):
        return [_plain(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {key: each for key, each in part.items() if not (key == "title" and "type" in part)}
    if isinstance(kept.get("description"), str):
        kept["description"] = " ".join(kept["description"].split())
    return {key: _plain(each) for key, each in kept.items()}
