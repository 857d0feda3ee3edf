"""Step 8: the gate: decides about a tool call, and is the only way to run one.

The gate is the second line. The first is the sandbox, which holds whatever a command tries: it
has no network and no credentials, sees nothing of this machine but the work tree, and its `.git`
is a throw-away that nothing is ever fetched from. So git commands in bash that rewrite history or
talk to remotes need no rule here: they harm a copy, or fail. And what a command did to a protected
path is found when the work tree is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from agents.errors import ToolError
from agents.policy import Policy
from agents.text import printable
from agents.tools import TOOLS, tool_named
from agents.tools.base import Bench, Capability, Effect, Tool
from agents.tools.paths import leaves, names_git, unprintable
from agents.tools.room import cut
from agents.tools.schema import faults

__all__ = ["Capability", "Verdict", "call", "decide", "effect"]

Decision = Literal["allow", "ask", "deny"]
Watch = Callable[[str, str], None]

NARROW = "narrow the call to see the rest"
SUBJECT = 200  # characters of a call's subject in live views


@dataclass(frozen=True)
class Verdict:
    """What the gate says to a call: which rule decided, and why, in words for the model."""

    decision: Decision
    rule: str
    reason: str = ""


ALLOW = Verdict("allow", "default")


def effect(name: str) -> Effect | None:
    """Return what the tool of that name does to the work tree; None if there is no such tool."""
    tool = tool_named(name)
    return tool.effect if tool else None


def decide(tool: Tool, capability: Capability, policy: Policy) -> Verdict:
    """Return the verdict on a call. Pure: the same call and policy give the same verdict."""
    if tool.effect is Effect.WRITE and capability is Capability.READ_ONLY:
        return Verdict(
            "deny",
            "stage/read-only",
            "This stage only reads. Say in your submission what should be changed.",
        )
    for path in tool.paths():
        verdict = _place(path)
        if verdict is ALLOW and tool.effect is Effect.WRITE:
            verdict = _protection(path, policy)
        if verdict is not ALLOW:
            return verdict
    return ALLOW


async def call(name: str, arguments: Any, *, bench: Bench, watch: Watch | None = None) -> str:
    """Run the call if the gate allows it; return its result, bounded and printable.

    `watch` is told the tool and its subject before it runs. Raises ToolError, for the model, when
    there is no such tool, an argument is wrong, the gate refuses, or the tool cannot do it.
    """
    tool = _validated(name, arguments)
    _enforce(decide(tool, bench.capability, bench.policy))
    if watch is not None:
        watch(tool.name, printable(tool.subject())[:SUBJECT])
    return cut(printable(await tool.run(bench)), tool.room, NARROW)


# --- rules --------------------------------------------------------------------------------------


def _place(path: str) -> Verdict:
    """Judge where a path leads, whatever is done there."""
    if unprintable(path):
        return Verdict("deny", "path/characters", f"The path {path!r} holds invisible characters.")
    if leaves(path):
        return Verdict(
            "deny",
            "path/outside",
            f"{path} is outside the repository. Use a path relative to the repository's root; for"
            " scratch files use bash and /tmp within one command.",
        )
    if names_git(path):
        return Verdict(
            "deny", "path/git", f"{path} belongs to git. Use git commands in bash instead."
        )
    return ALLOW


def _protection(path: str, policy: Policy) -> Verdict:
    pattern = policy.protects(path)
    if pattern is None:
        return ALLOW
    return Verdict(
        "deny",
        "path/protected",
        f"The repository's policy protects {path} (pattern `{pattern}`): no run may change it."
        " Solve it without, or say in your submission what a person should change there.",
    )


# --- before and after ---------------------------------------------------------------------------


def _validated(name: str, arguments: Any) -> Tool:
    tool = tool_named(name)
    if tool is None:
        names = ", ".join(known.name for known in TOOLS)
        raise ToolError(f"There is no tool {name!r}. The tools are: {names}.")
    try:
        return tool.model_validate(arguments)
    except ValidationError as error:
        takes = ", ".join(tool.model_fields)
        raise ToolError(
            f"{name} cannot run with these arguments:\n{faults(error)}\nIt takes: {takes}."
        ) from error


def _enforce(verdict: Verdict) -> None:
    """Raise ToolError unless the verdict lets the call through."""
    if verdict.decision == "deny":
        raise ToolError(f"Refused by the rule {verdict.rule}. {verdict.reason}")
    if verdict.decision == "ask":
        raise ToolError(
            f"The rule {verdict.rule} wants a person to approve this, and this installation cannot"
            f" ask one during a run, so it was not done. {verdict.reason} Find another way, or say"
            " in your submission what is left for a person to do."
        )
