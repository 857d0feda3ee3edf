"""Store what GitHub says of installations now, and end runs that lost their access.

Deliveries may come late, in any order, or not at all; so each one only says where to look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from agents.ports import Json
from app.config.allowed_owners import AllowedOwners
from app.github.transport import InstallationGone, TokenBroker, every_permission
from app.github.transport.app_installations import AppInstallations
from app.records.installations import KnownInstallation, KnownRepository
from app.store.installations import Changes, StoredInstallations, StoredLabels
from app.store.runs import StoredSteers
from handlers.access.permissions import list_lacking

AGAIN_SECONDS = 1.0
"""After which a list that lacks what was there is asked for again."""
REMOVED = "the App was taken away"
SUSPENDED = "the App was suspended"
NOT_LISTED = "the account is not one that this Fettle works for"
ARCHIVED = "the repository was archived"
OUT_OF_REACH = "the App cannot reach the repository any more"

log = structlog.get_logger()


@dataclass(frozen=True)
class InstallationSync:
    """Stores what GitHub says of installations and their repositories."""

    github: AppInstallations
    stored: StoredInstallations
    labels: StoredLabels
    steers: StoredSteers
    broker: TokenBroker
    owners: AllowedOwners

    async def installation(self, ident: int, *, account: str = "") -> dict[str, Json]:
        """Read one installation with all its repositories; return what was new."""
        found = await self.github.one(ident)
        if found is None:
            return await self.record_removed(ident, account)
        return await self.record_found(found)

    async def record_found(self, now: KnownInstallation) -> dict[str, Json]:
        """Store an installation that GitHub has listed."""
        before = await self.stored.keep(now)
        await self._learn_owner(now)
        if not self.owners.allows(now.account, now.account_id):
            ended = await self._let_end(now, NOT_LISTED, parked=True)
            return {"refused": NOT_LISTED, "cancelled": ended}
        if now.suspended_at is not None:
            ended = await self._let_end(now, SUSPENDED, parked=False)
            return {"suspended": True, "cancelled": ended}
        if before is not None and dict(before.permissions) != dict(now.permissions):
            self.broker.forget_all(now.id)
            await self.labels.ask_again(now.id)
        elif before is not None and before.suspended_at is not None:
            await self.labels.ask_again(now.id)  # none could be made meanwhile
        behind = list_lacking(now.permissions, every_permission())
        if behind:
            log.warning("permissions not granted", account=now.account, lacks=behind, url=now.url)
        return {**await self._repositories(now), "lacks": behind}

    async def record_removed(self, ident: int, account: str = "") -> dict[str, Json]:
        """Record that the App was removed from an account, which is final."""
        known = await self.stored.installation(ident)
        name = account or (known.account if known is not None else "")
        runs = await self.stored.live_runs(installation_id=ident)
        await self.stored.remove(ident)
        self.broker.forget_all(ident)
        return {"removed": True, "cancelled": await self._cancel(runs, name, REMOVED)}

    async def repository(self, known: KnownRepository) -> dict[str, Json]:
        """Follow a repository that is called otherwise, or belongs to somebody else, by now.

        `known` is how it was when a delivery told of it, which may have been long ago: it only
        says where to look, and where to go on looking is in the books.
        """
        before, through = await self.stored.repository(known.id), known.installation_id
        if before is not None and through in before.former_installations:
            through = before.installation_id
        try:
            now = await self.github.repository(through, known.id)
        except InstallationGone as error:
            return {"unreachable": str(error)}
        if now is None:
            return await self.repository_gone(known.id, known.full_name)
        changes = await self._keep(now.installation_id, [now])
        ended = await self._ended_by(changes, now.owner)
        return {"called": now.full_name, "cancelled": ended}

    async def repository_gone(self, ident: int, full_name: str) -> dict[str, Json]:
        """Follow that there is nothing left to reach."""
        await self.stored.remove_repository(ident)
        runs = await self.stored.live_runs(repository_ids=[ident])
        return {"removed": True, "cancelled": await self._cancel(runs, full_name, OUT_OF_REACH)}

    async def _repositories(self, installation: KnownInstallation) -> dict[str, Json]:
        try:
            found = await self._list_reached(installation.id)
        except InstallationGone as error:  # since a moment ago: another delivery will say so
            return {"unreachable": str(error)}
        changes = await self._keep(installation.id, found, whole=True)
        if changes.gone:
            self.broker.forget_all(installation.id, changes.gone)
        return {
            "repositories": len(found),
            "new": len(changes.new),
            "gone": len(changes.gone),
            "cancelled": await self._ended_by(changes, installation.account),
        }

    async def _list_reached(self, installation_id: int) -> list[KnownRepository]:
        """Return all that it reaches; what seems to be gone is looked for once more.

        Pages shift while they are read, when something is removed; and what a list lacks for a
        moment would end the runs of all that is not in it.
        """
        found = await self.github.repositories(installation_id)
        known = await self.stored.list_repositories(installation_id)
        if known <= {each.id for each in found}:
            return found
        await asyncio.sleep(AGAIN_SECONDS)
        again = await self.github.repositories(installation_id)
        return list({each.id: each for each in (*found, *again)}.values())

    async def _keep(
        self, installation_id: int, found: Sequence[KnownRepository], *, whole: bool = False
    ) -> Changes:
        changes = await self.stored.keep_repositories(installation_id, found, whole=whole)
        if changes.new or changes.renamed:
            self.broker.look_again(installation_id)
        names = {each.id: each.full_name for each in found}
        for ident in changes.renamed:
            log.info("repository renamed", id=ident, repository=names[ident])
        return changes

    async def _ended_by(self, changes: Changes, owner: str) -> int:
        """End what these changes leave without a place to work; return how many runs.

        What waits in an archived repository goes on waiting: it may be opened again.
        """
        ended = 0
        for idents, why in ((changes.gone, OUT_OF_REACH), (changes.archived, ARCHIVED)):
            if idents:
                parked = why is not ARCHIVED
                runs = await self.stored.live_runs(repository_ids=idents, parked=parked)
                ended += await self._cancel(runs, owner, why)
        return ended

    async def _let_end(self, installation: KnownInstallation, why: str, *, parked: bool) -> int:
        """End its runs; those that wait only where `parked`, since a suspension may be lifted.

        Nobody works on these, and their comments say what they wait for.
        """
        self.broker.forget_all(installation.id)
        runs = await self.stored.live_runs(installation_id=installation.id, parked=parked)
        return await self._cancel(runs, installation.account, why)

    async def _cancel(self, runs: Sequence[str], by: str, why: str) -> int:
        """Cancel these runs; nobody can be told on GitHub, so only the record says why."""
        if runs:
            await self.steers.insert(
                runs, "no-ground", kind="cancel", via="installation", by=by, words=why
            )
            log.warning("runs cancelled", number=len(runs), account=by, why=why)
        return len(runs)

    async def _learn_owner(self, installation: KnownInstallation) -> None:
        """Remember whose a listed login is, the first time that it is seen."""
        if login := self.owners.unknown(installation.account):
            await self.stored.keep_owner(login, installation.account_id)
            self.owners.load_accounts(await self.stored.owners())
