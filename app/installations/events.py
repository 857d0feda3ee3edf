"""Follow what GitHub's events say about installations and repositories."""

from __future__ import annotations

from collections.abc import Callable

from agents.ports import Json
from app.github.transport.errors import NotFound, NotPermitted
from app.installations.sync import InstallationSync
from app.records.installations import KnownRepository
from handlers.notifications import InstallationChanged, RepositoryChanged

Poke = Callable[[], None]
"""Has labels looked after soon."""


class InstallationEvents:
    """Takes `InstallationChanged`."""

    def __init__(self, followed: InstallationSync, poke: Poke) -> None:
        self._followed = followed
        self._poke = poke

    async def take(self, notice: InstallationChanged, ident: str) -> Json:  # noqa: ARG002 the port has it
        """Follow it: what was removed stays so, everything else GitHub is asked about."""
        followed = self._followed
        if notice.change == "deleted":
            became = await followed.removed(notice.installation_id, notice.account)
        else:
            became = await followed.installation(notice.installation_id, account=notice.account)
            self._poke()
        return {"change": notice.change, "account": notice.account, **became}


class RepositoryEvents:
    """Takes `RepositoryChanged`."""

    def __init__(self, followed: InstallationSync, poke: Poke) -> None:
        self._followed = followed
        self._poke = poke

    async def take(self, notice: RepositoryChanged, ident: str) -> Json:  # noqa: ARG002 the port has it
        """Follow it; where its name leads nowhere any more, follow the whole installation."""
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
