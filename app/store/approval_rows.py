"""Step 8: one approval as it is stored: what was asked, where it stands, who decided."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, Select, select

from agents.ports import Asking
from app.records.approvals import StoredApproval
from app.store.tables import approvals, runs

DAY = 86_400.0


@dataclass(frozen=True)
class Answered:
    """What became of an answer."""

    approval: StoredApproval
    counted: bool
    """Whether this answer decided; if not, the approval tells what had been decided before."""


def approval_rows() -> Select[Any]:
    """Select approvals, each with what `approval_in` needs of its run."""
    about = (runs.c.repository, runs.c.repository_id, runs.c.number)
    return select(approvals, *about).join_from(approvals, runs)


def approval_of_id(connection: Connection, ident: str) -> StoredApproval | None:
    """Return the approval of that id, if there is one."""
    row = connection.execute(approval_rows().where(approvals.c.id == ident)).one_or_none()
    return approval_in(row) if row else None


def approval_in(row: Row[Any]) -> StoredApproval:
    """Return the approval that a row of `approval_rows` holds."""
    return StoredApproval(
        id=row.id,
        run_id=row.run_id,
        repository=row.repository,
        repository_id=row.repository_id,
        number=row.number,
        asking=_asking(row),
        tool=row.tool,
        binding=row.binding,
        branch=row.branch,
        state=row.state,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        comment_id=row.comment_id,
        decided_at=row.decided_at,
        decided_by=row.decided_by or "",
        decided_by_id=row.decided_by_id,
        decided_via=row.decided_via or "",
        reason=row.decision_reason or "",
        used_at=row.used_at,
    )


def _asking(row: Row[Any]) -> Asking | None:
    """Return what was asked; None when the row does not say it any more."""
    with suppress(ValueError, ValidationError):
        asking = Asking(
            call_id=row.call_id,
            session=row.session,
            stage=row.stage,
            tool=row.tool,
            arguments=json.loads(row.arguments),
            rule=row.rule,
            reason=row.reason,
            head=row.head,
            branch=row.branch or "",
            days=(row.expires_at - row.asked_at) / DAY,
        )
        return asking if asking.binding == row.binding else None
    return None
