"""Which installation reaches a repository, its present name, and whether its account is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from agents.requests import Command, Repository, Request
from app.config.allowed_owners import AllowedOwners
from app.github.transport import InstallationGone
from app.github.transport.app_installations import REPOSITORIES, AppInstallations, repository_of
from app.github.transport.installation_cache import (
    ClientForRepository,
    OwnerNotAllowed,
    Permit,
    UncachedInstallations,
)
from app.records.installations import KnownInstallation, KnownRepository
from app.store.installations import StoredInstallations

About = TypeVar("About", Request, Command)

GONE = (
    "The App is not installed on `{account}` any more, so it may not act there. An owner can"
    " install it again from the App's page."
)
OUT_OF_REACH = (
    "The App was not given `{repository}`, or not any more. An owner can give it access in the"
    " settings under GitHub Apps."
)
NOT_LISTED = (
    "This Fettle does not work for `{account}`: whoever runs it has not put that account into"
    " FETTLE_OWNERS."
)


class InstallationRegistry:
    """The port `InstallationLookup` over the store; GitHub is asked about what is not stored."""

    def __init__(
        self, stored: StoredInstallations, github: AppInstallations, owners: AllowedOwners
    ) -> None:
        self._stored = stored
        self._github = github
        self._owners = owners

    async def permit(self, installation_id: int, repository_ids: Sequence[int]) -> Permit:
        """Return the permit for a token, by the repository's present owner.

        Raises InstallationGone where the App is installed no more, OwnerNotAllowed where the
        allowlist lacks the account. A removed repository only raises a doubt: it may have been
        granted again a moment ago, and a request there must not be lost.
        """
        repository = await self._stored.repository(repository_ids[0]) if repository_ids else None
        if repository is not None and installation_id in repository.former_installations:
            installation_id = repository.installation_id
        known = await self._load(installation_id)
        if known.removed_at is not None:
            raise InstallationGone(GONE.format(account=known.account))
        if not self._owners.allows(known.account, known.account_id):
            raise OwnerNotAllowed(NOT_LISTED.format(account=known.account))
        doubt = ""
        if repository is not None and repository.removed_at:
            doubt = OUT_OF_REACH.format(repository=repository.full_name)
        return Permit(known.id, known.account, known.url, known.permissions, doubt)

    async def full_name(self, repository: Repository) -> str:
        """Return the repository's present name."""
        return "/".join(await self.current_name(repository.id, repository.owner, repository.name))

    async def is_public(self, repository_id: int) -> bool:
        """Tell whether everybody may see the repository, as far as is known."""
        known = await self._stored.repository(repository_id)
        return known is not None and not known.private

    async def current_name(self, repository_id: int, owner: str, name: str) -> tuple[str, str]:
        """Return present owner and name, if these were the repository's names once.

        Another name may be newer than the store: a delivery can overtake the one about the rename.
        """
        known = await self._stored.repository(repository_id)
        if known is None or f"{owner}/{name}" not in known.former:
            return owner, name
        return known.owner, known.name

    async def look(
        self, client: ClientForRepository, installation_id: int, repository: Repository
    ) -> None:
        """Read the present state of this client's repository, which may have changed."""
        for found in (await client.getitem(REPOSITORIES))["repositories"]:
            if found["id"] != repository.id:
                continue
            known = await self._stored.repository(found["id"])
            through = _find_reaching_installation(installation_id, known)
            now = repository_of(through, found)
            if known is not None:  # that it is put away, a delivery tells, and ends its runs
                now = replace(now, archived=known.archived)
            if known is None or known.removed_at or _visible_fields(known) != _visible_fields(now):
                await self._stored.keep_repositories(through, [now], whole=False)
            if repository.full_name != now.full_name:
                await self._stored.was_called(repository.id, repository.full_name)

    async def current(self, about: About) -> About:
        """Return the same request or command with its repository's present name.

        A repository counts as public as soon as everybody can see it. The default branch stays that
        of the request, on which the run's work is based.
        """
        before = about.repository
        owner, name = await self.current_name(before.id, before.owner, before.name)
        private = before.private and not await self.is_public(before.id)
        now = before.model_copy(update={"owner": owner, "name": name, "private": private})
        through = _find_reaching_installation(
            about.installation_id, await self._stored.repository(before.id)
        )
        if now == before and through == about.installation_id:
            return about
        url = about.url.replace(f"/{before.full_name}/", f"/{now.full_name}/", 1)
        changes = {"repository": now, "url": url, "installation_id": through}
        return about.model_copy(update=changes)

    async def _load(self, installation_id: int) -> KnownInstallation:
        known = await self._stored.installation(installation_id)
        if known is not None:
            return known
        found = await self._github.one(installation_id)
        if found is None:
            raise InstallationGone(GONE.format(account="this account"))
        await self._stored.keep(found)
        return found


def _find_reaching_installation(asked: int, known: KnownRepository | None) -> int:
    """Return by which installation a client reached the repository that was made for this one."""
    if known is not None and asked in known.former_installations:
        return known.installation_id
    return asked


def _visible_fields(repository: KnownRepository) -> tuple[str, bool, int]:
    """Return what of it others must not be wrong about."""
    return repository.full_name, repository.private, repository.installation_id


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
