"""The installations of the App and the repositories that each of them grants."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from agents.errors import RunError
from app.github.transport.client import GitHub
from app.github.transport.errors import NotFound
from app.github.transport.installation_client import InstallationClient
from app.github.transport.tokens import Profile
from app.records.installations import KnownInstallation, KnownRepository

EVERY = "/app/installations{?per_page,page}"
ONE = "/app/installations/{id}"
REPOSITORIES = "/installation/repositories"
PER_PAGE = 100
NO_ACCOUNT = "the installation is on no organisation and no person"

Json = Any


class AppInstallations:
    """Reads installations as the App, and their repositories with a token that sees names alone."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    async def list_installations(self) -> AsyncIterator[KnownInstallation]:
        """Yield all installations on accounts; those on enterprises have no repositories.

        https://docs.github.com/rest/apps/apps#list-installations-for-the-authenticated-app
        """
        page = 1
        while True:
            asked = {"per_page": str(PER_PAGE), "page": str(page)}
            found, more = await self._github.app.page(EVERY, asked)
            for each in found:
                if (known := _installation(each)) is not None:
                    yield known
            if not more:
                return
            page += 1

    async def one(self, installation_id: int) -> KnownInstallation | None:
        """Return this installation; None where the App is installed no more.

        Raises RunError for an installation on an enterprise.
        https://docs.github.com/rest/apps/apps#get-an-installation-for-the-authenticated-app
        """
        try:
            found = await self._github.app.request(
                "GET", ONE, url_vars={"id": str(installation_id)}
            )
        except NotFound:
            return None
        known = _installation(found)
        if known is None:
            raise RunError(NO_ACCOUNT)
        return known

    async def repositories(self, installation_id: int) -> list[KnownRepository]:
        """Return all repositories of the installation.

        Raises InstallationGone, NotPermitted.
        https://docs.github.com/rest/apps/installations#list-repositories-accessible-to-the-app-installation
        """
        async with self._github.open_installation_client(installation_id, Profile.FIND) as client:
            return await _repositories(client, installation_id)

    async def repository(self, installation_id: int, repository_id: int) -> KnownRepository | None:
        """Return this repository under its present name; None where it is not reached.

        Raises InstallationGone, NotPermitted.
        """
        async with self._github.lease_client(
            installation_id, repository_id, Profile.FIND
        ) as client:
            found = await _repositories(client, installation_id)
        return next((each for each in found if each.id == repository_id), None)


async def _repositories(client: InstallationClient, installation_id: int) -> list[KnownRepository]:
    listed = client.getiter(REPOSITORIES, iterable_key="repositories")
    return [repository_of(installation_id, each) async for each in listed]


def repository_of(installation_id: int, found: Mapping[str, Json]) -> KnownRepository:
    """Return a repository as GitHub shows it."""
    return KnownRepository(
        id=found["id"],
        installation_id=installation_id,
        owner=found["owner"]["login"],
        name=found["name"],
        default_branch=found["default_branch"],
        private=found["private"],
        archived=found["archived"],
    )


def _installation(found: Mapping[str, Json]) -> KnownInstallation | None:
    account = found["account"] or {}
    if "login" not in account:
        return None
    suspended = found.get("suspended_at")
    return KnownInstallation(
        id=found["id"],
        account_id=account["id"],
        account=account["login"],
        url=found["html_url"],
        permissions=found["permissions"],
        since=_moment(found["created_at"]),
        suspended_at=_moment(suspended) if suspended else None,
    )


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
