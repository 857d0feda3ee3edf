"""The manual's example is a policy, and shows every key."""

from __future__ import annotations

import re
from pathlib import Path

from agents.policy import Policy, examine
from agents.policy.document import read_document
from agents.policy.schema import leaves

MANUAL = Path(__file__).resolve().parents[3] / "deploy/policy.md"


def example():
    blocks = re.findall(r"```yaml\n(.*?)```", MANUAL.read_text("utf-8"), re.DOTALL)
    [found] = [each for each in blocks if "protected_paths" in each]
    return found.encode()


def list_leaves(value, name=""):
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in list_leaves(each, f"{name}.{key}")]
    if value and isinstance(value, tuple) and isinstance(value[0], dict):
        return [leaf for each in value for leaf in list_leaves(each, f"{name}[]")]
    return [name.lstrip(".")]


def test_it_is_valid():
    assert isinstance(examine(example()), Policy)


def test_it_shows_every_key():
    found = set(list_leaves(read_document(example()).value))
    twice = {each.replace("ask[]", "deny[]") for each in found} | found  # they have the same keys
    twice |= {each.replace("deny[]", "ask[]") for each in twice}
    assert sorted(twice) == leaves()
