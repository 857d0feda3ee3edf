"""The durable engine's own tables, as far as Fettle reads, moves and deletes rows there.

Rows of unfinished work are the engine's, but that a run which waits is moved to a queue that nobody
polls. Fettle encrypts finished rows anew, or deletes them.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import (
    BigInteger,
    Connection,
    String,
    TableClause,
    Update,
    and_,
    column,
    inspect,
    or_,
    select,
    table,
    update,
)

SCHEMA = "dbos"
"""The schema of the engine's tables on PostgreSQL."""
KEYS = {
    "workflow_status": ("workflow_uuid",),
    "workflow_input": ("workflow_uuid",),
    "workflow_output": ("workflow_uuid",),
    "operation_outputs": ("workflow_uuid", "function_id"),
    "workflow_schedules": ("schedule_id",),
}
TEXTS = {
    "workflow_status": ("inputs", "output", "error"),
    "workflow_input": ("inputs",),
    "workflow_output": ("output", "error"),
    "operation_outputs": ("output", "error"),
    "workflow_schedules": ("context",),
}
"""Tables and columns that hold values of Fettle."""
OF_A_RUN = ("workflow_input", "workflow_output", "operation_outputs", "workflow_status")
"""The tables with rows of one run, that which the others hang on last."""


UNENDED = ("PENDING", "ENQUEUED", "DELAYED")


def find_unended(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return those of these ids whose runs or commands the engine still has to finish."""
    if not ids or engine_table(connection, "workflow_status") is None:
        return set()
    schema = None if connection.dialect.name == "sqlite" else SCHEMA
    status = table("workflow_status", column("workflow_uuid"), column("status"), schema=schema)
    these = (status.c.workflow_uuid.in_(ids), status.c.status.in_(UNENDED))
    return set(connection.scalars(select(status.c.workflow_uuid).where(*these)))


def put_by(connection: Connection, run_id: str, *, executor: str, queue: str) -> None:
    """Move a run to this queue, unless somebody other than this executor has it again."""
    status = _workflows(connection)
    mine = and_(status.c.status == "PENDING", status.c.executor_id == executor)
    connection.execute(_to_queue(status, queue).where(status.c.workflow_uuid == run_id, mine))


def take_up(connection: Connection, run_id: str, *, executor: str, queue: str, lost: bool) -> None:
    """Move a run to this queue that has not ended and that nobody has.

    What this executor has is left alone, unless it is known to be `lost`: at its start the engine
    puts back what the last process had, and the thread of another queue may be taking it just now.
    Conducted twice, a run would be paid for twice, and work on the same files.
    """
    status = _workflows(connection)
    elsewhere = or_(status.c.queue_name.is_(None), status.c.queue_name != queue)
    waits = and_(status.c.status == "ENQUEUED", elsewhere)
    of_another = and_(status.c.status == "PENDING", status.c.executor_id != executor)
    free = status.c.status.in_(("ENQUEUED", "PENDING")) if lost else or_(waits, of_another)
    connection.execute(_to_queue(status, queue).where(status.c.workflow_uuid == run_id, free))


def _to_queue(status: TableClause, queue: str) -> Update:
    fresh = {"queue_name": queue, "owner_xid": None, "started_at_epoch_ms": None}
    return update(status).values(status="ENQUEUED", **fresh)


def _workflows(connection: Connection) -> TableClause:
    schema = None if connection.dialect.name == "sqlite" else SCHEMA
    names = ("workflow_uuid", "status", "executor_id", "queue_name", "owner_xid")
    texts = (column(each, String) for each in names)
    began = column("started_at_epoch_ms", BigInteger)
    return table("workflow_status", *texts, began, schema=schema)


def engine_table(connection: Connection, name: str) -> TableClause | None:
    """Return the engine's table with its keys and texts as stored; None where it does not exist."""
    schema = None if connection.dialect.name == "sqlite" else SCHEMA
    if not inspect(connection).has_table(name, schema=schema):
        return None
    return table(
        name,
        *(column(each) for each in KEYS[name]),
        *(column(each, String) for each in TEXTS[name]),
        schema=schema,
    )
