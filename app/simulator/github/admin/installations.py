"""Install, narrow, widen, suspend and remove an App, and deliver the webhooks of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.simulator.github.accounts import Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.schemas.common import brief_repository_json, installation_json
from app.simulator.github.state.world import Installation, Repository, Selection


class InstallationsAdmin:
    """Acts as the owners of accounts. What is awaited returns when its webhooks are answered."""

    parts: Parts

    async def install(
        self,
        app_id: int,
        repositories: Sequence[Repository],
        *,
        permissions: Mapping[str, str] | None = None,
        selection: Selection = "selected",
        by: Account | None = None,
    ) -> Installation:
        """Install an App on repositories of one owner, or on all of them and those to come."""
        world = self.parts.world
        app, owner = world.apps[app_id], repositories[0].owner
        chosen = list(repositories)
        if selection == "all":
            chosen = [each for each in world.repositories.values() if each.owner is owner]
        installation = Installation(
            **world.birth(),
            app=app,
            account=owner,
            repositories=chosen,
            permissions=dict(permissions or app.permissions),
            selection=selection,
        )
        world.installations[installation.id] = installation
        await self._tell(installation, "created", by)
        return installation

    async def suspend(self, installation: Installation, by: Account) -> None:
        """Suspend an installation: its tokens open nothing."""
        installation.suspended_at, installation.suspended_by = self.parts.world.get_time(), by
        await self._tell(installation, "suspend", by)

    async def unsuspend(self, installation: Installation, by: Account | None = None) -> None:
        """Let a suspended installation work again."""
        installation.suspended_at = installation.suspended_by = None
        await self._tell(installation, "unsuspend", by)

    async def uninstall(self, installation: Installation, by: Account | None = None) -> None:
        """Remove an installation."""
        del self.parts.world.installations[installation.id]
        await self._tell(installation, "deleted", by)

    async def add_repositories(
        self,
        installation: Installation,
        repositories: Sequence[Repository],
        by: Account | None = None,
    ) -> None:
        """Let the App see more of the owner's repositories."""
        installation.repositories += repositories
        self.parts.repositories.tell_chosen(installation, _actor(installation, by), repositories)
        await self.parts.webhooks.wait_until_settled()

    async def remove_repositories(
        self,
        installation: Installation,
        repositories: Sequence[Repository],
        by: Account | None = None,
    ) -> None:
        """Let the App see fewer of them."""
        for each in repositories:
            installation.repositories.remove(each)
        actor = _actor(installation, by)
        self.parts.repositories.tell_chosen(installation, actor, (), repositories)
        await self.parts.webhooks.wait_until_settled()

    def ask_permissions(
        self, app_id: int, permissions: Mapping[str, str], events: Sequence[str] | None = None
    ) -> None:
        """Let an App want other rights: its installations keep theirs until somebody consents."""
        app = self.parts.world.apps[app_id]
        app.permissions = dict(permissions)
        app.events = app.events if events is None else list(events)

    async def accept_permissions(
        self, installation: Installation, by: Account | None = None
    ) -> None:
        """Consent to what the App wants by now."""
        installation.permissions = dict(installation.app.permissions)
        await self._tell(installation, "new_permissions_accepted", by)

    async def _tell(self, installation: Installation, action: str, by: Account | None) -> None:
        payload = {
            "action": action,
            "installation": installation_json(self.parts.world, installation),
            "repositories": [brief_repository_json(each) for each in installation.repositories],
        }
        actor = _actor(installation, by)
        self.parts.webhooks.announce_installation(installation, "installation", actor, payload)
        await self.parts.webhooks.wait_until_settled()


def _actor(installation: Installation, by: Account | None) -> Actor:
    return Actor(by or installation.account)
