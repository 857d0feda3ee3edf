"""Recorded tool calls, held against two policies: what the gate says to each, and by which rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.errors import ConfigError
from agents.loop.turns import calls_of, heard_outsiders, submits
from agents.pipelines.registry import PIPELINES
from agents.policy import Policy, parse_policy, rule_lines
from agents.ports import ToolEffects, Turn
from agents.tools.base import Capability, Tool
from agents.tools.gate import gate
from agents.tools.gate.objections import Circumstances
from agents.tools.gate.rules import source_lines
from agents.tools.mcp import Mcp, tool_class
from agents.tools.registry import tool_named

RulingChange = Literal["same", "weaker", "stricter", "other rule"]

RULES_FILE = "agents/tools/gate/rules.py"
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
_WORST = ToolEffects(only_reads=False, outside=True)  # of other servers' tools nothing is recorded


class RecordedCall(BaseModel):
    """One tool call, and the circumstances that the gate looks at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str
    arguments: dict[str, Any]
    stage: str = ""
    """Like `implement`, or `implement/2`."""
    capability: Capability = Capability.CHANGE
    tainted: bool = False
    """Somebody who may not write to the repository had a say by then."""
    run: str = Field(default="", exclude=True)


@dataclass(frozen=True)
class Rulebook:
    """A policy, with the text and the file that it stands in."""

    policy: Policy
    file: str
    text: bytes | None

    @classmethod
    def parse(cls, text: bytes | None, file: str) -> Rulebook:
        """Return the policy in these bytes. Raises PolicyInvalid."""
        return cls(parse_policy(text), file, text)

    def place(self, rule: str) -> tuple[str, int]:
        """Return file and line of a rule: in the policy, or in Fettle's source."""
        lines = rule_lines(self.text) if self.text and rule.startswith("policy/") else {}
        if rule in lines:
            return self.file, lines[rule]
        return RULES_FILE, source_lines()[rule]


@dataclass(frozen=True)
class ReplayedVerdict:
    """A verdict, and where its rule stands."""

    verdict: gate.Verdict
    file: str
    line: int

    def record(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        verdict = self.verdict
        told = {"decision": verdict.decision, "rule": verdict.rule, "reason": verdict.reason}
        return told | {"file": self.file, "line": self.line}


@dataclass(frozen=True)
class Compared:
    """What two policies make of one call."""

    call: RecordedCall
    subject: str
    before: ReplayedVerdict
    after: ReplayedVerdict

    @property
    def change(self) -> RulingChange:
        """Return what the new policy makes of it."""
        old, new = self.before.verdict, self.after.verdict
        step = _STRENGTH[new.decision] - _STRENGTH[old.decision]
        if step:
            return "stricter" if step > 0 else "weaker"
        return "same" if new.rule == old.rule else "other rule"

    def record(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        call = self.call.model_dump(mode="json")
        verdicts = {"before": self.before.record(), "after": self.after.record()}
        return call | {"run": self.call.run, "change": self.change} | verdicts


def compare(
    calls: Iterable[RecordedCall], before: Rulebook, after: Rulebook
) -> tuple[list[Compared], int]:
    """Return what the policies make of each call, and how many were none that could run."""
    found, unusable = [], 0
    for call in calls:
        tool = _tool(call)
        if tool is None:
            unusable += 1
        else:
            said = (_judge(tool, call, book) for book in (before, after))
            found.append(Compared(call, tool.subject(), *said))
    return found, unusable


def _tool(call: RecordedCall) -> Tool | None:
    kind = tool_named(call.tool) or tool_class(call.tool)
    try:
        return kind.model_validate(call.arguments) if kind else None
    except ValidationError:
        return None


def _judge(tool: Tool, call: RecordedCall, book: Rulebook) -> ReplayedVerdict:
    where = Circumstances(
        capability=call.capability,
        stage=call.stage.split("/")[0],
        tainted=call.tainted,
        effects=_WORST if isinstance(tool, Mcp) else None,
    )
    verdict = gate.decide(tool, book.policy, where)
    return ReplayedVerdict(verdict, *book.place(verdict.rule))


# --- where calls come from ----------------------------------------------------------------------


def calls_in(file: Path) -> list[RecordedCall]:
    """Return the calls in a file, one JSON object a line. Raises ConfigError, saying the line."""
    found = []
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The calls cannot be read from `{file}`: {error}.") from error
    for number, line in enumerate(lines, 1):
        try:
            found += [RecordedCall.model_validate(json.loads(line))] if line.strip() else []
        except ValueError as error:  # a ValidationError is one, too
            what = "; ".join(str(error).split("\n")[:3])
            raise ConfigError(
                f"Line {number} of `{file}` is no call: {what}. Write"
                ' {"tool": "bash", "arguments": {"command": "make"}, "stage": "implement"}.'
            ) from error
    return found


def calls_of_session(run: str, turns: Sequence[Turn]) -> Iterator[RecordedCall]:
    """Yield the tool calls of a conversation in their order.

    Whether strangers had a say is known as far as the conversation shows it: from the first call
    on that read what anybody may have written.
    """
    for number, turn in enumerate(turns):
        for call in calls_of(turn) if turn.kind == "answer" else ():
            if not submits(call) and isinstance(call["input"], dict):
                yield RecordedCall(
                    tool=call["name"],
                    arguments=call["input"],
                    stage=turn.stage,
                    capability=_capabilities().get(turn.stage.split("/")[0], Capability.CHANGE),
                    tainted=heard_outsiders(turns[:number]),
                    run=run,
                )


@cache
def _capabilities() -> Mapping[str, Capability]:
    """Return what each stage may do, by its name."""
    return {
        conversation.name: conversation.capability
        for pipeline in PIPELINES.values()
        for conversation in pipeline.conversations
    }
