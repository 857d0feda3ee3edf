"""The table of logins to the pages: one-time codes, and who is logged in.

Only digests are kept: who reads the database, or a backup of it, can log in with none of them.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from agents.requests import Person
from app.store.database import Database
from app.store.pages.tokens import ApiToken, digest_secret
from app.store.runs.approvals import ALPHABET
from app.store.tables import page_logins

CODE_SECONDS = 600.0
SESSION_SECONDS = 8 * 3600.0
GROUPS, LETTERS = 5, 4  # of a code: 99 bits


@dataclass(frozen=True)
class PageLogin:
    """Somebody who is logged in."""

    name: str
    """The user of the machine who had the code made; of people from GitHub, the login; of
    programs, the name of their token."""
    expires_at: float
    """Unix seconds."""
    person: Person | None = None
    """Who it is on GitHub; None for operators, who have a code of this machine, and programs."""
    token: ApiToken | None = None
    """What a program may; None for people."""


class PageLogins:
    """The table `page_logins`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make_code(self, name: str) -> str:
        """Return a code with which the operator of this name can log in once, within minutes."""
        parts = ("".join(secrets.choice(ALPHABET) for _ in range(LETTERS)) for _ in range(GROUPS))
        code = "-".join(parts)
        row = _row(code, "code", name, CODE_SECONDS)
        await self._database.write(lambda c: _keep(c, row))
        return code

    async def redeem(self, code: str) -> str | None:
        """Return a session's token for a code, which counts no more; None for a wrong one."""
        token, digest = secrets.token_urlsafe(32), digest_secret(code.strip().lower())

        def take(connection: Connection) -> str | None:
            known = (page_logins.c.digest == digest, page_logins.c.kind == "code")
            alive = page_logins.c.expires_at > time.time()
            name = connection.scalar(
                delete(page_logins).where(*known, alive).returning(page_logins.c.name)
            )
            if name is None:
                return None
            _keep(connection, _row(token, "session", name, SESSION_SECONDS))
            return token

        return await self._database.write(take)

    async def begin(self, person: Person) -> str:
        """Return the token of a session of somebody whom GitHub has told us."""
        token = secrets.token_urlsafe(32)
        row = _row(token, "github", f"{person.id}/{person.login}", SESSION_SECONDS)
        await self._database.write(lambda c: _keep(c, row))
        return token

    async def find(self, token: str) -> PageLogin | None:
        """Return whose session it is, while it lasts."""
        query = select(page_logins.c.kind, page_logins.c.name, page_logins.c.expires_at).where(
            page_logins.c.digest == digest_secret(token),
            page_logins.c.kind.in_(("session", "github")),
            page_logins.c.expires_at > time.time(),
        )
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        if row is None:
            return None
        if row.kind == "session":
            return PageLogin(row.name, row.expires_at)
        ident, _, login = row.name.partition("/")
        return PageLogin(login, row.expires_at, Person(id=int(ident), login=login))

    async def end(self, token: str) -> None:
        """End the session."""
        gone = delete(page_logins).where(page_logins.c.digest == digest_secret(token))
        await self._database.write(lambda c: c.execute(gone))


def _row(secret: str, kind: str, name: str, seconds: float) -> dict[str, object]:
    expires = time.time() + seconds
    return {"digest": digest_secret(secret), "kind": kind, "name": name[:80], "expires_at": expires}


def _keep(connection: Connection, row: dict[str, object]) -> None:
    connection.execute(delete(page_logins).where(page_logins.c.expires_at <= time.time()))
    connection.execute(insert(page_logins).values(**row))
