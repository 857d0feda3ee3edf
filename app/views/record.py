"""A run as one JSON value: what is printed with --json, and what people are shown of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.git import Mirror
from app.records.approvals import StoredApproval
from app.secrets.redaction import Redactor
from app.store.alerts import Remediation
from app.store.runs import History, KeptRun
from app.views.rulings import sum_rulings
from app.views.text import redact
from app.views.timeline import base_of, has_heard_outsiders, order_stages, stage_of
from app.views.turns import shown_turns


def describe_run(run: KeptRun, redactor: Redactor, *, short: str, clone: bool) -> dict[str, Any]:
    """Return what a run is and where it stands. `short` is the id that people are shown."""
    record = {
        "id": run.id,
        "short": short,
        "repository": run.repository,
        "number": run.number or None,
        "reference": run.reference,
        "kind": run.kind,
        "title": run.title,
        "state": run.state,
        "stage": stage_of(run.stage) or run.stage or None,
        "asked_by": run.asked_by,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "answers": run.answers,
        "usd": round(run.usd, 6),
        "clone": clone,
        "outcome": run.outcome.model_dump(mode="json") if run.outcome else None,
    }
    return {name: redact(value, redactor) for name, value in record.items()}


def alerts(came_to: Remediation | None) -> dict[str, Any]:
    """Return what became of the alerts that the run was about; nothing for other runs."""
    if came_to is None:
        return {}
    found = {
        "state": came_to.state,
        "found": sorted(came_to.found),
        "open": list(came_to.open_alerts),
        "pull_request": came_to.number or None,
        "merged_at": came_to.merged_at,
        "told_at": came_to.told_at,
        "closed_at": came_to.settled_at,
    }
    return {"alerts": found}


def describe_fix(came_to: Remediation, run: KeptRun, redactor: Redactor) -> dict[str, Any]:
    """Return what became of the alerts of one package, with the run that looked at them."""
    record = {
        **alerts(came_to)["alerts"],
        "run": run.id,
        "about": run.reference,
        "repository": run.repository,
        "severity": run.severity or None,
        "at": came_to.ended_at,
        "override_until": came_to.override_until,
    }
    return {name: redact(value, redactor) for name, value in record.items()}


async def details(
    run: KeptRun, history: History, redactor: Redactor, *, turns: bool, mirror: Mirror | None
) -> dict[str, Any]:
    """Return stages, approvals and, if they are wanted, turns; `mirror` has their files."""
    said, steps = await history.turns(run.id, content=turns), await history.steps(run.id)
    asked = await history.approvals(run.id)
    found: dict[str, Any] = {
        "stages": [redact(each.describe(run), redactor) for each in order_stages(run, said, steps)],
        "approvals": [describe_approval(each, redactor) for each in asked],
        "heard_outsiders": has_heard_outsiders(steps),
        "rules": [redact(asdict(each), redactor) for each in sum_rulings(said)],
    }
    if turns:
        found["turns"] = await shown_turns(run.id, said, mirror, base_of(steps), redactor)
    return found


def describe_approval(stored: StoredApproval, redactor: Redactor) -> dict[str, Any]:
    """Return what was asked and what was decided."""
    asking = stored.asking
    record = {
        "id": stored.id,
        "session": asking.session if asking else None,
        "stage": asking.stage if asking else None,
        "tool": stored.tool,
        "arguments": asking.arguments if asking else None,
        "damaged": asking is None,
        "rule": asking.rule if asking else None,
        "why": asking.reason if asking else None,
        "head": asking.head if asking else None,
        "state": stored.state,
        "standing": stored.standing,
        "asked_at": stored.asked_at,
        "expires_at": stored.expires_at,
        "decided_at": stored.decided_at,
        "decided_by": stored.decided_by or None,
        "decided_by_id": stored.decided_by_id,
        "decided_via": stored.decided_via or None,
        "reason": stored.reason or None,
        "used_at": stored.used_at,
    }
    return {name: redact(value, redactor) for name, value in record.items()}
