"""No way around the gate: nothing else in the agents runs a tool, or holds one."""

from __future__ import annotations

import ast
from pathlib import Path

from agents.tools.base import Tool
from agents.tools.gate import gate
from agents.tools.registry import TOOLS

AGENTS = Path(gate.__file__).parents[2]
MODULES = {
    path.relative_to(AGENTS.parent).as_posix(): ast.parse(path.read_text("utf-8"))
    for path in sorted(AGENTS.rglob("*.py"))
}
TOOL_MODULES = {tool.__module__ for tool in TOOLS}
OTHERS_THAT_RUN = {"tree", "session", "process"}  # commands, conversations, readers of long texts


def find_parts(module, kinds):
    return [part for part in ast.walk(module) if isinstance(part, kinds)]


def imports(module):
    parts = find_parts(module, ast.ImportFrom)
    return {f"{part.module}.{alias.name}" for part in parts for alias in part.names} | {
        alias.name for part in find_parts(module, ast.Import) for alias in part.names
    }


def test_only_the_gate_runs_a_tool():
    runs = {
        (path, ast.unparse(part.func))
        for path, module in MODULES.items()
        for part in find_parts(module, ast.Call)
        if isinstance(part.func, ast.Attribute)
        and part.func.attr == "run"
        and ast.unparse(part.func.value).split(".")[-1] not in OTHERS_THAT_RUN
    }
    assert runs == {("agents/tools/gate/gate.py", "tool.run")}, "tools run through gate.call"


def test_only_a_tool_calls_other_servers_and_only_the_gate_runs_it():
    callers = {
        path
        for path, module in MODULES.items()
        for part in find_parts(module, ast.Call)
        if isinstance(part.func, ast.Attribute)
        and part.func.attr == "call"
        and ast.unparse(part.func.value).split(".")[-1] in ("toolsets", "_toolsets")
    }
    assert callers == {"agents/tools/mcp.py"}


def test_nobody_else_holds_a_tool():
    ways = {f"agents.tools.registry.{name}" for name in ("TOOLS", "tool_named")}
    ways |= {"agents.tools.base.Tool", "agents.tools.mcp.tool_class"}
    modules = {f"{tool.__module__}" for tool in TOOLS}
    holders = {
        path
        for path, module in MODULES.items()
        for name in imports(module)
        if name in ways or name in modules or name.rpartition(".")[0] in modules
    }
    makers = {f"agents/tools/{tool.name}.py" for tool in TOOLS}
    makers |= {"agents/tools/registry.py", "agents/tools/mcp.py"}
    judges = {"agents/tools/gate/objections.py", "agents/tools/gate/policy_rules.py"}
    assert holders - makers - judges == {"agents/tools/gate/gate.py", "agents/loop/conversation.py"}
    conversation = MODULES["agents/loop/conversation.py"]  # hands their definitions to the model
    assert {part.attr for part in find_parts(conversation, ast.Attribute)}.isdisjoint({"run"})


def test_no_method_is_called_by_a_name_in_a_string():
    reaching = {"getattr", "operator.methodcaller", "importlib.import_module", "__import__"}
    for path, module in MODULES.items():
        for part in find_parts(module, ast.Call):
            if ast.unparse(part.func) in reaching:
                names = {a.value for a in part.args if isinstance(a, ast.Constant)}
                assert "run" not in names, path


def test_every_tool_is_in_the_list():
    assert {tool for tool in Tool.__subclasses__() if tool.__module__ in TOOL_MODULES} == set(TOOLS)
    assert sorted(TOOLS, key=lambda tool: tool.name) == list(TOOLS)
    files = {path.stem for path in (AGENTS / "tools").glob("*.py")}
    assert {tool.name for tool in TOOLS} <= files
