"""The JSON schema agrees with the code; it and the manual's example show every key of a policy."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from agents.policy import Policy, examine
from agents.policy.document import read_document
from agents.policy.schema import VERSION, json_schema, leaves

VALID = """\
quality: [{name: tests, run: pytest}]
who: {role: maintain, people: [ada]}
ask: [{command: "make deploy*"}]
remediation: {severities: [high]}
branches: {folder: team}
"""


def test_it_is_a_schema_of_that_draft_with_a_version():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:fettle:policy:{VERSION}"
    jsonschema_rs.Draft202012Validator(schema)


def test_every_key_says_what_it_does():
    schema = json_schema()
    parts = [schema, *schema["$defs"].values()]
    keys = [(name, each) for part in parts for name, each in part["properties"].items()]
    assert len(keys) >= len(leaves())
    for name, key in keys:
        shared = schema["$defs"].get(key.get("$ref", "").rpartition("/")[2], {})
        words = key.get("description") or shared.get("description", "")
        assert words.endswith("."), name
        assert "\n" not in words
    assert all(part["description"] for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        VALID,
        "{}",
        "budgt: 1",
        "who: {role: read}",
        "budget: {usd: 0}",
        "quality: [{name: x}]",
        "branches: {folder: ../up}",
        "remediation: {severities: [terrible]}",
    ],
)
def test_it_and_the_code_agree(text):
    validator = jsonschema_rs.Draft202012Validator(json_schema())
    valid = isinstance(examine(text.encode()), Policy)
    assert validator.is_valid(yaml.safe_load(text)) is valid


def test_defaults_are_those_of_the_code():
    schema = json_schema()
    assert schema["properties"]["budget"]["default"] == Policy().budget.model_dump()
    assert len(leaves()) == len(set(leaves())) > 40


# --- the manual's example -------------------------------------------------------------------------

MANUAL = Path(__file__).resolve().parents[3] / "deploy/policy.md"


def read_example():
    blocks = re.findall(r"```yaml\n(.*?)```", MANUAL.read_text("utf-8"), re.DOTALL)
    [found] = [each for each in blocks if "protected_paths" in each]
    return found.encode()


def list_leaves(value, name=""):
    if isinstance(value, dict) and name.lstrip(".") not in leaves():  # one of conversations is one
        return [leaf for key, each in value.items() for leaf in list_leaves(each, f"{name}.{key}")]
    if value and isinstance(value, tuple) and isinstance(value[0], dict):
        return [leaf for each in value for leaf in list_leaves(each, f"{name}[]")]
    return [name.lstrip(".")]


def test_the_manuals_example_is_valid():
    assert isinstance(examine(read_example()), Policy)


def test_the_manuals_example_shows_every_key():
    found = set(list_leaves(read_document(read_example()).value))
    twice = {each.replace("ask[]", "deny[]") for each in found} | found  # they have the same keys
    twice |= {each.replace("deny[]", "ask[]") for each in twice}
    assert sorted(twice) == leaves()
