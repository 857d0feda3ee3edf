"""Compose what keeps track of the App's installations, once for each process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agents.ports import Json
from agents.requests import Command
from app.config.allowed_owners import AllowedOwners
from app.github.transport import GitHub
from app.github.transport.app_installations import AppInstallations
from app.installations.events import InstallationEvents, RepositoryEvents
from app.installations.labels import NAME as LABELS
from app.installations.labels import LabelMaker
from app.installations.reconcile import NAME, Reconciliation
from app.installations.registry import InstallationRegistry
from app.installations.sync import InstallationSync
from app.store.database import Database
from app.store.installations import StoredInstallations, StoredLabels
from app.store.runs import StoredSteers
from app.store.schedule_leases import PassLock, Sweeps
from handlers.notifications import InstallationChanged, RepositoryChanged

Obey = Callable[[Command, str], Awaitable[Json]]


class InstallationLifecycle:
    """Everything that follows the App's installations and repositories."""

    def __init__(
        self, database: Database, github: GitHub, owners: AllowedOwners, worker: str
    ) -> None:
        self._stored = stored = StoredInstallations(database)
        self._owners = owners
        labels, sweeps = StoredLabels(database), Sweeps(database, worker)
        self.github = github = github.with_installations(
            lambda github: InstallationRegistry(stored, AppInstallations(github), owners)
        )
        """GitHub as the books know it."""
        asking = AppInstallations(github)
        self.books = InstallationRegistry(stored, asking, owners)
        self.followed = InstallationSync(
            asking, stored, labels, StoredSteers(database), github.broker, owners
        )
        self.labels = LabelMaker(github, stored, labels, PassLock(sweeps, LABELS))
        self.reconciliation = Reconciliation(asking, stored, self.followed, PassLock(sweeps, NAME))

    async def load_owners(self) -> None:
        """Load the account ids of logins on the allowlist."""
        self._owners.load_accounts(await self._stored.owners())

    @property
    def takers(self) -> Mapping[type[Any], Any]:
        """Return the handlers of notifications about installations."""
        return {
            InstallationChanged: InstallationEvents(self.followed, self.labels.poke),
            RepositoryChanged: RepositoryEvents(self.followed, self.labels.poke),
        }

    def with_current_names(self, obey: Obey) -> Obey:
        """Wrap `obey` so that commands use their repositories' present names."""

        async def obey_current(command: Command, ident: str) -> Json:
            return await obey(await self.books.current(command), ident)

        return obey_current

    async def reconcile(self) -> None:
        """Compare what is stored with GitHub's list now."""
        await self.load_owners()  # what other processes have found out
        await self.reconciliation.run()
        self.labels.poke()
