"""What is stated of a change: by which models it was made, how it was checked, who agreed to what.

All of it is taken from the run's own records. An in-toto statement:
https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.ports import Json, Usage
from agents.requests import Request
from app.attestation.stages import DeliveredStage
from app.records.approvals import StoredApproval
from app.store.runs.history import KeptTurn

STATEMENT = "https://in-toto.io/Statement/v1"
CHANGE = "urn:fettle:change:v1"
_BEFORE = ("baseline", "base")
"""Where records keep what was run before the change."""
"""The type of the predicate; a later version that means something else gets another number."""


@dataclass(frozen=True)
class Evidence:
    """The records of one run whose commits were pushed."""

    run_id: str
    request: Request
    version: str
    """Of Fettle."""
    commit: str
    tree: str
    base: str
    """What the change was compared with."""
    pull_request: int
    policy: bytes | None
    """The policy file that the run was held to; None: the repository has none."""
    stages: Sequence[DeliveredStage]
    signed: Mapping[str, str]
    """The id of each commit that was made again to be signed, by the one that was checked."""
    turns: Sequence[KeptTurn]
    """With their contents."""
    approvals: Sequence[StoredApproval]
    spent: tuple[Usage, float, int]
    """Tokens, dollars, answers of models."""


def build_statement(evidence: Evidence) -> dict[str, Any]:
    """Return the statement: the same for the same records, byte for byte."""
    request, stages, signed = evidence.request, evidence.stages, evidence.signed
    usage, usd, answers = evidence.spent
    return {
        "_type": STATEMENT,
        "subject": [
            {
                "name": f"{request.repository.full_name}#{evidence.pull_request}",
                "digest": {"gitCommit": evidence.commit, "gitTree": evidence.tree},
            }
        ],
        "predicateType": CHANGE,
        "predicate": {
            "fettle": evidence.version,
            "run": evidence.run_id,
            "request": {
                "kind": request.kind,
                "reference": request.reference,
                "asked_by": request.asked_by.login,
                "repository_id": request.repository.id,
            },
            "base": evidence.base,
            "policy": hash_bytes(evidence.policy) if evidence.policy is not None else None,
            "sessions": list(_list_sessions(evidence.turns)),
            "stages": {each.occurrence: _hash(each.output) for each in stages},
            "checks": [
                {**found, "commit": signed.get(found["commit"], found["commit"])}
                for each in stages
                for found in _find(each.occurrence, each.output)
            ],
            "approvals": [_describe(each) for each in evidence.approvals],
            "cost": {"usd": round(usd, 6), "answers": answers, "tokens": usage.model_dump()},
        },
    }


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of the bytes, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _hash(value: Json) -> str:
    return hash_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def _list_sessions(turns: Sequence[KeptTurn]) -> Iterator[dict[str, Any]]:
    """Yield each conversation: its models, what it began with, and all that was said, as hashes."""
    by_session: dict[str, list[KeptTurn]] = {}
    for turn in sorted(turns, key=lambda each: (each.session, each.number)):
        by_session.setdefault(turn.session, []).append(turn)
    for session, said in by_session.items():
        heads = [turn.content for turn in said if turn.kind == "head" and turn.content]
        models = dict.fromkeys(str(content[0].get("model", "")) for content in heads)
        yield {
            "session": session,
            "models": list(models),
            "prompts": [_hash(content) for content in heads],
            "turns": _hash([[turn.kind, turn.content] for turn in said]),
        }


def _find(stage: str, value: Json, commit: str = "") -> Iterator[dict[str, Any]]:
    """Yield the commands that a stage's output tells of, each with how it ended and its log.

    `commit`: on which they were run, so far as the record says; what was run before the change
    stands in a record of its own, which names none.
    """
    if isinstance(value, Mapping):
        named = value.get("commit")
        commit = named if isinstance(named, str) else commit
        if isinstance(value.get("command"), str) and isinstance(value.get("exit_code"), int):
            output = value.get("output")
            yield {
                "stage": stage,
                "commit": commit,
                "command": value["command"],
                "exit_code": value["exit_code"],
                "log": hash_bytes(output.encode()) if isinstance(output, str) else None,
            }
        for name, inner in value.items():
            yield from _find(stage, inner, "" if name in _BEFORE else commit)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _find(stage, inner, commit)


def _describe(approval: StoredApproval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "act": approval.tool,
        "binding": approval.binding,
        "state": approval.state,
        "by": approval.decided_by,
        "by_id": approval.decided_by_id,
        "via": approval.decided_via,
        "at": approval.decided_at,
    }
