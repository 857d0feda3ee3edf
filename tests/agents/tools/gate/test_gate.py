"""The gate: what it refuses, what it says, and that there is no way around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.policy import Policy, Rule, Toolset
from agents.ports import ToolEffects
from agents.tools.base import Capability, Effect
from agents.tools.gate import gate
from agents.tools.gate import objections as circumstances
from agents.tools.mcp import tool_class
from agents.tools.registry import tool_named
from tests.agents.tools.conftest import ACTING, ARGUMENTS, LISTED, READING

CHANGE, READ_ONLY = Capability.CHANGE, Capability.READ_ONLY
HELD = ToolEffects(only_reads=False, outside=False)


def tool(name, **arguments):
    return tool_named(name).model_validate(ARGUMENTS[name] | arguments)


def decide(call, capability, policy, **more):
    return gate.decide(call, policy, circumstances.Circumstances(capability, **more))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_stage_that_changes_may_use_every_tool(name):
    assert decide(tool(name), CHANGE, LISTED).decision == "allow"


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_stage_that_reads_may_not_write(name):
    verdict = decide(tool(name), READ_ONLY, LISTED)
    denied = tool_named(name).effect is Effect.WRITE
    assert (verdict.decision, verdict.rule) == (
        ("deny", "stage/read-only") if denied else ("allow", "default")
    )


@pytest.mark.parametrize("capability", [CHANGE, READ_ONLY])
@pytest.mark.parametrize("name", ["read", "grep", "edit", "write"])
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/etc/passwd", "path/outside"),
        ("..", "path/outside"),
        ("../x", "path/outside"),
        ("a/../../x", "path/outside"),
        ("/workspace/../etc/passwd", "path/outside"),
        ("/workspaces/x", "path/outside"),
        ("//etc/passwd", "path/outside"),
        (".git/config", "path/git"),
        (".git", "path/git"),
        ("/workspace/.git/hooks/x", "path/git"),
        ("sub/.GIT/config", "path/git"),
        ("git~1/config", "path/git"),
        (".git./config", "path/git"),
        (".git::$INDEX_ALLOCATION/x", "path/git"),
        (".g\u200cit/config", "path/characters"),
        ("a\nb", "path/characters"),
        ("a\u202eb", "path/characters"),
    ],
)
def test_paths_that_leave_are_refused_everywhere(capability, name, path, rule):
    verdict = decide(tool(name, path=path), capability, Policy())
    expected = rule
    if capability is READ_ONLY and tool_named(name).effect is Effect.WRITE:
        expected = "stage/read-only"
    assert (verdict.decision, verdict.rule) == ("deny", expected)


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/x.md", "a..b", "...", "git", "/workspace/a"]
)
def test_ordinary_paths_pass(path):
    for name in ("read", "grep", "edit", "write"):
        assert decide(tool(name, path=path), CHANGE, Policy()).decision == "allow"


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".github/workflows/ci.yml", "path/never"),
        (".GitHub/Workflows/ci.yml", "path/never"),
        ("./.github//workflows/deep/ci.yml", "path/never"),
        ("x/../.github/workflows/ci.yml", "path/never"),
        (".github/fettle.yml", "path/never"),
        (".github/actions/a/action.yml", "path/protected"),
        ("docs/CODEOWNERS", "path/protected"),
        (".gitmodules", "path/protected"),
        ("sub/agents.md", "path/protected"),
    ],
)
def test_protected_paths_can_be_read_but_not_just_written(path, rule):
    assert decide(tool("read", path=path), CHANGE, Policy()).decision == "allow"
    for name in ("edit", "write"):
        verdict = decide(tool(name, path=path), CHANGE, Policy())
        assert verdict.rule == rule
        assert verdict.decision == ("deny" if rule == "path/never" else "ask")
        assert verdict.paths == (() if rule == "path/never" else (path,))


def test_the_repository_says_what_is_protected():
    policy = Policy(protected_paths=("src/generated/**",))
    assert decide(tool("write", path="src/generated/a.py"), CHANGE, policy).decision == "ask"
    assert decide(tool("write", path="AGENTS.md"), CHANGE, policy).decision == "allow"


@pytest.mark.parametrize("listed", [(), ("src/generated/**",), (".github/actions/**",)])
def test_no_list_of_the_repository_opens_workflows_and_policy(listed):
    policy = Policy(protected_paths=listed)
    for path in (".github/workflows/ci.yml", ".github/fettle.yml", ".GITHUB/Fettle.yml"):
        verdict = decide(tool("write", path=path), CHANGE, policy)
        assert (verdict.decision, verdict.rule) == ("deny", "path/never")
    for command in (
        "echo a > .github/fettle.yml",
        "rm -rf .github",
        "rm -rf .github/workflows",
        "cp a .github/workflows/",
    ):
        verdict = decide(tool("bash", command=command), CHANGE, policy)
        assert (verdict.decision, verdict.rule) == ("deny", "path/never"), command


def test_a_stage_that_reads_does_not_ask_for_changes_which_it_cannot_make():
    for command in ("rm -rf src", "echo x > AGENTS.md", "git reset --hard", "pip install left"):
        assert decide(tool("bash", command=command), CHANGE, Policy()).decision == "ask"
        verdict = decide(tool("bash", command=command), READ_ONLY, Policy())
        assert (verdict.decision, verdict.rule) == ("deny", "stage/read-only")
        assert command.split()[-1] in verdict.reason


def test_whoever_decides_sees_every_reason_and_every_path():
    command = "rm -rf src; git reset --hard; echo x >> AGENTS.md; echo x >> docs/CODEOWNERS"
    verdict = decide(tool("bash", command=command), CHANGE, Policy(ask=(Rule(tool="bash"),)))
    assert (verdict.decision, verdict.rule) == ("ask", "policy/ask/1")
    for part in ("tool `bash`", "`src`", "git reset --hard", "AGENTS.md", "docs/CODEOWNERS"):
        assert part in verdict.reason
    assert verdict.paths == ("AGENTS.md", "docs/CODEOWNERS")


# --- the order of rules -------------------------------------------------------------------------

PUSH, REMOVE, TEST = "git push", "rm -rf src", "pytest"


@pytest.mark.parametrize(
    ("command", "ask", "deny", "rule"),
    [
        (PUSH, "git push*", None, "git/push"),
        (PUSH, "git push*", "git push*", "git/push"),
        (REMOVE, None, "rm *", "policy/deny/1"),
        (REMOVE, "rm *", "rm *", "policy/deny/1"),
        (REMOVE, "rm *", None, "policy/ask/1"),
        (REMOVE, None, None, "delete/outside-build"),
        (TEST, "pytest*", "pytest*", "policy/deny/1"),
        (TEST, "pytest*", None, "policy/ask/1"),
        (TEST, None, None, "default"),
    ],
)
def test_the_gates_denies_then_the_policys_then_asks(command, ask, deny, rule):
    policy = Policy(
        ask=(Rule(command=ask),) if ask else (), deny=(Rule(command=deny),) if deny else ()
    )
    verdict = decide(tool("bash", command=command), CHANGE, policy)
    assert verdict.rule == rule
    asked = rule.startswith(("policy/ask", "delete"))
    assert verdict.decision == ("ask" if asked else "allow" if rule == "default" else "deny")


# --- what leaves --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "clean", "tainted"),
    [
        ("https://docs.example.org/guide", "default", "default"),
        ("https://docs.example.org/search?q=a", "default", "web/carries"),
        ("https://docs.example.org/" + "a" * 120, "default", "web/carries"),
        ("https://example.net/guide", "web/unlisted", "web/unlisted"),
        ("https://docs.example.org.evil.net/", "web/unlisted", "web/unlisted"),
    ],
)
def test_pages_of_listed_hosts_are_read_and_strangers_send_nothing_along(url, clean, tainted):
    page = tool("webfetch", url=url)
    assert decide(page, READ_ONLY, LISTED).rule == clean
    verdict = decide(page, READ_ONLY, LISTED, tainted=True)
    assert verdict.rule == tainted
    assert tainted == "default" or url in verdict.reason


@pytest.mark.parametrize(
    ("effects", "clean", "tainted"),
    [
        (READING, "default", "mcp/carries"),
        (ACTING, "mcp/acts", "mcp/acts"),
        (HELD, "default", "default"),
    ],
)
def test_tools_of_other_servers_pass_the_same_gate(effects, clean, tainted):
    asked = tool_class("mcp_tracker_find").model_validate({"text": "a"})
    assert decide(asked, CHANGE, LISTED, effects=effects).rule == clean
    assert decide(asked, CHANGE, LISTED, effects=effects, tainted=True).rule == tainted
    verdict = decide(asked, CHANGE, Policy(), effects=effects)
    assert (verdict.decision, verdict.rule) == ("deny", "mcp/unlisted")


def test_a_stage_gets_the_tools_that_the_policy_gives_it():
    policy = Policy(mcp=(Toolset(server="tracker", tools=("find*",), stages=("triage",)),))
    for name, stage, rule in (
        ("mcp_tracker_find-all", "triage", "default"),
        ("mcp_tracker_find-all", "implement", "mcp/unlisted"),
        ("mcp_tracker_close", "triage", "mcp/unlisted"),
        ("mcp_other_find", "triage", "mcp/unlisted"),
    ):
        asked = tool_class(name).model_validate({})
        assert decide(asked, CHANGE, policy, effects=READING, stage=stage).rule == rule


STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
CALLS = st.one_of(
    st.sampled_from(["make", "rm -rf src", "curl https://x.example", "env"]).map(
        lambda command: tool("bash", command=command)
    ),
    st.from_regex(
        r"https://(docs|www)\.example\.org/[a-z]{0,120}(\?q=[a-z]+)?", fullmatch=True
    ).map(lambda url: tool("webfetch", url=url)),
    st.sampled_from(["a.py", "AGENTS.md", ".github/fettle.yml", "../x"]).map(
        lambda path: tool("write", path=path)
    ),
    st.just(tool_class("mcp_tracker_find").model_validate({"a": 1})),
)


@given(CALLS, st.sampled_from([READING, ACTING, HELD]), st.sampled_from([CHANGE, READ_ONLY]))
def test_a_strangers_say_never_makes_a_verdict_weaker(asked, effects, capability):
    facts = {"effects": effects if asked.name.startswith("mcp_") else None}
    clean = decide(asked, capability, LISTED, **facts)
    tainted = decide(asked, capability, LISTED, tainted=True, **facts)
    assert STRENGTH[tainted.decision] >= STRENGTH[clean.decision]


def test_the_effect_is_known_by_name():
    assert gate.find_effect("read") is Effect.READ
    assert gate.find_effect("bash") is Effect.EXECUTE
    assert gate.find_effect("mcp_tracker_find") is Effect.READ
    assert gate.find_effect("submit_plan") is None


@given(st.text(max_size=30))
def test_whatever_path_passes_stays_below_the_root(path):
    if "\0" in path or any("\ud800" <= char <= "\udfff" for char in path):
        return
    if decide(tool("write", path=path), CHANGE, Policy()).decision == "allow":
        root = Path("/root-of/repository")
        written = tool("write", path=path).path
        assert ".." not in Path(written).parts
        assert (root / written).is_relative_to(root)
        assert ".git" not in Path(written).parts
