"""The gate: what it refuses, what it says, and that there is no way around it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ToolError
from agents.policy import Policy
from agents.tools import TOOLS, gate, tool_named
from agents.tools.base import Capability, Effect, Tool
from agents.tools.gate import Verdict, call, decide

CHANGE, READ_ONLY = Capability.CHANGE, Capability.READ_ONLY
ARGUMENTS = {
    "bash": {"command": "git push --force; rm -rf ."},
    "edit": {"path": "a.py", "old": "a", "new": "b"},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "a"},
    "read": {"path": "a.py"},
    "write": {"path": "a.py", "content": ""},
}


def tool(name, **arguments):
    return tool_named(name).model_validate(ARGUMENTS[name] | arguments)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_stage_that_changes_may_use_every_tool(name):
    assert decide(tool(name), CHANGE, Policy()).decision == "allow"


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_stage_that_reads_may_not_write(name):
    verdict = decide(tool(name), READ_ONLY, Policy())
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
    "path",
    [
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        "./.github//workflows/deep/ci.yml",
        "x/../.github/workflows/ci.yml",
        "docs/CODEOWNERS",
        ".gitmodules",
        "sub/agents.md",
    ],
)
def test_protected_paths_can_be_read_but_not_written(path):
    assert decide(tool("read", path=path), CHANGE, Policy()).decision == "allow"
    for name in ("edit", "write"):
        assert decide(tool(name, path=path), CHANGE, Policy()).rule == "path/protected"


def test_the_repository_says_what_is_protected():
    policy = Policy(protected_paths=("src/generated/**",))
    assert decide(tool("write", path="src/generated/a.py"), CHANGE, policy).decision == "deny"
    assert (
        decide(tool("write", path=".github/workflows/ci.yml"), CHANGE, policy).decision == "allow"
    )


# --- calling ------------------------------------------------------------------------------------


async def test_a_refusal_names_its_rule_and_what_to_do(reading, put):
    file = put("a.py", "a")
    with pytest.raises(ToolError, match=r"rule stage/read-only.*Say in your submission"):
        await call("edit", ARGUMENTS["edit"], bench=reading)
    assert file.read_text() == "a"


async def test_a_protected_file_stays(bench, put):
    file = put(".github/workflows/ci.yml", "a")
    with pytest.raises(
        ToolError, match=r"protects \.github/workflows/ci\.yml \(pattern `\.github/wo"
    ):
        await call("write", {"path": ".github/workflows/ci.yml", "content": "b"}, bench=bench)
    assert file.read_text() == "a"


async def test_what_a_person_would_have_to_approve_is_not_done(bench, monkeypatch, put):
    file = put("a.py", "a")
    asked = Verdict("ask", "dependency/new", "It adds a dependency.")
    monkeypatch.setattr(gate, "decide", lambda *_: asked)
    with pytest.raises(
        ToolError, match=r"dependency/new wants a person to approve.*so it was not done"
    ):
        await call("write", ARGUMENTS["write"], bench=bench)
    assert file.read_text() == "a"


async def test_an_unknown_tool_is_answered_with_the_known_ones(bench):
    with pytest.raises(
        ToolError, match=r"no tool 'shell'\. The tools are: bash, edit, glob, grep, read"
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


def test_nobody_else_holds_a_tool():
    ways = {"agents.tools.TOOLS", "agents.tools.tool_named", "agents.tools.base.Tool"}
    modules = {f"{tool.__module__}" for tool in TOOLS}
    holders = {
        path
        for path, module in MODULES.items()
        for name in imports(module)
        if name in ways or name in modules or name.rpartition(".")[0] in modules
    }
    makers = {f"agents/tools/{tool.name}.py" for tool in TOOLS} | {"agents/tools/__init__.py"}
    assert holders - makers == {"agents/tools/gate.py", "agents/loop/conversation.py"}
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
