"""The policy file: what it says holds, and what cannot be read is said in words."""

import time

import pytest

from agents.errors import PolicyInvalid
from agents.policy import NEVER, PROTECTED_PATHS, Policy, examine, parse_policy, rule_lines
from agents.policy.document import read_document
from agents.policy.parse import MOST_FAULTS


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"budget:\n  usd: 0\n", "line 2, column 8: `budget.usd` has to be greater than 0"),
        (
            b"budgt: {}\n",
            "line 1, column 1: `budgt` is not a key of the policy. Did you mean `budget`?",
        ),
        (
            b"\nsetup:\n  rum: []\n",
            "line 3, column 3: `setup.rum` is not a key of the policy. Did you mean `run`?",
        ),
        (
            b"usd: 3\n",
            "line 1, column 1: `usd` is not a key of the policy. Did you mean `budget.usd`?",
        ),
        (
            b"zzz: 3\n",
            "line 1, column 1: `zzz` is not a key of the policy.",
        ),
        (
            b"checks: {zzz: 3}\n",
            "line 1, column 10: `checks.zzz` is not a key of the policy. There are `fix`.",
        ),
        (
            b"ask: ['bash(rm)']\n",
            "`ask[1]` has to be made of keys, out of `tool`, `command`, `path`, `host`, `reason`",
        ),
        (b"protected_paths: ['']\n", "`protected_paths[1]` names no file: each pattern stands"),
        (b"protected_paths: [a, '!b']\n", "`protected_paths[2]` names no file"),
        (b"deny: [{path: '#x'}]\n", "`deny[1].path` names no file"),
        (b"quality:\n- name: a\n", "line 2, column 3: `quality[1].run` is missing"),
        (
            b"quality: [{name: on, run: x}]\n",
            "line 1, column 18: `quality[1].name` has to be a valid string; put it in quotes",
        ),
        (b"ask: [{reason: x}]\n", "line 1, column 7: `ask[1]` name at least one of"),
        (
            b"who: {role: read}\n",
            "line 1, column 13: `who.role` has to be 'write', 'maintain' or 'admin'",
        ),
        (b"budget: 3\n", "line 1, column 9: `budget` has to be made of keys"),
        ("# \u00e4\n\u00e4\u00e4: {budget: 1\n".encode(), "line 3, column 1: it is not YAML"),
        (
            "web: {hosts: [\u00e4, 3]}".encode(),
            "line 1, column 18: `web.hosts[2]` has to be a valid string",
        ),
        (b"ask: {path: x}\n", "line 1, column 6: `ask` has to be a list"),
        (
            b"budget: {turns: true}\n",
            "`budget.turns` has to be a whole number like 50, without quotes",
        ),
        (b"budget: {usd: '5'}\n", "`budget.usd` has to be a number like 2.5, without quotes"),
        (b"triggers: {alerts: 'no'}\n", "`triggers.alerts` has to be true or false, without"),
        (b"protected_paths: [a, '\\']\n", "column 22: `protected_paths[2]` is no pattern as in"),
        (b"deny: [{path: 'a\\'}]\n", "column 15: `deny[1].path` is no pattern as in .gitignore"),
        (b"ask: [{path: '[z-a]'}]\n", "column 14: `ask[1].path` is no pattern as in .gitignore"),
        (b"models: {tiers: {verify: fast}}\n", "`verify` judges changes: `strong` or `judge`"),
    ],
    ids=range(25),
)
def test_each_fault_has_its_line_and_column(text, said):
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text)

    assert said in str(caught.value)


def test_faults_come_in_the_order_of_the_file_whatever_the_order_of_keys():
    found = examine(b"budget: {usd: 0}\nwho: {role: x}\nbranches: {folder: ../up}\n")

    assert [(each.line, each.column) for each in found] == [(1, 15), (2, 13), (3, 20)]


def test_a_file_full_of_faults_is_not_repeated_in_full():
    text = "\n".join(f"key{n}: 1" for n in range(500))

    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode())

    assert "`key0`" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text",
    [
        b"".join(b"k%d: 1\n" % n for n in range(3000)),
        b"budget:\n" + b"".join(b" k%d: 1\n" % n for n in range(2800)),
        b"ask: [" + b"{}," * 8_000 + b"]\n",
    ],
    ids=["keys", "deeper", "rules"],
)
def test_thousands_of_faults_cost_no_more_than_reading_the_file(text):
    def take():  # beside other work everything takes longer, and not at all times alike
        begin = time.process_time()
        read_document(text)
        reading = time.process_time() - begin
        examine(text)
        return time.process_time() - begin, 5 * reading + 0.3

    assert any(took < most for took, most in (take() for _ in range(5)))
    found = examine(text)
    assert len(found) == MOST_FAULTS + 1
    assert found[-1].text.endswith("more faults begin here")
    assert sorted(found, key=lambda each: (each.line, each.column)) == list(found)


OTHERS = (
    *("netlify.toml", "vercel.json", ".npmrc", "pip.conf", ".devcontainer/devcontainer.json"),
    *(".vscode/tasks.json", "renovate.json", ".cursor/rules/a.mdc", ".claude/settings.json"),
)
"""What deploys, installs, or tells other agents what to do."""


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (".github/workflows/ci.yml", True),
        (".GitHub/Workflows/ci.yml", True),
        ("docs/CODEOWNERS", True),
        ("CLAUDE.md", True),
        ("sub/agents.md", True),
        *[(f"{folder}{name}", True) for folder in ("", "sub/") for name in OTHERS],
        (".github/copilot-instructions.md", True),
        (".github/dependabot.yml", False),
        (".vscode/extensions.json", False),
        ("src/workflows/x.yml", False),
    ],
)
def test_protected_paths_whatever_their_case(path, protected):
    assert (Policy().protects(path) is not None) is protected


def test_what_no_approval_opens_is_protected_to_begin_with():
    assert set(NEVER) <= set(PROTECTED_PATHS)


@pytest.mark.parametrize("listed", [(), ("db/**",)])
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


def test_no_pattern_takes_longer_the_more_stars_it_has():
    pattern = "*a" * 30 + "b"
    policy = Policy(protected_paths=(pattern, "**/" * 60 + "x"))

    # backtracking would not come to an end
    assert policy.protects("a" * 4_000) is None
    assert policy.protects("a/" * 1_000 + "y") is None
    assert policy.protects("a" * 4_000 + "b") == pattern


def test_names_in_no_encoding_are_held_against_patterns():
    assert Policy(protected_paths=("*.key",)).protects("de\udcff.key") == "*.key"


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
