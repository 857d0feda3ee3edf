"""The inbox table: webhook deliveries that were acknowledged, and the outcome of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

import lz4.frame
from sqlalchemy import Connection, bindparam, func, select, update

from app.secrets.encryption import Cipher
from app.store.encryption.columns import cipher_of
from app.store.tables import deliveries

DeliveryState = Literal["received", "dispatched", "ignored", "failed"]
StoreResult = Literal["stored", "again", "duplicate"]


class Arrival(NamedTuple):
    """A delivery that is about to be acknowledged; the fields in the order of the columns."""

    id: str
    """GitHub's X-GitHub-Delivery, the table's primary key: a redelivery carries the same one.

    https://docs.github.com/webhooks/webhook-events-and-payloads#delivery-headers
    """
    run_id: str
    event: str
    action: str
    installation_id: int | None
    digest: str
    body: bytes
    received_at: float


class Waiting(NamedTuple):
    """A delivery that was acknowledged and not yet dispatched."""

    id: str
    run_id: str
    event: str
    body: bytes


class Mark(NamedTuple):
    """The result of a delivery, and the reason where the result alone does not tell."""

    id: str
    state: DeliveryState
    note: str | None = None


def claim(connection: Connection, arrivals: Sequence[Arrival]) -> list[StoreResult]:
    """Store new deliveries; return for each `stored`, `again` or `duplicate`.

    `duplicate`: the id is in the table, so the insert does nothing. Inserting comes before looking:
    two processes that look first would both act. A redelivery of a failed delivery waits again
    (`again`), under the run id that it had.
    """
    cipher = cipher_of(connection.dialect)
    values = tuple(chain.from_iterable(_compress_body(arrival, cipher) for arrival in arrivals))
    statement = _insert(connection.dialect.name == "sqlite", len(arrivals))
    inserted = connection.exec_driver_sql(
        statement, values, execution_options={"preserve_rowcount": True}
    ).rowcount
    if inserted == len(arrivals):
        return ["stored"] * inserted
    return _sort_out(connection, arrivals)


def _compress_body(arrival: Arrival, cipher: Cipher) -> Arrival:
    """Return the delivery, its body compressed: a fifth of the bytes, for a few microseconds."""
    return arrival._replace(body=cipher.encrypt_bytes(lz4.frame.compress(arrival.body)))


@lru_cache(maxsize=256)
def _insert(sqlite: bool, rows: int) -> str:
    """Return one statement for that many rows.

    One statement, not one per row: the driver lets go of Python's lock and asks for it back
    around each, and while the event loop is busy it waits up to 5 ms to get it.
    """
    mark = "?" if sqlite else "%s"
    row = f"({', '.join([mark] * len(Arrival._fields))}, 'received')"
    columns = ", ".join(Arrival._fields)
    return (
        f"INSERT INTO deliveries ({columns}, state) VALUES "  # noqa: S608 - no outside text in it
        f"{', '.join([row] * rows)} ON CONFLICT DO NOTHING"
    )


def _sort_out(connection: Connection, arrivals: Sequence[Arrival]) -> list[StoreResult]:
    """Find out which of these were new: those whose fresh run id is in the table."""
    run_ids = [arrival.run_id for arrival in arrivals]
    query = select(deliveries.c.run_id).where(deliveries.c.run_id.in_(run_ids))
    stored: set[str] = set(connection.scalars(query))
    revived = _revive(connection, [a.id for a in arrivals if a.run_id not in stored])
    return [
        "stored" if arrival.run_id in stored else "again" if arrival.id in revived else "duplicate"
        for arrival in arrivals
    ]


def _revive(connection: Connection, ids: Collection[str]) -> set[str]:
    change = (
        update(deliveries)
        .where(deliveries.c.id.in_(ids), deliveries.c.state == "failed")
        .values(state="received", note=None)
        .returning(deliveries.c.id)
    )
    return set(connection.scalars(change))


def list_waiting(
    connection: Connection, *, limit: int, leave_out: Collection[str] = ()
) -> list[Waiting]:
    """Return the next deliveries to dispatch in order of arrival, without those in `leave_out`."""
    columns = (deliveries.c.id, deliveries.c.run_id, deliveries.c.event, deliveries.c.body)
    query = (
        select(*columns)
        .where(deliveries.c.state == "received", deliveries.c.id.not_in(leave_out))
        .order_by(deliveries.c.run_id)
        .limit(limit)
    )
    return [
        Waiting(row.id, row.run_id, row.event, lz4.frame.decompress(row.body))
        for row in connection.execute(query)
    ]


def count_waiting(connection: Connection) -> int:
    """Return how many deliveries are to be dispatched; the query reads their part of an index."""
    query = select(func.count()).where(deliveries.c.state == "received")
    return connection.scalar(query) or 0


def mark(connection: Connection, marks: Sequence[Mark]) -> None:
    """Record the results of these deliveries.

    The body is deleted where a delivery asked for nothing: most of these hold what people tell each
    other.
    """
    change = (
        update(deliveries)
        .where(deliveries.c.id == bindparam("which"))
        .values(state=bindparam("new_state"), note=bindparam("new_note"))
    )
    rows = [{"which": m.id, "new_state": m.state, "new_note": m.note} for m in marks]
    connection.execute(change, rows)
    ignored = [each.id for each in marks if each.state == "ignored"]
    if ignored:
        these = update(deliveries).where(deliveries.c.id.in_(ignored))
        connection.execute(these.values(body=lz4.frame.compress(b"")))


def run_of(connection: Connection, ident: str) -> str | None:
    """Return the run id of the delivery `ident`; None where there is no such delivery."""
    return connection.scalar(select(deliveries.c.run_id).where(deliveries.c.id == ident))


def count_states(connection: Connection) -> dict[str, int]:
    """Return how many deliveries are in each state; the query reads the whole index."""
    query = select(deliveries.c.state, func.count()).group_by(deliveries.c.state)
    return {row[0]: row[1] for row in connection.execute(query)}


def oldest_waiting(connection: Connection) -> float | None:
    """Return when the first waiting delivery was received, in unix seconds; None: none waits."""
    query = (
        select(deliveries.c.received_at)
        .where(deliveries.c.state == "received")
        .order_by(deliveries.c.run_id)
        .limit(1)
    )
    return connection.scalar(query)
