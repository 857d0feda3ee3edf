"""Change whole repositories: create, rename, transfer, archive, delete."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.schemas.common import (
    account_json,
    brief_repository_json,
    installation_json,
    organization_json,
    public_account_json,
)
from app.simulator.github.state.world import Installation, Repository, World
from app.simulator.github.webhooks import Webhooks

Json = Any


class RepositoryChanges:
    """Changes of repositories, and of the accounts that have them."""

    def __init__(self, world: World, webhooks: Webhooks) -> None:
        self._world = world
        self._webhooks = webhooks

    def tell(
        self, repository: Repository, action: str, by: Actor, changes: Json | None = None
    ) -> None:
        """Tell the Apps installed there what became of a repository."""
        payload = {"action": action} | ({"changes": changes} if changes else {})
        self._webhooks.announce(repository, "repository", by, payload)

    def tell_chosen(
        self,
        installation: Installation,
        by: Actor,
        added: Sequence[Repository] = (),
        removed: Sequence[Repository] = (),
    ) -> None:
        """Tell an App that it sees other repositories now."""
        payload = {
            "action": "added" if added else "removed",
            "installation": installation_json(self._world, installation),
            "repository_selection": installation.selection,
            "repositories_added": [brief_repository_json(each) for each in added],
            "repositories_removed": [brief_repository_json(each) for each in removed],
            "requester": None,
        }
        event = "installation_repositories"
        self._webhooks.announce_installation(installation, event, by, payload)

    def announce_new(self, repository: Repository, by: Actor) -> None:
        """Show a new repository to the Apps that see all of its owner's."""
        self._joins(repository, by)
        self.tell(repository, "created", by)

    def rename(self, repository: Repository, name: str, by: Actor) -> None:
        """Give another name; the former one leads here from now on."""
        former = repository.name
        self._world.former_names[repository.full_name.lower()] = repository.id
        repository.name = name
        self.tell(repository, "renamed", by, {"repository": {"name": {"from": former}}})

    def transfer(self, repository: Repository, to: Account, by: Actor, *, tell_old: bool) -> None:
        """Hand over; only Apps that see all of the new owner's repositories see it still."""
        former = repository.owner
        self._world.former_names[repository.full_name.lower()] = repository.id
        repository.owner = to
        self._leaves(repository, by, told=tell_old)
        self._joins(repository, by)
        whole = former.kind == "Organization"
        shape = (organization_json if whole else account_json)(self._world, former)
        origin = {"organization" if whole else "user": shape}
        self.tell(repository, "transferred", by, {"owner": {"from": origin}})

    def archive(self, repository: Repository, by: Actor, *, archived: bool) -> None:
        """Close a repository off for every change, or open it again."""
        repository.archived = archived
        self.tell(repository, "archived" if archived else "unarchived", by)

    def delete(self, repository: Repository, by: Actor) -> None:
        """Delete; pull requests from it stay, their head of nowhere."""
        del self._world.repositories[repository.id]
        self.tell(repository, "deleted", by)
        self._leaves(repository, by, told=True)
        for other in self._world.repositories.values():
            other.parent = None if other.parent is repository else other.parent
            for pull in other.pulls():
                if pull.head_repository is repository:
                    pull.head_repository = None
        shutil.rmtree(repository.gitdir)

    def rename_account(self, account: Account, login: str, by: Actor) -> None:
        """Give an account another login; the former addresses of its repositories lead on."""
        former, world = account.login, self._world
        for each in world.repositories.values():
            if each.owner is account:
                world.former_names[each.full_name.lower()] = each.id
        del world.accounts[former.lower()]
        account.login = login
        world.accounts[login.lower()] = account
        for installation in world.installations.values():
            if installation.account is account:
                self._tell_target(installation, former, by)

    def _tell_target(self, installation: Installation, former: str, by: Actor) -> None:
        account = installation.account
        shape = public_account_json(self._world, account)
        payload = {
            "action": "renamed",
            "account": {key: value for key, value in shape.items() if value is not None},
            "changes": {"login": {"from": former}},
            "installation": {"id": installation.id, "node_id": installation.node_id},
            "target_type": account.kind,
        }
        if account.kind == "Organization":
            payload["organization"] = organization_json(self._world, account)
        self._webhooks.announce_installation(installation, "installation_target", by, payload)

    def _joins(self, repository: Repository, by: Actor) -> None:
        for installation in self._world.installations.values():
            if installation.account is repository.owner and installation.selection == "all":
                installation.repositories.append(repository)
                self.tell_chosen(installation, by, [repository])

    def _leaves(self, repository: Repository, by: Actor, *, told: bool) -> None:
        for installation in self._world.installations_on(repository):
            installation.repositories.remove(repository)
            if told:
                self.tell_chosen(installation, by, (), [repository])
