"""Rules are added to a policy's text; all else in it stays as it was, or nothing is changed."""

from __future__ import annotations

import pytest

from agents.policy import Rule, parse_policy
from agents.policy.additions import add_setup, add_to_policy

RULE = Rule(path="db/schema.sql", reason='They said "no".')
ENTRY = '{path: "db/schema.sql", reason: "They said \\"no\\"."}'
TEXTS = {
    "no file": ("", f"deny: [{ENTRY}]\n"),
    "a last line without its end": ("# ours\npath: fast", f"# ours\npath: fast\ndeny: [{ENTRY}]\n"),
    "an empty list": ("deny: []  # yet\n", f"deny: [{ENTRY}]  # yet\n"),
    "a list in one line": ("deny: [{path: x}]\n", f"deny: [{ENTRY}, {{path: x}}]\n"),
    "a list of lines": (
        "deny:\n  - path: x  # why\n    reason: y\n# end\nask: []\n",
        f"deny:\n  - {ENTRY}\n  - path: x  # why\n    reason: y\n# end\nask: []\n",
    ),
    "a list that is not indented": (
        "deny:\n- {path: x}\n",
        f"deny:\n- {ENTRY}\n- {{path: x}}\n",
    ),
    "a file of one line": ("{path: fast}", f"{{deny: [{ENTRY}], path: fast}}"),
    "a mark before the text": ("\ufeffpath: fast\n", f"\ufeffpath: fast\ndeny: [{ENTRY}]\n"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_rule_is_added_and_nothing_else_changes(name):
    before, after = TEXTS[name]
    made = add_to_policy(before.encode(), [RULE])
    assert made.decode() == after
    assert RULE in parse_policy(made).deny


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "approvals: {dependencies: refuse}\n"),
        ("approvals: {days: 3}\n", "approvals: {dependencies: refuse, days: 3}\n"),
        ("approvals:\n  days: 3\n", "approvals:\n  dependencies: refuse\n  days: 3\n"),
        ("approvals: {dependencies: ask}\r\n", "approvals: {dependencies: refuse}\r\n"),
    ],
)
def test_dependencies_are_refused_in_their_own_key(before, after):
    made = add_to_policy(before.encode(), [], refuse_dependencies=True)
    assert made.decode() == after
    assert parse_policy(made).approvals.dependencies == "refuse"


@pytest.mark.parametrize(
    "before",
    ["nonsense: 1\n", "deny: null\n", "deny: {path: x}\n", "path: fast\n...\n", "- a list\n"],
)
def test_what_cannot_be_added_to_is_left_alone(before):
    assert add_to_policy(before.encode(), [RULE]) is None


COMMANDS = ("cd web && npm ci", "pip install -e '.[test]' \"x\"")
RUN = 'run: ["cd web && npm ci", "pip install -e \'.[test]\' \\"x\\""]'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"setup: {{{RUN}}}\n"),
        ("# ours\npath: fast", f"# ours\npath: fast\nsetup: {{{RUN}}}\n"),
        ("setup: {timeout: 60}  # s\n", f"setup: {{{RUN}, timeout: 60}}  # s\n"),
        ("setup:\n  timeout: 60\n", f"setup:\n  {RUN}\n  timeout: 60\n"),
        ("{path: fast}", f"{{setup: {{{RUN}}}, path: fast}}"),
    ],
)
def test_set_up_commands_are_added_and_nothing_else_changes(before, after):
    made = add_setup(before.encode(), COMMANDS)
    assert made.decode() == after
    assert parse_policy(made).setup.run == COMMANDS


@pytest.mark.parametrize(
    "text", ["setup: {run: [npm ci]}\n", "setup: {run: []}\n", "setup: 5\n", "nobody: knows\n"]
)
def test_set_up_commands_of_the_owners_stay(text):
    assert add_setup(text.encode(), COMMANDS) is None
