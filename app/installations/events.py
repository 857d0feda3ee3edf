"""Follow what GitHub's events say about installations and repositories."""

from __future__ import annotations

from collections.abc import Callable

from agents.ports import Json
from app.github.transport import NotFound, NotPermitted
from app.installations.sync import InstallationSync
from app.records.installations import KnownRepository
from handlers.notifications import InstallationChanged, RepositoryChanged

Poke = Callable[[], None]
"""Has labels looked after soon."""


class InstallationEvents:
    """Handles `InstallationChanged`."""

    def __init__(self, followed: InstallationSync, poke: Poke) -> None:
        self._followed = followed
        self._poke = poke

    async def take(self, notice: InstallationChanged, ident: str) -> Json:  # noqa: ARG002 the port has it
        """Follow the change; GitHub is asked about everything but a removal, which is final."""
        followed = self._followed
        if notice.change == "deleted":
            became = await followed.record_removed(notice.installation_id, notice.account)
        else:
            became = await followed.installation(notice.installation_id, account=notice.account)
            self._poke()
        return {"change": notice.change, "account": notice.account, **became}


class RepositoryEvents:
    """Handles `RepositoryChanged`."""

    def __init__(self, followed: InstallationSync, poke: Poke) -> None:
        self._followed = followed
        self._poke = poke

    async def take(self, notice: RepositoryChanged, ident: str) -> Json:  # noqa: ARG002 the port has it
        """Follow the change; a name that leads nowhere makes the whole installation be read."""
        followed, told = self._followed, notice.repository
        if notice.change == "deleted":
            return {"change": "deleted", **await followed.repository_gone(told.id, told.full_name)}
        known = KnownRepository(
            id=told.id,
            installation_id=notice.installation_id,
            owner=told.owner,
            name=told.name,
            default_branch=told.default_branch,
            private=told.private,
            archived=notice.archived,
        )
        try:
            became = await followed.repository(known)
        except (NotFound, NotPermitted):
            became = await followed.installation(notice.installation_id)
        self._poke()
        return {"change": notice.change, "repository": told.full_name, **became}
