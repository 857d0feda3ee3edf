"""What the gate's built-in rules find wrong with a call, tool by tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agents.policy import Policy
from agents.ports import ToolEffects
from agents.tools.base import Capability, Effect, Tool
from agents.tools.gate.rules import Finding
from agents.tools.mcp import is_permitted
from agents.tools.paths import is_unprintable, leaves, names_git
from agents.tools.shell.judge import judge, report_protected
from agents.tools.shell.script import read
from agents.tools.webfetch import is_listed


@dataclass(frozen=True)
class Circumstances:
    """What the gate has to know beside the call and the policy."""

    capability: Capability
    stage: str = ""
    """The stage's name, like `triage`."""
    tainted: bool = False
    """Somebody who may not write to the repository has a say in this session."""
    effects: ToolEffects | None = None
    """What a call of another server's tool may do; None for our own tools."""
    known: str = ""
    """By which rule the call installs what needs no yes, and does nothing else; empty: it does
    not."""
    grants: Callable[[Finding], bool] | None = None
    """Says whether a finding is about what people granted the run with its plan."""


def list_objections(call: Tool, policy: Policy, where: Circumstances) -> Iterator[Finding]:
    """Yield everything that speaks against the call, in no order of weight."""
    writes = call.effect is Effect.WRITE
    if writes and where.capability is Capability.READ_ONLY:
        yield Finding("stage/read-only")
    for path in call.paths():
        yield from _judge_place(path, policy, writes=writes)
    if (script := call.script()) is not None:
        yield from judge(read(script), policy)
    for host in call.hosts():
        yield from _judge_web(host, call, policy, where)
    if where.effects is not None:
        yield from _judge_mcp(call, where.effects, policy, where)


def _judge_place(path: str, policy: Policy, *, writes: bool) -> Iterator[Finding]:
    """Judge where a path of a file tool leads."""
    if is_unprintable(path):
        yield Finding("path/characters", repr(path))
    elif leaves(path):
        yield Finding("path/outside", path)
    elif names_git(path):
        yield Finding("path/git", path)
    elif writes and (pattern := policy.protects(path)):
        yield report_protected(path, pattern)


def _judge_web(host: str, call: Tool, policy: Policy, where: Circumstances) -> Iterator[Finding]:
    """Judge an address: what is asked for leaves this machine with it."""
    if not is_listed(host, policy):
        yield Finding("web/unlisted", call.subject())
    elif where.tainted and call.leaves():
        yield Finding("web/carries", call.subject())


def _judge_mcp(
    call: Tool, effects: ToolEffects, policy: Policy, where: Circumstances
) -> Iterator[Finding]:
    """Judge a call of another server; one that runs in the sandbox is held by it like a command."""
    if not is_permitted(policy, where.stage, call.name):
        yield Finding("mcp/unlisted", call.name)
    elif effects.outside and not effects.only_reads:
        yield Finding("mcp/acts", call.name)
    elif effects.outside and where.tainted:
        yield Finding("mcp/carries", call.name)
