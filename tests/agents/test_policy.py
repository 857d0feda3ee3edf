"""The policy file: what it says holds, and what cannot be read is said in words."""

import pytest

from agents.errors import PolicyInvalid
from agents.policy import NEVER, PROTECTED_PATHS, Policy, parse_policy, rule_lines


def test_no_file_and_an_empty_file_are_all_defaults():
    assert parse_policy(None) == parse_policy(b"") == parse_policy(b"# later\n") == Policy()


@pytest.mark.parametrize(
    "text",
    [
        b"budget: {usd: 1",
        b"budget: 2023-99-99",
        b"budget: {turns: " + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
        b"[" * 5000,
        b"? [a]: b",
        b"!!python/object/apply:os.system [id]",
        b"just words",
        b"qualty: []",
        b"budget: {usd: .nan}",
        b"budget: {minutes: 0}",
    ],
    ids=range(11),
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(text):
    with pytest.raises(PolicyInvalid, match=r"`\.github/fettle\.yml` is not"):
        parse_policy(text)


def test_a_file_full_of_faults_is_not_repeated_in_full():
    text = "\n".join(f"key{n}: 1" for n in range(500))

    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode())

    assert "`key0`" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (".github/workflows/ci.yml", True),
        (".GitHub/Workflows/ci.yml", True),
        ("docs/CODEOWNERS", True),
        ("CLAUDE.md", True),
        ("sub/agents.md", True),
        (".github/dependabot.yml", False),
        ("src/workflows/x.yml", False),
    ],
)
def test_protected_paths_whatever_their_case(path, protected):
    assert (Policy().protects(path) is not None) is protected


def test_what_no_approval_opens_is_protected_to_begin_with():
    assert set(NEVER) <= set(PROTECTED_PATHS)


@pytest.mark.parametrize("listed", [(), ("db/**",), ("!.github/**",)])
@pytest.mark.parametrize("path", [".github/fettle.yml", ".GitHub/Workflows/a/ci.yml"])
def test_what_no_approval_opens_is_protected_whatever_the_owners_list(path, listed):
    assert Policy(protected_paths=listed).protects(path) in NEVER
    assert Policy(protected_paths=listed).protects("AGENTS.md") is None


RULES = b"""\
# who may do what
ask:
  - {command: "make deploy*"}

  - tool: bash
    path: db/**
budget: {usd: 3}
deny: [{host: a.example}, {tool: "mcp_*",
        host: b.example}, {tool: x}]
"""


def test_each_rule_is_found_in_the_file_by_its_line():
    parse_policy(RULES)
    assert rule_lines(RULES) == {
        "policy/ask/1": 3,
        "policy/ask/2": 5,
        "policy/deny/1": 8,
        "policy/deny/2": 8,
        "policy/deny/3": 9,
    }


@pytest.mark.parametrize("text", [b"", b"# nothing\n", b"ask: []\n", b"budget: {usd: 1}\n"])
def test_a_file_without_rules_has_no_lines(text):
    assert rule_lines(text) == {}
