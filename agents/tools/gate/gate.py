"""Step 8: the gate: decides about a tool call, and is the only way to run one.

A call is allowed, refused, or left to a person. The order: what the gate's own rules deny, then
what the repository's policy denies, then what the policy, then what the gate's own rules leave to
people; anything else runs. So a policy can make the gate stricter, never weaker.

The gate is the second line. The first is the sandbox, which holds whatever a command tries: it
has no network and no credentials, and sees nothing of this machine but the work tree. That is why
programs that the gate does not know run: see `rules.py` for what is left to ask and to deny.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import Approval, ApprovalRequest, Network
from agents.text import printable, truncate
from agents.text.child_process import SHORT, Exhausted, run_in_child, weigh
from agents.tools.base import Bench, Capability, Effect, Tool
from agents.tools.gate.objections import Circumstances, list_objections
from agents.tools.gate.policy_rules import owners_word
from agents.tools.gate.rules import Finding, GateDecision
from agents.tools.mcp import Mcp, find_effects, tool_class
from agents.tools.registry import TOOLS, tool_named
from agents.tools.schema import describe_faults
from agents.tools.shell.known_install import KnownInstall, find_known_install

__all__ = [
    "Capability",
    "Verdict",
    "call",
    "decide",
    "find_effect",
    "judge",
    "judge_in_child",
    "require_grant",
]

WatchCall = Callable[[str, str], None]
Note = Callable[["Verdict"], None]

NARROW = "narrow the call to see the rest"
FETCHES, KNOWN, REFUSED = "dependency/new", "dependency/known", "dependency/refused"
GRANTED = "grant/plan"
_DECIDES = re.compile(
    r"(?:^|/)(?:package(?:-lock)?\.json|npm-shrinkwrap\.json|pnpm-(?:workspace|lock)\.yaml"
    r"|yarn\.lock|bun\.lockb?|\.npmrc|\.yarnrc(?:\.yml)?|bunfig\.toml|\.pnpmfile\.[cm]?js)$"
    r"|(?:^|/)\.yarn/"
)
_FIND_HOOKS = "find . -name node_modules -prune -o -name 'sitecustomize*' -print -quit"
_FIND_PLUGINS = (
    "find . -name node_modules -prune -o -name .yarnrc.yml -exec grep -l plugins {} +; exit 0"
)
_PLUGIN = (
    "A plugin that the repository's `.yarnrc.yml` names would run within Yarn, so nothing was"
    " installed. Go on without the package, and say in your submission that it is wanted."
)
_HOOK = (
    "A `sitecustomize.py` in the repository would run within pip, so nothing was installed. Move it"
    " away for this one command, or go on without the package."
)
SUBJECT = 200  # characters of a call's subject in live views
REASONS = 6  # that one verdict names


@dataclass(frozen=True)
class Verdict:
    """What the gate says to a call: which rule decided, and why."""

    decision: GateDecision
    rule: str
    reason: str = ""
    """For a deny, in words for the model; for an ask, in words for people."""
    paths: tuple[str, ...] = ()
    """Protected paths that the call would change: a yes to it is a yes to these."""
    fetches: bool = False
    """It installs something new: with a yes, and only then, it reaches the package indexes."""


ALLOW = Verdict("allow", "default")
UNREADABLE = Finding("shell/unreadable")


def find_effect(name: str) -> Effect | None:
    """Return what the tool of that name does to the work tree; None if there is no such tool."""
    tool = tool_named(name) or tool_class(name)
    return tool.effect if tool else None


def decide(call: Tool, policy: Policy, where: Circumstances) -> Verdict:
    """Return the verdict on a call. Pure: the same call and facts give the same verdict."""
    findings = [_weigh(each, policy) for each in list_objections(call, policy, where)]
    known = where.known if where.capability is not Capability.READ_ONLY else ""
    if known:
        findings = [each for each in findings if each.rule not in (FETCHES, REFUSED)]
    granted = [each for each in findings if where.grants and where.grants(each)]
    findings = [each for each in findings if each not in granted]
    denied = next((each for each in findings if each.built_in.decision == "deny"), None)
    if denied is not None:
        return Verdict("deny", denied.rule, denied.reason)
    owners = owners_word(policy, call)
    if owners is not None and owners.decision == "deny":
        return Verdict("deny", owners.id, owners.reason)
    if where.capability is Capability.READ_ONLY and any(f.built_in.changes for f in findings):
        return Verdict("deny", "stage/read-only", _reasons([Finding("stage/read-only"), *findings]))
    if owners is None and not findings:
        rule = known or (GRANTED if granted else ALLOW.rule)
        return Verdict("allow", rule, fetches=bool(known))
    paths = tuple(dict.fromkeys(path for each in findings for path in each.paths))
    fetches = bool(known) or any(each.rule == FETCHES for each in findings)
    if owners is not None:
        return Verdict("ask", owners.id, _reasons(findings, owners.reason), paths, fetches)
    return Verdict("ask", findings[0].rule, _reasons(findings), paths, fetches)


def judge(name: str, arguments: Any, *, bench: Bench) -> Verdict:
    """Return the verdict on a call, without running it.

    Raises ToolError, for the model, when there is no such tool or an argument is wrong.
    """
    tool = _validate(name, arguments, bench)
    return decide(tool, bench.policy, _look(tool, bench))


async def judge_in_child(name: str, arguments: Any, *, bench: Bench) -> Verdict:
    """Return the same, with a long script read beside the event loop.

    One that takes too much to be read is a person's to read.
    """
    return await _decide(_validate(name, arguments, bench), bench)


async def call(
    name: str,
    arguments: Any,
    *,
    bench: Bench,
    watch: WatchCall | None = None,
    note: Note | None = None,
    grant: Approval | None = None,
) -> str:
    """Run the call if the gate allows it; return its result, bounded and printable.

    `note` is told the verdict, whatever it is; `watch` the tool and its subject before it runs;
    `grant` is what a person decided on
    this very call. Raises ToolError, for the model, when there is no such tool, an argument is
    wrong, the gate refuses, or the tool cannot do it.
    """
    tool = _validate(name, arguments, bench)
    verdict = await _decide(tool, bench)
    if note is not None:
        note(verdict)
    if verdict.decision == "deny":
        raise ToolError(f"Refused by the rule {verdict.rule}. {verdict.reason}")
    if verdict.decision == "ask":
        require_grant(grant, verdict, name, arguments, bench)
    if watch is not None:
        watch(tool.name, printable(tool.subject())[:SUBJECT])
    if verdict.fetches and verdict.decision == "allow":
        tool = await _prepare_install(tool, bench)
    # An ask that fetches has its yes by now.
    network: Network = "indexes" if verdict.fetches else "none"
    result = await tool.run(replace(bench, network=network))
    return truncate(printable(result), tool.room, NARROW)


# --- before it runs -----------------------------------------------------------------------------


async def _decide(tool: Tool, bench: Bench) -> Verdict:
    try:
        return await run_in_child(
            tool.script() or "", decide, tool, bench.policy, _look(tool, bench)
        )
    except Exhausted:
        return Verdict("ask", UNREADABLE.rule, _reasons([UNREADABLE]))


def _look(tool: Tool, bench: Bench) -> Circumstances:
    return Circumstances(
        capability=bench.capability,
        stage=bench.stage,
        tainted=bench.tainted,
        effects=find_effects(tool.name, bench) if isinstance(tool, Mcp) else None,
        known=_find_rule_of_install(tool, bench),
        grants=bench.grant.covers if bench.grant else None,
    )


def _weigh(finding: Finding, policy: Policy) -> Finding:
    """Return the finding by the rule that the policy puts it under."""
    refused = finding.rule == FETCHES and policy.approvals.dependencies == "refuse"
    return replace(finding, rule=REFUSED) if refused else finding


def _find_rule_of_install(tool: Tool, bench: Bench) -> str:
    """Return by which rule the call may install without a yes of its own; empty: by none."""
    if _find_known_install(tool, bench, granted=False) is not None:
        return KNOWN
    return GRANTED if _find_known_install(tool, bench) is not None else ""


def _find_known_install(tool: Tool, bench: Bench, *, granted: bool = True) -> KnownInstall | None:
    """Return the install of known packages that the call is, and nothing else.

    `granted`: those that people granted with the plan are known as well.
    """
    script, known = tool.script(), bench.known
    if script is None or weigh(script) > SHORT:
        return None
    if granted and bench.grant is not None and known is not None:
        known = bench.grant.widen(known)
    return find_known_install(script, known)


async def _prepare_install(tool: Tool, bench: Bench) -> Tool:
    """Return the call that installs known packages without running what is theirs.

    npm installs whatever a manifest names by now, so that has to be the one that is known. Raises
    ToolError where it is another one.
    """
    install = _find_known_install(tool, bench)
    if install is None or bench.known is None:
        raise ToolError("This is no install of known packages any more.")
    if install.tool == "npm":
        await _require_own_manifests(bench, bench.known.commit, install.program)
        if install.program == "yarn":
            await _require_none(bench, _FIND_PLUGINS, _PLUGIN)
    else:
        await _require_none(bench, _FIND_HOOKS, _HOOK)
    return tool.model_copy(update={"command": install.script})


async def _require_own_manifests(bench: Bench, commit: str, program: str) -> None:
    changed = await bench.tree.list_changed_paths(commit, await bench.tree.snapshot())
    if manifests := [path for path in changed if _DECIDES.search(path)]:
        raise ToolError(
            f"`{manifests[0]}` is not what the default branch has, and {program} would go by"
            " what it says besides. Undo that for this one command, or name all new packages in one"
            " command that a person can approve."
        )


async def _require_none(bench: Bench, find: str, refusal: str) -> None:
    """Raise ToolError where the tree holds what runs within an installer, on its way to the index.

    `find`: what prints where it is.
    """
    found = await bench.tree.run(["bash", "-c", find], timeout=60, writable=False)
    if found.exit_code or found.output.strip():
        raise ToolError(refusal)


def require_grant(
    grant: Approval | None, verdict: Verdict, name: str, arguments: Any, bench: Bench
) -> None:
    """Raise ToolError unless a person has approved exactly this call, on this commit."""
    if grant is None:
        raise ToolError(
            f"The rule {verdict.rule} wants a person to approve this, and this run cannot ask one,"
            f" so it was not done. {verdict.reason} Find another way, or say in your submission"
            " what is left for a person to do."
        )
    exact = ApprovalRequest(
        call_id="",
        session="",
        stage=bench.stage,
        tool=name,
        arguments=arguments,
        rule=verdict.rule,
        reason=verdict.reason,
        head=bench.head,
    )
    if grant.state != "approved" or grant.binding != exact.binding:
        raise ToolError(
            f"The rule {verdict.rule} wants a person to approve this, and nobody has approved"
            " exactly this call on this state of the work, so it was not done. Go on without it."
        )


def _validate(name: str, arguments: Any, bench: Bench) -> Tool:
    offered = bench.tools is None or name in bench.tools
    tool = (tool_named(name) or _find_on_servers(name, bench)) if offered else None
    if tool is None:
        names = ", ".join(bench.tools or (known.name for known in TOOLS))
        raise ToolError(f"There is no tool {name!r}. The tools are: {names}.")
    try:
        return tool.model_validate(arguments)
    except ValidationError as error:
        takes = ", ".join(tool.model_fields)
        ending = f"\nIt takes: {takes}." if takes else ""
        raise ToolError(
            f"{name} cannot run with these arguments:\n{describe_faults(error)}{ending}"
        ) from error


def _find_on_servers(name: str, bench: Bench) -> type[Tool] | None:
    offered = bench.toolsets is not None and bench.toolsets.effects(name) is not None
    return tool_class(name) if offered else None


def _reasons(findings: Sequence[Finding], first: str = "") -> str:
    """Return every reason once: whoever decides should see all that speaks against it."""
    said = dict.fromkeys(
        reason for reason in (first, *(each.reason for each in findings)) if reason
    )
    shown = list(said)[:REASONS]
    more = len(said) - len(shown)
    return " ".join([*shown, f"And {more} more."] if more else shown)
