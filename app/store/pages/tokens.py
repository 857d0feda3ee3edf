"""The table of API tokens: what each lets a program see and do, and until when.

Only digests are kept: who reads the database, or a backup of it, has no token.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from app.store.audit import OPERATOR, PrivilegedAct, append_act
from app.store.database import Database
from app.store.tables import api_tokens, repositories

TokenRight = Literal["read", "alerts", "steer"]
"""read: runs, turns, costs; alerts: runs about vulnerable dependencies, too; steer: cancel runs,
grant them money and tell them something. Approving is for people: no token does."""
RIGHTS: tuple[TokenRight, ...] = get_args(TokenRight)
PREFIX = "fettle_api_"
"""What every token begins with, so that scanners for secrets know one."""
USE_SECONDS = 3600.0
"""How precisely it is kept when a token was last used."""
DAY = 86_400.0


@dataclass(frozen=True)
class ApiToken:
    """A token without its secret. Times are unix seconds."""

    name: str
    repositories: frozenset[int] | None
    """Ids of the repositories that it is for; None: all, and what all of them cost."""
    rights: frozenset[str]
    made_by: str
    made_at: float
    expires_at: float
    used_at: float | None = None


class ApiTokens:
    """The table `api_tokens`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make(
        self,
        name: str,
        rights: Iterable[TokenRight],
        repository_ids: Iterable[int] | None,
        *,
        days: int,
        by: str,
    ) -> str | None:
        """Make a token and return it: it is told this once. None: the name is in use."""
        secret, now = PREFIX + secrets.token_urlsafe(32), time.time()
        ids = None if repository_ids is None else sorted(repository_ids)
        row = {
            "digest": digest_secret(secret),
            "name": name,
            "repositories": json.dumps(ids),
            "rights": json.dumps(sorted(rights)),
            "made_by": by[:80],
            "made_at": now,
            "expires_at": now + days * DAY,
        }
        told = {"name": name, "rights": sorted(rights), "repository_ids": ids, "days": days}

        def keep(connection: Connection) -> bool:
            over = delete(api_tokens).where(api_tokens.c.expires_at <= now)
            connection.execute(over)
            if connection.scalar(select(api_tokens.c.name).where(api_tokens.c.name == name)):
                return False
            connection.execute(insert(api_tokens).values(**row))
            append_act(connection, PrivilegedAct("api_token.made", OPERATOR, details=told))
            return True

        return secret if await self._database.write(keep) else None

    async def find(self, secret: str) -> ApiToken | None:
        """Return what this token may, while it holds; that it was used is kept."""
        now, mine = time.time(), api_tokens.c.digest == digest_secret(secret)
        query = select(api_tokens).where(mine, api_tokens.c.expires_at > now)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        if row is None:
            return None
        if (row.used_at or 0.0) < now - USE_SECONDS:
            used = update(api_tokens).where(mine).values(used_at=now)
            await self._database.write(lambda c: c.execute(used))
        return _token(row)

    async def list_all(self) -> list[ApiToken]:
        """Return the tokens that hold, the oldest first."""
        query = select(api_tokens).where(api_tokens.c.expires_at > time.time())
        ordered = query.order_by(api_tokens.c.made_at)
        return [
            _token(row) for row in await self._database.read(lambda c: c.execute(ordered).all())
        ]

    async def end(self, name: str) -> bool:
        """End the token of this name at once; False: there is none."""

        def take_out(connection: Connection) -> bool:
            gone = connection.execute(delete(api_tokens).where(api_tokens.c.name == name))
            if gone.rowcount:
                told = {"name": name}
                append_act(connection, PrivilegedAct("api_token.ended", OPERATOR, details=told))
            return bool(gone.rowcount)

        return await self._database.write(take_out)


def find_repository_ids(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of these repositories (owner/name); unknown ones are left out."""
    wanted = {name.lower(): name for name in names}
    lower = func.lower(repositories.c.full_name)
    query = select(lower.label("name"), repositories.c.id).where(lower.in_(wanted))
    return {wanted[row.name]: row.id for row in connection.execute(query)}


def read_repository_names(connection: Connection) -> dict[int, str]:
    """Return what the repositories are called now, by their ids."""
    rows = connection.execute(select(repositories.c.id, repositories.c.full_name))
    return {row.id: row.full_name for row in rows}


def _token(row: Row[Any]) -> ApiToken:
    ids = json.loads(row.repositories)
    return ApiToken(
        name=row.name,
        repositories=None if ids is None else frozenset(ids),
        rights=frozenset(json.loads(row.rights)),
        made_by=row.made_by,
        made_at=row.made_at,
        expires_at=row.expires_at,
        used_at=row.used_at,
    )


def digest_secret(secret: str) -> str:
    """Return what is kept of a secret. It is random, so a plain hash cannot be turned back."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
