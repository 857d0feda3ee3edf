"""The composition of the life of installations: one for each process that works on GitHub."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agents.ports import Json
from agents.requests import Command
from app.github.transport.app_installations import AppInstallations
from app.github.transport.client import GitHub
from app.installations.registry import Books
from app.installations.sync import Followed
from app.installations.labels import NAME as LABELS
from app.installations.labels import LabelMaker
from app.installations.reconcile import NAME, Reconciliation
from app.installations.events import InstallationTaker, RepositoryTaker
from app.config.allowed_owners import Owners
from app.store.database import Database
from app.store.installations import StoredInstallations
from app.store.labels import StoredLabels
from app.store.steers import StoredSteers
from app.store.schedule_leases import Sweeps
from app.reconcile.redelivery import Turn
from handlers.notifications import InstallationChanged, RepositoryChanged

Obey = Callable[[Command, str], Awaitable[Json]]


class Life:
    """What follows installations and repositories, and what knows them by that."""

    def __init__(self, database: Database, github: GitHub, owners: Owners, worker: str) -> None:
        self._stored = stored = StoredInstallations(database)
        self._owners = owners
        asking, labels, sweeps = (
            AppInstallations(github),
            StoredLabels(database),
            Sweeps(database, worker),
        )
        self.books = github.broker.installed = Books(stored, asking, owners)
        self.followed = Followed(
            asking, stored, labels, StoredSteers(database), github.broker, owners
        )
        self.labels = LabelMaker(github, stored, labels, Turn(sweeps, LABELS))
        self.reconciliation = Reconciliation(asking, stored, self.followed, Turn(sweeps, NAME))

    async def learn(self) -> None:
        """Take over what is known of the allowlist: whose the logins on it are."""
        self._owners.learn(await self._stored.owners())

    @property
    def takers(self) -> Mapping[type[Any], Any]:
        """Return who takes the notices about it."""
        return {
            InstallationChanged: InstallationTaker(self.followed, self.labels.poke),
            RepositoryChanged: RepositoryTaker(self.followed, self.labels.poke),
        }

    def obeying(self, obey: Obey) -> Obey:
        """Return the same for commands about repositories as they are called by now."""

        async def obeyed(command: Command, ident: str) -> Json:
            return await obey(await self.books.current(command), ident)

        return obeyed

    async def reconcile(self) -> None:
        """Hold the books to what GitHub says now."""
        await self.learn()  # what other processes have found out
        await self.reconciliation.run()
        self.labels.poke()
