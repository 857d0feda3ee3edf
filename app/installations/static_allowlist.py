"""The allowlist of accounts at a terminal, where no registry of installations is kept."""

from __future__ import annotations

from collections.abc import Sequence

from app.config.allowed_owners import AllowedOwners
from app.github.transport.app_installations import AppInstallations
from app.github.transport.errors import InstallationGone
from app.github.transport.installation_cache import OwnerNotAllowed, Permit, UncachedInstallations
from app.installations.registry import GONE, NOT_LISTED
from app.records.installations import KnownInstallation


class StaticAllowlist(UncachedInstallations):
    """The port `InstallationLookup` that asks GitHub for the account and checks the allowlist."""

    def __init__(self, github: AppInstallations, owners: AllowedOwners) -> None:
        self._github = github
        self._owners = owners
        self._known: dict[int, KnownInstallation] = {}

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:  # noqa: ARG002 the port has it
        """Return the permit for a token. Raises InstallationGone, OwnerNotAllowed."""
        if installation_id not in self._known:
            found = await self._github.one(installation_id)
            if found is None:
                raise InstallationGone(GONE.format(account="this account"))
            self._known[installation_id] = found
        known = self._known[installation_id]
        if not self._owners.allows(known.account, known.account_id):
            raise OwnerNotAllowed(NOT_LISTED.format(account=known.account))
        return Permit(known.id, known.account, known.url, known.permissions)
