"""Rename, transfer, archive and delete repositories, as owners do."""

from __future__ import annotations

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.state.world import Repository


class RepositoriesAdmin:
    """Acts as owners; `by` is somebody else. Each call returns when its webhooks are answered."""

    parts: Parts

    async def rename_repository(
        self, repository: Repository, name: str, by: Account | None = None
    ) -> None:
        """Rename; the former name redirects from now on."""
        self.parts.repositories.rename(repository, name, Actor(by or repository.owner))
        await self.parts.webhooks.wait_until_settled()

    async def transfer_repository(
        self,
        repository: Repository,
        to: Account,
        by: Account | None = None,
        *,
        tell_old: bool = True,
    ) -> None:
        """Hand over to another account; the former address redirects.

        Whether the Apps of the former owner are told is not documented, hence `tell_old`.
        """
        actor = Actor(by or repository.owner)
        self.parts.repositories.transfer(repository, to, actor, tell_old=tell_old)
        await self.parts.webhooks.wait_until_settled()

    async def archive_repository(self, repository: Repository, by: Account | None = None) -> None:
        """Make a repository read-only."""
        actor = Actor(by or repository.owner)
        self.parts.repositories.archive(repository, actor, archived=True)
        await self.parts.webhooks.wait_until_settled()

    async def unarchive_repository(self, repository: Repository, by: Account | None = None) -> None:
        """Let it be changed again."""
        actor = Actor(by or repository.owner)
        self.parts.repositories.archive(repository, actor, archived=False)
        await self.parts.webhooks.wait_until_settled()

    async def delete_repository(self, repository: Repository, by: Account | None = None) -> None:
        """Delete a repository; pull requests from it stay, their head of nowhere."""
        self.parts.repositories.delete(repository, Actor(by or repository.owner))
        await self.parts.webhooks.wait_until_settled()

    async def rename_account(self, account: Account, login: str, by: Account | None = None) -> None:
        """Give a person or an organization another login."""
        self.parts.repositories.rename_account(account, login, Actor(by or account))
        await self.parts.webhooks.wait_until_settled()
