"""The gate: what it refuses, what it says, and that there is no way around it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ToolError
from agents.policy import Policy, Rule, Toolset, Web
from agents.ports import Approval, Asking, Manner, Page
from agents.tools import TOOLS, gate, tool_named
from agents.tools import objections as circumstances
from agents.tools.base import Capability, Effect, Tool
from agents.tools.gate import call, judge
from agents.tools.mcp import tool_class

CHANGE, READ_ONLY = Capability.CHANGE, Capability.READ_ONLY
READING, ACTING = Manner(only_reads=True, outside=True), Manner(only_reads=False, outside=True)
HELD = Manner(only_reads=False, outside=False)
ARGUMENTS = {
    "bash": {"command": "make"},
    "edit": {"path": "a.py", "old": "a", "new": "b"},
    "gh": {"verb": "issue", "number": 7},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "a"},
    "read": {"path": "a.py"},
    "webfetch": {"url": "https://docs.example.org/guide"},
    "write": {"path": "a.py", "content": ""},
}


LISTED = Policy(web=Web(hosts=("docs.example.org",)), mcp=(Toolset(server="tracker"),))


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
    ("manner", "clean", "tainted"),
    [
        (READING, "default", "mcp/carries"),
        (ACTING, "mcp/acts", "mcp/acts"),
        (HELD, "default", "default"),
    ],
)
def test_tools_of_other_servers_pass_the_same_gate(manner, clean, tainted):
    asked = tool_class("mcp_tracker_find").model_validate({"text": "a"})
    assert decide(asked, CHANGE, LISTED, manner=manner).rule == clean
    assert decide(asked, CHANGE, LISTED, manner=manner, tainted=True).rule == tainted
    verdict = decide(asked, CHANGE, Policy(), manner=manner)
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
        assert decide(asked, CHANGE, policy, manner=READING, stage=stage).rule == rule


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
def test_a_strangers_say_never_makes_a_verdict_weaker(asked, manner, capability):
    facts = {"manner": manner if asked.name.startswith("mcp_") else None}
    clean = decide(asked, capability, LISTED, **facts)
    tainted = decide(asked, capability, LISTED, tainted=True, **facts)
    assert STRENGTH[tainted.decision] >= STRENGTH[clean.decision]


# --- calling ------------------------------------------------------------------------------------


async def test_a_refusal_names_its_rule_and_what_to_do(reading, put):
    file = put("a.py", "a")
    with pytest.raises(ToolError, match=r"rule stage/read-only.*Say in your submission"):
        await call("edit", ARGUMENTS["edit"], bench=reading)
    assert file.read_text() == "a"


async def test_a_protected_file_stays(bench, put):
    file = put(".github/workflows/ci.yml", "a")
    with pytest.raises(
        ToolError, match=r"path/never.*protects \.github/workflows/ci\.yml \(pattern `\.github/wo"
    ):
        await call("write", {"path": ".github/workflows/ci.yml", "content": "b"}, bench=bench)
    assert file.read_text() == "a"


ASKED = {"path": "AGENTS.md", "content": "b"}


def approval(arguments, *, state="approved", head="a1b2", name="write"):
    asking = Asking(
        call_id="1",
        session="implement/1",
        stage="implement/1",
        tool=name,
        arguments=arguments,
        rule="r",
        reason="",
        head=head,
    )
    return Approval(id="k3f9", state=state, binding=asking.binding)


async def test_what_a_person_would_have_to_approve_is_not_done_without(bench, put):
    file = put("AGENTS.md", "a")
    with pytest.raises(
        ToolError, match=r"path/protected wants a person to approve.*so it was not done"
    ):
        await call("write", ASKED, bench=bench)
    assert file.read_text() == "a"


@pytest.fixture
def bench(bench):
    return replace(bench, head="a1b2")


async def test_a_yes_to_this_very_call_lets_it_run(bench, put):
    file = put("AGENTS.md", "a")
    await call("write", ASKED, bench=bench, grant=approval(ASKED))
    assert file.read_text() == "b"


@pytest.mark.parametrize(
    "grant",
    [
        approval(ASKED, state="waiting"),
        approval(ASKED, state="denied"),
        approval(ASKED, state="expired"),
        approval(ASKED, state="void"),
        approval(ASKED, head=""),
        approval(ASKED, name="edit"),
        approval(ASKED | {"content": "c"}),
        approval(ASKED | {"path": "./AGENTS.md"}),
    ],
    ids=["waiting", "denied", "expired", "void", "moved", "tool", "content", "spelling"],
)
async def test_a_yes_to_anything_else_does_not(bench, put, grant):
    file = put("AGENTS.md", "a")
    with pytest.raises(ToolError, match="nobody has approved exactly this call"):
        await call("write", ASKED, bench=bench, grant=grant)
    assert file.read_text() == "a"


async def test_a_yes_opens_nothing_that_is_denied(bench, put):
    file = put(".github/fettle.yml", "a")
    arguments = {"path": ".github/fettle.yml", "content": "b"}
    with pytest.raises(ToolError, match="path/never"):
        await call("write", arguments, bench=bench, grant=approval(arguments))
    assert file.read_text() == "a"


def test_the_gate_judges_without_running(bench, put):
    file = put("AGENTS.md", "a")
    assert judge("write", ASKED, bench=bench).decision == "ask"
    assert file.read_text() == "a"
    with pytest.raises(ToolError, match="no tool 'shell'"):
        judge("shell", {}, bench=bench)
    with pytest.raises(ToolError, match="`path`: Field required"):
        judge("write", {}, bench=bench)


class OtherServers:
    """The port Toolsets with two tools; keeps what was called."""

    def __init__(self):
        self.called = []

    def definitions(self):
        return [{"name": "mcp_tracker_close"}, {"name": "mcp_tracker_find"}]

    def manner(self, name):
        return {"mcp_tracker_find": READING, "mcp_tracker_close": ACTING}.get(name)

    async def call(self, name, arguments):
        self.called.append((name, dict(arguments)))
        return "\x1b[1mfound"


async def test_other_servers_are_called_through_the_gate_alone(bench):
    servers = OtherServers()
    bench = replace(bench, policy=LISTED, toolsets=servers, stage="implement")
    told = await call("mcp_tracker_find", {"text": "a"}, bench=bench)
    assert "found" in told
    assert "\x1b" not in told
    with pytest.raises(ToolError, match="mcp/acts wants a person"):
        await call("mcp_tracker_close", {"id": 3}, bench=bench)
    yes = approval({"id": 3}, name="mcp_tracker_close")
    await call("mcp_tracker_close", {"id": 3}, bench=bench, grant=yes)
    with pytest.raises(ToolError, match="no tool 'mcp_tracker_open'"):
        await call("mcp_tracker_open", {}, bench=bench)
    with pytest.raises(ToolError, match="cannot run with these arguments"):
        await call("mcp_tracker_find", "text=a", bench=bench)
    assert servers.called == [("mcp_tracker_find", {"text": "a"}), ("mcp_tracker_close", {"id": 3})]


class OnePage:
    """The port Web: every address has the same page."""

    async def fetch(self, url, *, allowed):
        return Page(url, 200, "text/plain", "hello", cut=False)


async def test_a_page_is_fetched_only_where_the_gate_lets_it(bench):
    bench = replace(bench, policy=LISTED, web=OnePage(), tainted=True)
    assert "hello" in await call("webfetch", ARGUMENTS["webfetch"], bench=bench)
    with pytest.raises(ToolError, match="web/carries"):
        await call("webfetch", {"url": "https://docs.example.org/?q=secret"}, bench=bench)


async def test_an_unknown_tool_is_answered_with_the_known_ones(bench):
    with pytest.raises(
        ToolError, match=r"no tool 'shell'\. The tools are: bash, edit, gh, glob, grep, read"
    ):
        await call("shell", {}, bench=bench)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read", {}, "`path`: Field required"),
        ("read", {"path": "a", "offset": 0}, r"`offset`: .*greater than or equal to 1 \(sent: 0\)"),
        ("read", {"path": "a", "lines": 3}, "`lines`: Extra inputs are not permitted"),
        ("read", {"path": "a\0b"}, "`path` holds a NUL character"),
        ("bash", {"command": "echo \udc80"}, "`command` holds half a character"),
        ("bash", {"command": ""}, "`command`"),
        ("bash", {"command": "x", "timeout": 9000}, "`timeout`.*1800"),
        ("glob", {"pattern": "!x"}, "`pattern`"),
        ("read", "path=a", "`input`"),
        ("read", None, "`input`"),
        ("write", {"path": "a", "content": "\ud800"}, "half a character"),
    ],
)
async def test_wrong_arguments_are_explained(bench, name, arguments, words):
    with pytest.raises(ToolError, match=words) as caught:
        await call(name, arguments, bench=bench)
    assert f"{name} cannot run with these arguments" in str(caught.value)
    assert "It takes: " in str(caught.value)


async def test_null_counts_as_absent(reading, put):
    put("a", "x")
    arguments = {"path": "a", "offset": None, "limit": None}
    assert await call("read", arguments, bench=reading) == "     1\tx"


async def test_whoever_watches_is_told_before_it_runs(bench, put):
    seen = []
    put("a.py", "a")
    await call("read", {"path": "a.py"}, bench=bench, watch=lambda *told: seen.append(told))
    await call(
        "bash",
        {"command": "\n\necho \x1b[31m\nsecond"},
        bench=bench,
        watch=lambda *t: seen.append(t),
    )
    assert seen == [("read", "a.py"), ("bash", "echo \\x1b[31m")]


async def test_a_refused_call_is_not_announced(reading):
    seen = []
    with pytest.raises(ToolError):
        await call("write", ARGUMENTS["write"], bench=reading, watch=lambda *t: seen.append(t))
    assert seen == []


def test_the_effect_is_known_by_name():
    assert gate.effect("read") is Effect.READ
    assert gate.effect("bash") is Effect.EXECUTE
    assert gate.effect("mcp_tracker_find") is Effect.READ
    assert gate.effect("submit_plan") is None


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


# --- no way around ------------------------------------------------------------------------------

AGENTS = Path(gate.__file__).parents[1]
MODULES = {
    path.relative_to(AGENTS.parent).as_posix(): ast.parse(path.read_text("utf-8"))
    for path in sorted(AGENTS.rglob("*.py"))
}
TOOL_MODULES = {tool.__module__ for tool in TOOLS}
OTHERS_THAT_RUN = {"tree", "session"}  # commands of the work tree, conversations


def used(module, kinds):
    return [part for part in ast.walk(module) if isinstance(part, kinds)]


def imports(module):
    parts = used(module, ast.ImportFrom)
    return {f"{part.module}.{alias.name}" for part in parts for alias in part.names} | {
        alias.name for part in used(module, ast.Import) for alias in part.names
    }


def test_only_the_gate_runs_a_tool():
    runs = {
        (path, ast.unparse(part.func))
        for path, module in MODULES.items()
        for part in used(module, ast.Call)
        if isinstance(part.func, ast.Attribute)
        and part.func.attr == "run"
        and ast.unparse(part.func.value).split(".")[-1] not in OTHERS_THAT_RUN
    }
    assert runs == {("agents/tools/gate.py", "tool.run")}, "tools run through gate.call"


def test_only_a_tool_calls_other_servers_and_only_the_gate_runs_it():
    callers = {
        path
        for path, module in MODULES.items()
        for part in used(module, ast.Call)
        if isinstance(part.func, ast.Attribute)
        and part.func.attr == "call"
        and ast.unparse(part.func.value).split(".")[-1] in ("toolsets", "_toolsets")
    }
    assert callers == {"agents/tools/mcp.py"}


def test_nobody_else_holds_a_tool():
    ways = {"agents.tools.TOOLS", "agents.tools.tool_named", "agents.tools.base.Tool"}
    ways.add("agents.tools.mcp.tool_class")
    modules = {f"{tool.__module__}" for tool in TOOLS}
    holders = {
        path
        for path, module in MODULES.items()
        for name in imports(module)
        if name in ways or name in modules or name.rpartition(".")[0] in modules
    }
    makers = {f"agents/tools/{tool.name}.py" for tool in TOOLS}
    makers |= {"agents/tools/__init__.py", "agents/tools/mcp.py"}
    judges = {"agents/tools/objections.py", "agents/tools/rules_policy.py"}
    assert holders - makers - judges == {"agents/tools/gate.py", "agents/loop/conversation.py"}
    conversation = MODULES["agents/loop/conversation.py"]  # hands their definitions to the model
    assert {part.attr for part in used(conversation, ast.Attribute)}.isdisjoint({"run"})


def test_no_method_is_called_by_a_name_in_a_string():
    reaching = {"getattr", "operator.methodcaller", "importlib.import_module", "__import__"}
    for path, module in MODULES.items():
        for part in used(module, ast.Call):
            if ast.unparse(part.func) in reaching:
                names = {a.value for a in part.args if isinstance(a, ast.Constant)}
                assert "run" not in names, path


def test_every_tool_is_in_the_list():
    assert {tool for tool in Tool.__subclasses__() if tool.__module__ in TOOL_MODULES} == set(TOOLS)
    assert sorted(TOOLS, key=lambda tool: tool.name) == list(TOOLS)
    files = {path.stem for path in (AGENTS / "tools").glob("*.py")}
    assert {tool.name for tool in TOOLS} <= files
