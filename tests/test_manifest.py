"""The App asks GitHub for exactly what the code uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from app.github.transport.tokens import OPTIONAL, Profile
from handlers import ROUTES

LEVELS = ["read", "write", "admin"]


UNASKED = {"installation", "installation_repositories", "installation_target"}
"""Events that every App is sent without subscribing."""


@pytest.fixture
def manifest():
    return yaml.safe_load(Path(__file__).parents[1].joinpath("app.yml").read_text())


def test_it_subscribes_to_the_events_that_are_handled_and_no_others(manifest):
    assert set(manifest["default_events"]) == {event for event, _ in ROUTES} - UNASKED
    assert manifest["hook_attributes"]["url"].endswith("/webhook")


TOLD_ITSELF = re.compile(r"\bevents\s*=\s*[\[(]|\.events\[:0\]|\bPERMISSIONS\b|\bEVENTS, ")
"""What an App would be registered with, or made to hear, beside app.yml."""


@pytest.mark.parametrize("folder", ["app/demo", "tests/flows", "tests/attacks", "tests/bench"])
def test_no_flow_hears_more_than_it_subscribes_to(folder):
    """So an event that is missing there is missing in the flows that live of it."""
    root = Path(__file__).parents[1]
    found = [
        f"{path.relative_to(root)}: {hit[0]}"
        for path in (root / folder).rglob("*.py")
        for hit in TOLD_ITSELF.finditer(path.read_text("utf-8"))
    ]
    assert found == []


def test_it_asks_for_the_permissions_that_tokens_are_made_with_and_no_others(manifest):
    needed: dict[str, str] = {}
    for profile in Profile:
        for name, level in profile.value:
            needed[name] = max(needed.get(name, "read"), level, key=LEVELS.index)

    optional = {name: needed.pop(name) for name in OPTIONAL}
    assert manifest["default_permissions"] == needed
    assert optional == OPTIONAL == {"workflows": "write"}


def test_it_is_private_until_its_owner_decides_otherwise(manifest):
    assert manifest["public"] is False


def test_no_token_may_both_read_nothing_but_metadata_or_administer():
    for profile in Profile:
        only_metadata = not {name for name, _ in profile.value} - {"metadata"}
        assert only_metadata == (profile is Profile.FIND)  # to learn a repository's id by its name
        assert all(level in {"read", "write"} for _, level in profile.value)
        assert not {name for name, _ in profile.value} & {"administration", "secrets"}


def test_one_kind_of_token_alone_may_write_workflows():
    holding = [p for p in Profile if "workflows" in dict(p.value)]
    assert holding == [Profile.PUSH_WORKFLOWS]
    assert dict(Profile.PUSH_WORKFLOWS.value) == {**dict(Profile.PUSH.value), "workflows": "write"}


def test_the_reading_profile_only_reads():
    assert {level for _, level in Profile.READ.value} == {"read"}
