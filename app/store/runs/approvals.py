"""The table of approvals: which tool calls wait for a person's decision, and what was decided."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy import Connection, Row, Select, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from agents.errors import RunError
from agents.ports import ApprovalRequest
from app.records.approvals import StoredApproval
from app.store.audit import PrivilegedAct, append_act
from app.store.database import Database, drop_unstorable
from app.store.tables import approvals, runs

ApprovalDecision = Literal["approved", "denied"]
Via = Literal["comment", "button", "terminal", "page", "board"]

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
ID_LENGTH = 6
_OVERDUE = "Nobody answered in time."
_MOVED = "the work has moved on to another state since this was asked"
_UNREADABLE = (
    "The stored record of approval `{id}` is damaged: it no longer says what people were shown, so"
    " nothing was run on the strength of it. Setting the label again starts afresh."
)
DAY = 86_400.0


@dataclass(frozen=True)
class Answered:
    """The result of one person's answer."""

    approval: StoredApproval
    counted: bool
    """Whether this answer decided; if not, the approval tells what had been decided before."""


class StoredApprovals:
    """The table `approvals`. The first decision on a row counts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask_once(self, run_id: str, asking: ApprovalRequest) -> StoredApproval:
        """Return the row of this question, inserted if it is new.

        Where the commit has moved since, the same call is another question: the old row becomes
        void. Raises RunError when the row was damaged, so that it no longer says what was asked.
        """
        return await self._database.write(lambda c: _insert_question(c, run_id, asking))

    async def record_comment(self, ident: str, comment_id: int) -> None:
        """Remember the id of the comment that asks for this approval."""
        change = update(approvals).where(approvals.c.id == ident).values(comment_id=comment_id)
        await self._database.write(lambda c: c.execute(change))

    async def get(self, ident: str) -> StoredApproval | None:
        """Return the row of that id, if there is one."""
        return await self._database.read(lambda c: approval_of_id(c, ident))

    async def decide(
        self,
        ident: str,
        *,
        verdict: ApprovalDecision,
        by: str,
        by_id: int | None,
        via: Via,
        reason: str = "",
        now: float | None = None,
    ) -> Answered | None:
        """Record a person's decision and return the result; None when there is no such approval.

        The first decision before the deadline counts; later ones change nothing. `now` is in unix
        seconds.
        """
        now = time.time() if now is None else now
        values = {
            "state": verdict,
            "decided_by": drop_unstorable(by)[:80],
            "decided_by_id": by_id,
            "decided_via": via,
            "decision_reason": drop_unstorable(reason),
        }

        def settle(connection: Connection) -> Answered | None:
            _expire(connection, now, approvals.c.id == ident)
            counted = _settle(connection, ident, now, **values)
            found = approval_of_id(connection, ident)
            if found and counted:
                append_act(connection, _describe_decision(found, verdict))
            return Answered(found, counted) if found else None

        return await self._database.write(settle)

    async def void(self, ident: str, why: str) -> bool:
        """Make the approval void; return whether it was still waiting."""
        return await self._database.write(
            lambda c: _settle(
                c, ident, time.time(), state="void", decision_reason=drop_unstorable(why)
            )
        )

    async def expire(self, now: float | None = None) -> int:
        """Mark approvals past their deadline as expired; return how many.

        `now` is in unix seconds.
        """
        now = time.time() if now is None else now
        query = select(func.count()).where(*_expired_conditions(now))
        if not await self._database.read(lambda c: c.scalar(query)):
            return 0  # the usual answer, which needs no writer
        return await self._database.write(lambda c: _expire(c, now))

    async def claim(self, ids: Sequence[str]) -> list[str]:
        """Note that these calls are about to run; return the ids that nobody had claimed before."""
        free = (approvals.c.id.in_(ids), approvals.c.used_at.is_(None))
        change = update(approvals).where(*free).values(used_at=time.time())
        claimed = change.returning(approvals.c.id)
        return list(await self._database.write(lambda c: c.scalars(claimed).all()))

    async def all_decided(self, ids: Sequence[str]) -> bool:
        """Return whether all of these are decided, void, or past their deadline."""
        waits = (approvals.c.state == "waiting", approvals.c.expires_at > time.time())
        query = select(func.count()).where(approvals.c.id.in_(ids), *waits)
        return not await self._database.read(lambda c: c.scalar(query))

    async def list_waiting(self) -> list[StoredApproval]:
        """Return all approvals that wait for a decision, oldest first."""
        query = approval_rows().where(
            approvals.c.state == "waiting", approvals.c.expires_at > time.time()
        )
        return await self._list(query)

    async def of_run(self, run_id: str) -> list[StoredApproval]:
        """Return all approvals that the run asked for, oldest first."""
        return await self._list(approval_rows().where(approvals.c.run_id == run_id))

    async def decided_since(self, moment: float) -> list[tuple[str, str]]:
        """Return id and run of each approval decided since `moment` (unix seconds)."""
        query = select(approvals.c.id, approvals.c.run_id).where(approvals.c.decided_at >= moment)
        found = await self._database.read(lambda c: c.execute(query).all())
        return [(row.id, row.run_id) for row in found]

    async def _list(self, query: Select[Any]) -> list[StoredApproval]:
        ordered = query.order_by(approvals.c.asked_at, approvals.c.call_id)
        return [
            approval_in(row)
            for row in await self._database.read(lambda c: c.execute(ordered).all())
        ]


# --- inside one transaction ---------------------------------------------------------------------


def _describe_decision(approval: StoredApproval, verdict: ApprovalDecision) -> PrivilegedAct:
    return PrivilegedAct(
        "approval.decided",
        approval.decided_by,
        run_id=approval.run_id,
        repository_id=approval.repository_id,
        repository=approval.repository,
        details={
            "approval": approval.id,
            "decision": verdict,
            "via": approval.decided_via,
            "tool": approval.tool,
            "binding": approval.binding,
        },
    )


def _insert_question(
    connection: Connection, run_id: str, asking: ApprovalRequest
) -> StoredApproval:
    which = (
        approvals.c.run_id == run_id,
        approvals.c.session == asking.session,
        approvals.c.call_id == asking.call_id,
    )
    if connection.execute(select(approvals.c.id).where(*which)).one_or_none() is None:
        _insert(connection, run_id, asking)
    else:
        _expire(connection, time.time(), *which)
    known = approval_in(connection.execute(approval_rows().where(*which)).one())
    if known.asking is None:
        raise RunError(_UNREADABLE.format(id=known.id))
    if known.binding == asking.binding or known.state not in ("waiting", "approved"):
        return known
    moved = {"state": "void", "decided_at": time.time(), "decision_reason": _MOVED}
    connection.execute(update(approvals).where(*which).values(**moved))
    return approval_in(connection.execute(approval_rows().where(*which)).one())


def _insert(connection: Connection, run_id: str, asking: ApprovalRequest) -> None:
    now = time.time()
    row = {
        **asking.model_dump(exclude={"days", "arguments", "reason", "branch_head"}),
        "run_id": run_id,
        "arguments": json.dumps(asking.arguments),
        "reason": drop_unstorable(asking.reason),
        "binding": asking.binding,
        "branch": asking.branch or None,
        "state": "waiting",
        "asked_at": now,
        "expires_at": now + asking.days * DAY,
    }
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    insert = dialect.insert(approvals).on_conflict_do_nothing(index_elements=["id"])
    for ident in _idents(run_id, asking):
        inserted = insert.values(id=ident, **row).returning(approvals.c.id)
        if connection.scalar(inserted) is not None:
            return


def _idents(run_id: str, asking: ApprovalRequest) -> Iterator[str]:
    """Yield ids for this asking: the first that no other has is its own."""
    number = 0
    while True:
        exact = "\0".join([run_id, asking.session, asking.call_id, str(number)])
        value = int.from_bytes(hashlib.sha256(exact.encode()).digest(), "big")
        yield "".join(
            ALPHABET[value // len(ALPHABET) ** n % len(ALPHABET)] for n in range(ID_LENGTH)
        )
        number += 1


def _settle(connection: Connection, ident: str, now: float, **values: Any) -> bool:
    """Decide what waits; whatever was decided before stays as it is."""
    waits = (approvals.c.id == ident, approvals.c.state == "waiting")
    change = update(approvals).where(*waits).values(decided_at=now, **values)
    return bool(connection.execute(change).rowcount)


def _expire(connection: Connection, now: float, *only: Any) -> int:
    change = update(approvals).where(*_expired_conditions(now), *only)
    values = {"state": "expired", "decided_at": now, "decision_reason": _OVERDUE}
    return connection.execute(change.values(**values)).rowcount


def _expired_conditions(now: float) -> tuple[Any, ...]:
    return (approvals.c.state == "waiting", approvals.c.expires_at <= now)


def approval_rows() -> Select[Any]:
    """Select approvals with the columns of their runs that `approval_in` reads."""
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
        asking=_to_asking(row),
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


def _to_asking(row: Row[Any]) -> ApprovalRequest | None:
    """Return what was asked; None when the row does not say it any more."""
    with suppress(ValueError, ValidationError):
        asking = ApprovalRequest(
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
