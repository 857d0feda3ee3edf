"""A run in the Agent Trajectory Interchange Format, for other programs that read what agents did.

The run is the root; each of its sessions is a trajectory of its own in it, since each is a
conversation of its own. https://www.harborframework.com/docs/trajectory-format
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from agents.loop.head import unpack_head
from agents.ports import Block, Usage
from app.secrets.redaction import Redactor
from app.store.runs import KeptRun, KeptTurn
from app.views.text import redact, spell_content

SCHEMA = "ATIF-v1.7"
DAMAGED = "The record is damaged: it no longer says what was said."


def build_trajectory(run: KeptRun, turns: Sequence[KeptTurn], redactor: Redactor) -> dict[str, Any]:
    """Return the run with all of its turns, as JSON values without secrets."""
    sessions: dict[str, list[KeptTurn]] = {}
    for turn in turns:
        sessions.setdefault(turn.session, []).append(turn)
    asked = _step(run.created_at, "user", run.title or run.reference)
    steps = [asked, *(_refer(name, said) for name, said in sessions.items())]
    made = {
        "schema_version": SCHEMA,
        "session_id": run.id,
        "agent": {"name": "fettle", "version": version("fettle")},
        "steps": _number(steps),
        "final_metrics": {
            **_sum_up(turns),
            "total_steps": len(steps),
        },
        "extra": {"reference": run.reference, "kind": run.kind, "state": run.state},
        "subagent_trajectories": [_describe(run, name, said) for name, said in sessions.items()],
    }
    cleaned: dict[str, Any] = redact(made, redactor)
    return cleaned


def _refer(session: str, turns: Sequence[KeptTurn]) -> dict[str, Any]:
    """Return the step of the root in which code began a session; no model was asked for it."""
    reference = {"trajectory_id": session}
    return {
        **_step(turns[0].at, "agent", session),
        "llm_call_count": 0,
        "observation": {"results": [{"subagent_trajectory_ref": [reference]}]},
    }


def _describe(run: KeptRun, session: str, turns: Sequence[KeptTurn]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = []
    for turn in turns:
        if turn.kind == "results" and steps and steps[-1]["source"] == "agent":
            steps[-1]["observation"] = _observe(turn, steps[-1].get("tool_calls") or ())
        else:
            steps.append(_tell(turn))
    return {
        "schema_version": SCHEMA,
        "session_id": run.id,
        "trajectory_id": session,
        "agent": _describe_agent(session, turns),
        "steps": _number(steps),
        "final_metrics": {**_sum_up(turns), "total_steps": len(steps)},
    }


def _tell(turn: KeptTurn) -> dict[str, Any]:
    """Return what was said in a turn; `extra` names it as the pages do."""
    extra = {"stage": turn.stage, "turn": turn.number}
    if turn.kind == "head":
        words = str(_read_head(turn).get("system") or DAMAGED)
        return {**_step(turn.at, "system", words), "extra": extra}
    words = DAMAGED if turn.content is None else _join(turn.content, "text")
    if turn.kind != "answer":
        return {**_step(turn.at, "user", words), "extra": extra}
    calls = [_call(block) for block in turn.content or [] if block.get("type") == "tool_use"]
    thought = _join(turn.content or [], "thinking")
    return {
        **_step(turn.at, "agent", words),
        **({"reasoning_content": thought} if thought else {}),
        **({"tool_calls": calls} if calls else {}),
        "metrics": _measure(turn),
        "llm_call_count": 1,
        "extra": {**extra, "seconds": round(turn.seconds, 3)},
    }


def _step(at: float, source: str, message: str) -> dict[str, Any]:
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return {"timestamp": moment, "source": source, "message": message}


def _number(steps: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]


def _describe_agent(session: str, turns: Sequence[KeptTurn]) -> dict[str, Any]:
    """Return the model and the tools that the session was begun with."""
    made: dict[str, Any] = {"name": session.partition("/")[0], "version": version("fettle")}
    head = next((_read_head(turn) for turn in turns if turn.kind == "head"), {})
    if head:
        tools = [
            {
                "type": "function",
                "function": {
                    "name": str(tool.get("name")),
                    "description": str(tool.get("description") or ""),
                    "parameters": tool.get("input_schema") or {},
                },
            }
            for tool in head.get("tools") or ()
        ]
        made |= {"model_name": str(head.get("model")), "tool_definitions": tools}
    return made


def _read_head(turn: KeptTurn) -> dict[str, Any]:
    """Return what a head keeps; nothing of a damaged one."""
    with suppress(KeyError, TypeError, ValueError, zlib.error):
        return unpack_head(turn.content or [])
    return {}


def _join(content: Iterable[Block], kind: str) -> str:
    return "\n\n".join(str(each.get(kind) or "") for each in content if each.get("type") == kind)


def _call(block: Block) -> dict[str, Any]:
    given = block.get("input")
    return {
        "tool_call_id": str(block.get("id")),
        "function_name": str(block.get("name")),
        "arguments": given if isinstance(given, dict) else {"input": given},
    }


def _observe(turn: KeptTurn, calls: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the calls gave, and what the model was told beside it."""
    known = {call["tool_call_id"] for call in calls}
    results: list[dict[str, Any]] = []
    for block in turn.content or []:
        if block.get("type") == "tool_result":
            named = str(block.get("tool_use_id"))
            of = {"source_call_id": named} if named in known else {}
            results.append({**of, "content": spell_content(block.get("content"))})
        elif block.get("type") == "text":
            results.append({"content": str(block.get("text") or "")})
    return {"results": results or [{"content": DAMAGED}]}


def _measure(turn: KeptTurn) -> dict[str, Any]:
    usage = turn.usage
    return {
        "prompt_tokens": _prompt_tokens(usage),
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "cost_usd": turn.usd,
    }


def _sum_up(turns: Iterable[KeptTurn]) -> dict[str, Any]:
    answers = [turn for turn in turns if turn.kind == "answer"]
    usage = sum((turn.usage for turn in answers), Usage())
    return {
        "total_prompt_tokens": _prompt_tokens(usage),
        "total_completion_tokens": usage.output,
        "total_cached_tokens": usage.cache_read,
        "total_cost_usd": round(sum(turn.usd for turn in answers), 6),
    }


def _prompt_tokens(usage: Usage) -> int:
    return usage.input + usage.cache_write_5m + usage.cache_write_1h + usage.cache_read
