"""The turns of a run, bounded, each with what it changed in the files, if that is still there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from agents.errors import RunError
from agents.ports import Block, Ruling
from app.git import Mirror, run_refs
from app.secrets.redaction import Redactor
from app.store.runs import KeptTurn
from app.views.rulings import describe_ruling
from app.views.text import cut, redact, spell_content

MOST_TEXT = 4_000  # characters of each text
MOST_CALL = 12_000  # characters of each call
MOST_DIFF = 20_000  # characters of each diff

_NO_MIRROR = "the mirror of the repository is not on this machine, or was removed"
_NO_BASE = "nothing tells any more what the files were before it"
_GONE = "it is no longer kept: once a run has ended well, git may drop what it went through"


async def shown_turns(
    run_id: str,
    turns: Sequence[KeptTurn],
    mirror: Mirror | None,
    base: str | None,
    redactor: Redactor,
    *,
    before: str | None = None,
) -> list[dict[str, Any]]:
    """Return the turns for people and for JSON, secrets and all that is too long left out.

    `base` is the commit that the work stands on, when something but the mirror tells it; `before`
    the tree before these turns, where they are not the first.
    """
    before = before or await _base(run_id, mirror) or base
    # Texts of strangers, as long as they like: a thread looks for secrets in them.
    told = await asyncio.to_thread(lambda: [_describe(turn, redactor) for turn in turns])
    shown = []
    for turn, described in zip(turns, told, strict=True):
        diff = None
        if turn.tree is not None and turn.tree != before:
            diff = await _diff(mirror, before, turn.tree, redactor)
            before = turn.tree
        shown.append({**described, "diff": diff})
    return shown


def _describe(turn: KeptTurn, redactor: Redactor) -> dict[str, Any]:
    blocks = None
    if turn.content is not None:
        with suppress(RecursionError):  # nested deeper than anything that a model writes
            told = {name: _describe_ruling(each) for name, each in (turn.rulings or {}).items()}
            rulings = redact(told, redactor)
            blocks = [_block(block, rulings) for block in redact(turn.content, redactor)]
    return {
        "session": turn.session,
        "number": turn.number,
        "stage": turn.stage,
        "kind": turn.kind,
        "at": turn.at,
        "seconds": round(turn.seconds, 3),
        "usd": turn.usd,
        "tokens": turn.usage.model_dump() if turn.kind == "answer" else None,
        "content": blocks,
        "tree": turn.tree,
    }


def _describe_ruling(ruling: Ruling) -> dict[str, str]:
    return {**asdict(ruling), "words": describe_ruling(ruling)}


def _block(block: Block, rulings: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    kind = str(block.get("type"))
    if kind == "tool_use":
        return {"type": kind, "tool": str(block.get("name")), "arguments": _short(block)}
    if kind == "tool_result":
        text, error = spell_content(block.get("content")), bool(block.get("is_error"))
        ruling = rulings.get(str(block.get("tool_use_id")))
        return {"type": kind, "text": cut(text, MOST_TEXT), "is_error": error, "ruling": ruling}
    if kind == "head":  # the texts are long, and the same ones for every run of a version
        return {
            "type": kind,
            "text": f"the model {block.get('model')}, its system prompt and tools",
        }
    if kind == "compaction":  # what the server summed the conversation up in
        return {"type": "text", "text": cut(str(block.get("content") or ""), MOST_TEXT)}
    if kind in ("text", "thinking"):
        return {"type": kind, "text": cut(str(block.get(kind) or ""), MOST_TEXT)}
    return {"type": cut(kind, 40), "text": "(not shown)"}


def _short(call: Block) -> Any:
    """Return the arguments of a call with long texts cut; the whole as text if it is too much."""
    arguments = call.get("input")
    if isinstance(arguments, dict):
        arguments = {name: _short_text(value) for name, value in arguments.items()}
    text = json.dumps(arguments, ensure_ascii=False)
    return arguments if len(text) <= MOST_CALL else cut(text, MOST_CALL)


def _short_text(value: Any) -> Any:
    return cut(value, MOST_TEXT) if isinstance(value, str) else value


# --- what changed -------------------------------------------------------------------------------


async def _base(run_id: str, mirror: Mirror | None) -> str | None:
    """Return what the run's hidden ref names as its base, while it is there."""
    with suppress(RunError):
        return await mirror.resolve(f"{run_refs(run_id)}/base") if mirror else None
    return None


async def _diff(
    mirror: Mirror | None, before: str | None, after: str, redactor: Redactor
) -> dict[str, Any]:
    """Return what differs between two checkpoints, or why nobody can say."""
    found: dict[str, Any] = {"from": before, "to": after, "text": None, "missing": None}
    if mirror is None:
        return {**found, "missing": _NO_MIRROR}
    if before is None:
        return {**found, "missing": _NO_BASE}
    try:
        if not (await mirror.holds(before) and await mirror.holds(after)):
            return {**found, "missing": _GONE}
        text = await mirror.diff(before, after)
    except RunError as error:
        return {**found, "missing": redactor.clean(str(error))}
    return {**found, "text": cut(redactor.clean(text), MOST_DIFF)}
