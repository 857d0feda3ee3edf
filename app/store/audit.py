"""The audit log: what was done with privilege, each entry bound to all before it by its hash.

An entry is chained in the transaction of the act itself where the act is a row, and before the act
where it is none. Whoever changes, inserts or takes out an entry breaks the chain from there on.
That the newest are missing is seen by whoever kept a number and its hash, which the server logs at
each start. Of what `fettle forget` deletes, number, time, kind and hash stay: the chain holds.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, Row, insert, select, text, update

from app.store.process_lock import lock_key
from app.store.tables import audit

BEGINNING = "0" * 64
"""What stands for the hash before the first entry's."""
OPERATOR = "operator"
SETTINGS: Final = "settings.changed"
ActKind = Literal[
    "run.asked",
    "run.ended",
    "run.undone",
    "approval.decided",
    "push",
    "token.minted",
    "secret.replaced",
    "settings.changed",
    "api_token.made",
    "api_token.ended",
]
ACT_KINDS: tuple[ActKind, ...] = get_args(ActKind)
SALT_BYTES = 16
ROWS_AT_ONCE = 1000

_CHAINING = lock_key("the audit log's next entry")


@dataclass(frozen=True)
class PrivilegedAct:
    """What was done, by whom, about what."""

    kind: ActKind
    actor: str
    """A login on GitHub; `fettle` for what no person asked for; `operator` at this machine."""
    run_id: str | None = None
    installation_id: int | None = None
    repository_id: int | None = None
    repository: str = ""
    """owner/name by then."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON values; nothing secret, and no text of strangers."""


@dataclass(frozen=True)
class AuditEntry:
    """One entry as it is stored; `hash` covers all the others and `previous`."""

    number: int
    """1, 2, 3 and so on, without a gap."""
    at: float
    """Unix seconds."""
    kind: str
    content: str | None
    """JSON of the act and a salt; None once its repository was forgotten."""
    digest: str
    """SHA-256 of `content`, hexadecimal."""
    previous: str
    hash: str

    @property
    def act(self) -> dict[str, Any]:
        """Return what was done, without the salt; only the kind where it was forgotten."""
        told = json.loads(self.content) if self.content else {"kind": self.kind, "forgotten": True}
        return {name: value for name, value in told.items() if name != "salt"}

    def find_fault(self, previous: AuditEntry | None) -> str | None:
        """Return how the entry contradicts itself or the one before it; None where it does not."""
        number, before = (previous.number, previous.hash) if previous else (0, BEGINNING)
        if self.number != number + 1:
            return f"entry {number + 1} is missing"
        if self.content is not None and _digest(self.content) != self.digest:
            return f"entry {self.number} was changed: its content has another digest"
        if self.content is not None and json.loads(self.content)["kind"] != self.kind:
            return f"entry {self.number} was changed: its content is of another kind"
        if self.previous != before:
            return f"entry {self.number} does not follow entry {number}: one of them was replaced"
        if _chain(self.previous, self.number, self.at, self.kind, self.digest) != self.hash:
            return f"entry {self.number} was changed: its hash is not that of what it says"
        return None


def append_act(connection: Connection, act: PrivilegedAct) -> None:
    """Chain the act to what is there, in the caller's transaction."""
    if connection.dialect.name == "postgresql":  # one after the other: no two follow the same one
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CHAINING})
    last, previous = read_newest(connection)
    number, at = last + 1, time.time()
    salted = {**asdict(act), "salt": secrets.token_hex(SALT_BYTES)}
    content = json.dumps(salted, sort_keys=True, separators=(",", ":"))
    digest = _digest(content)
    row = {
        "number": number,
        "at": at,
        "kind": act.kind,
        "repository_id": act.repository_id,
        "content": content,
        "digest": digest,
        "previous": previous,
        "hash": _chain(previous, number, at, act.kind, digest),
    }
    connection.execute(insert(audit).values(row))


def forget_acts(connection: Connection, repository_ids: Collection[int]) -> None:
    """Delete what was done about these repositories; that something was done stays."""
    about = audit.c.repository_id.in_(repository_ids)
    connection.execute(update(audit).where(about).values(content=None, repository_id=None))


def read_newest(connection: Connection) -> tuple[int, str]:
    """Return number and hash of the newest entry; 0 and `BEGINNING` where there is none."""
    newest = select(audit.c.number, audit.c.hash).order_by(audit.c.number.desc()).limit(1)
    last = connection.execute(newest).one_or_none()
    return (last.number, last.hash) if last else (0, BEGINNING)


def read_entries(connection: Connection, after: int = 0) -> Iterator[AuditEntry]:
    """Yield the entries with greater numbers than `after`, oldest first."""
    while True:
        some = select(audit).where(audit.c.number > after).order_by(audit.c.number)
        rows = connection.execute(some.limit(ROWS_AT_ONCE)).all()
        for row in rows:
            yield _entry(row)
            after = row.number
        if len(rows) < ROWS_AT_ONCE:
            return


def list_newest(
    connection: Connection, most: int, *, before: int | None = None, kind: str = ""
) -> list[AuditEntry]:
    """Return the newest entries, newest first: of this kind, and with smaller numbers."""
    query = select(audit).order_by(audit.c.number.desc()).limit(most)
    if before is not None:
        query = query.where(audit.c.number < before)
    if kind:
        query = query.where(audit.c.kind == kind)
    return [_entry(row) for row in connection.execute(query)]


def append_settings(connection: Connection, described: Mapping[str, str], version: str) -> None:
    """Chain which settings differ from those that were noted last, if any do.

    `described` maps each setting's name to its value, without those that are secret; of values only
    digests are kept.
    """
    digests = {name: _digest(value)[:16] for name, value in sorted(described.items())}
    noted = (audit.c.kind == SETTINGS, audit.c.content.is_not(None))
    newest = select(audit.c.content).where(*noted).order_by(audit.c.number.desc()).limit(1)
    last = connection.scalar(newest)
    before = json.loads(last)["details"] if last else {}
    earlier: Mapping[str, str] = before.get("settings", {})
    names = {*digests, *earlier}
    changed = sorted(name for name in names if digests.get(name) != earlier.get(name))
    if changed or before.get("version") != version:
        details = {"changed": changed, "settings": digests, "version": version}
        append_act(connection, PrivilegedAct(SETTINGS, OPERATOR, details=details))


def _entry(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        number=row.number,
        at=row.at,
        kind=row.kind,
        content=row.content,
        digest=row.digest,
        previous=row.previous,
        hash=row.hash,
    )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _chain(previous: str, number: int, at: float, kind: str, digest: str) -> str:
    return _digest(json.dumps([previous, number, at, kind, digest]))
