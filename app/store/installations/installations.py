"""The tables of installations and repositories, by ids, which renames and transfers keep."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.records.installations import KnownInstallation, KnownRepository
from app.store.database import Database
from app.store.runs.lanes import LIVE
from app.store.tables import installations, owners, repositories, runs

MOST_FORMER = 20
"""Former names of one repository that are remembered."""


@dataclass
class Changes:
    """The ids of repositories that a sync found changed."""

    new: list[int] = field(default_factory=list)
    """Also those that are back, or have come from another installation."""
    renamed: list[int] = field(default_factory=list)
    archived: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)


class StoredInstallations:
    """The tables `installations`, `repositories` and `owners`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        dialect = sqlite if database.engine.dialect.name == "sqlite" else postgresql
        self._insert = dialect.insert

    async def installation(self, ident: int) -> KnownInstallation | None:
        """Return what is known of this installation."""
        query = select(installations).where(installations.c.id == ident)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return installation_of(row) if row is not None else None

    async def installations(self) -> list[KnownInstallation]:
        """Return the installations that were not removed."""
        return await self._database.read(every_installation)

    async def repository(self, ident: int) -> KnownRepository | None:
        """Return what is known of this repository."""
        query = select(repositories).where(repositories.c.id == ident)
        row = await self._database.read(lambda c: c.execute(query).one_or_none())
        return repository_of(row) if row is not None else None

    async def keep(self, found: KnownInstallation) -> KnownInstallation | None:
        """Store what GitHub says of an installation; return what was stored before."""
        told = {
            "account_id": found.account_id,
            "account": found.account,
            "url": found.url,
            "permissions": json.dumps(dict(found.permissions), sort_keys=True),
            "since": found.since,
            "suspended_at": found.suspended_at,
            "removed_at": None,
        }

        def keep(connection: Connection) -> KnownInstallation | None:
            query = select(installations).where(installations.c.id == found.id)
            row = connection.execute(query).one_or_none()
            insert = self._insert(installations).values(id=found.id, synced_at=0.0, **told)
            connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=told))
            return installation_of(row) if row is not None else None

        return await self._database.write(keep)

    async def remove(self, ident: int) -> None:
        """Mark the installation as removed; its repositories become unreachable."""
        now = time.time()
        this = (installations.c.id == ident, installations.c.removed_at.is_(None))
        own = (repositories.c.installation_id == ident, repositories.c.removed_at.is_(None))

        def remove(connection: Connection) -> None:
            connection.execute(update(installations).where(*this).values(removed_at=now))
            connection.execute(update(repositories).where(*own).values(removed_at=now))

        await self._database.write(remove)

    async def keep_repositories(
        self, installation_id: int, found: Sequence[KnownRepository], *, whole: bool
    ) -> Changes:
        """Store the repositories that an installation reaches; return the changes.

        `whole`: the list is complete, so repositories missing from it are no longer reached.
        """
        return await self._database.write(
            lambda c: self._keep_repositories(c, installation_id, found, whole)
        )

    def _keep_repositories(
        self, c: Connection, installation_id: int, found: Sequence[KnownRepository], whole: bool
    ) -> Changes:
        now, changes = time.time(), Changes()
        for each in found:
            self._keep_repository(c, each, changes, now)
        if whole:
            mine = (repositories.c.installation_id == installation_id, _THERE)
            here = {each.id for each in found}
            known: list[int] = list(c.scalars(select(repositories.c.id).where(*mine)))
            changes.gone = [ident for ident in known if ident not in here]
            _remove_repositories(c, changes.gone, now)
            this = update(installations).where(installations.c.id == installation_id)
            c.execute(this.values(synced_at=now))
        return changes

    def _keep_repository(
        self, c: Connection, found: KnownRepository, changes: Changes, now: float
    ) -> None:
        query = select(repositories).where(repositories.c.id == found.id)
        row = c.execute(query).one_or_none()
        told: dict[str, Any] = {
            "installation_id": found.installation_id,
            "full_name": found.full_name,
            "default_branch": found.default_branch,
            "private": found.private,
            "archived": found.archived,
            "removed_at": None,
        }
        moved = row is not None and row.installation_id != found.installation_id
        if row is None or row.removed_at is not None or moved:
            changes.new.append(found.id)
            told["labels_due"] = now
        if row is not None:
            if row.full_name != found.full_name:
                changes.renamed.append(found.id)
            told |= with_former(row, found)
        if found.archived and (row is None or not row.archived):
            changes.archived.append(found.id)
        nothing = {"labels_made": 0, "former": "[]", "former_installations": "[]"}
        fresh = {"id": found.id, "since": now, **nothing, **told}
        insert = self._insert(repositories).values(fresh)
        c.execute(insert.on_conflict_do_update(index_elements=["id"], set_=told))
        stale = (runs.c.repository_id == found.id, runs.c.repository != found.full_name)
        c.execute(update(runs).where(*stale).values(repository=found.full_name))

    async def list_repositories(self, installation_id: int) -> set[int]:
        """Return the repositories that the installation reaches, as stored."""
        mine = (repositories.c.installation_id == installation_id, _THERE)
        query = select(repositories.c.id).where(*mine)
        return set(await self._database.read(lambda c: c.scalars(query).all()))

    async def was_called(self, ident: int, full_name: str) -> None:
        """Remember a name that the repository had when a request was made in it."""

        def keep(connection: Connection) -> None:
            this = (repositories.c.id == ident, repositories.c.full_name != full_name)
            former = connection.scalar(select(repositories.c.former).where(*this))
            if former is not None:
                change = update(repositories).where(*this)
                connection.execute(change.values(former=listed_but(former, full_name, "")))

        await self._database.write(keep)

    async def remove_repository(self, ident: int) -> None:
        """Mark the repository as no longer reachable."""
        now = time.time()
        await self._database.write(lambda c: _remove_repositories(c, [ident], now))

    async def live_runs(
        self,
        *,
        installation_id: int | None = None,
        repository_ids: Collection[int] = (),
        parked: bool = True,
    ) -> list[str]:
        """Return the unfinished runs of an installation, or of some of its repositories.

        With `parked=False` those that wait, which nobody works on, are not among them.

        A run counts for the installation it was asked through, until its repository moves to
        another.
        """
        if installation_id is None:
            where: ColumnElement[bool] = runs.c.repository_id.in_(repository_ids)
        else:
            own = select(repositories.c.id).where(repositories.c.installation_id == installation_id)
            unknown = runs.c.repository_id.not_in(select(repositories.c.id))
            through = (runs.c.installation_id == installation_id) & unknown
            where = or_(runs.c.repository_id.in_(own), through)
        if not parked:
            where &= runs.c.state != "parked"
        query = select(runs.c.id).where(LIVE, where).order_by(runs.c.id)
        return list(await self._database.read(lambda c: c.scalars(query).all()))

    async def owners(self) -> dict[str, int]:
        """Return the account id that each login of the allowlist had when first seen."""
        rows = await self._database.read(lambda c: c.execute(select(owners)).all())
        return {row.login: row.account_id for row in rows}

    async def keep_owner(self, login: str, account_id: int) -> None:
        """Remember the account id of a login; the first call counts."""
        insert = self._insert(owners).values(login=login, account_id=account_id)
        await self._database.write(lambda c: c.execute(insert.on_conflict_do_nothing()))


_THERE = repositories.c.removed_at.is_(None)


def _remove_repositories(connection: Connection, idents: Collection[int], now: float) -> None:
    gone = (repositories.c.id.in_(idents), _THERE)
    connection.execute(update(repositories).where(*gone).values(removed_at=now, labels_due=None))


def every_installation(connection: Connection) -> list[KnownInstallation]:
    """Return the installations that were not removed."""
    query = select(installations).where(installations.c.removed_at.is_(None))
    return [installation_of(row) for row in connection.execute(query)]


def with_former(row: Row[Any], now: KnownRepository) -> dict[str, str]:
    """Return the former names and installations of a repository, updated by its present ones."""
    return {
        "former": listed_but(row.former, row.full_name, now.full_name),
        "former_installations": listed_but(
            row.former_installations, row.installation_id, now.installation_id
        ),
    }


def listed_but(former: str, before: object, now: object) -> str:
    """Return the JSON list with `before` added and `now` removed: a name may come back."""
    known = [each for each in (*json.loads(former), before) if each != now]
    return json.dumps(list(dict.fromkeys(known))[-MOST_FORMER:])


def installation_of(row: Row[Any]) -> KnownInstallation:
    """Return the installation of a row."""
    values = {**row._mapping, "permissions": json.loads(row.permissions)}  # noqa: SLF001 - its public name
    return KnownInstallation(**values)


def repository_of(row: Row[Any]) -> KnownRepository:
    """Return the repository of a row."""
    owner, _, name = row.full_name.partition("/")
    return KnownRepository(
        id=row.id,
        installation_id=row.installation_id,
        owner=owner,
        name=name,
        default_branch=row.default_branch,
        private=row.private,
        archived=row.archived,
        removed_at=row.removed_at,
        former=tuple(json.loads(row.former)),
        former_installations=tuple(json.loads(row.former_installations)),
    )
