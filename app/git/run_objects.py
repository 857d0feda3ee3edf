"""What one run made in a mirror, kept there under its refs and as checkpoints elsewhere.

A mirror can be made again from GitHub, but for what a run made and has not pushed. So each object
is in a checkpoint before anybody is told its id, and a run goes on wherever its checkpoints are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import structlog

from agents.errors import RunError
from app.git.errors import GitFailed
from app.git.mirror.mirror import Mirror
from app.git.ref_names import RUN_REFS, require_revision, run_refs

PACK_LIMIT = 200_000_000

log = structlog.get_logger()


class Checkpoints(Protocol):
    """Where the packs of one run are kept, in the order in which they were added."""

    async def refs(self) -> dict[str, str]:
        """Return the object id of each ref."""
        ...

    async def packs(self) -> list[bytes]:
        """Return the packs."""
        ...

    async def add(self, refs: Mapping[str, str], pack: bytes = b"") -> None:
        """Keep refs with a pack of what they lead to; an empty id takes a ref away.

        Raises RunError for more than may be kept of a run.
        """
        ...

    async def forget(self) -> None:
        """Delete all of them."""
        ...


class NoCheckpoints:
    """For work that is done again where its files are lost, like installing dependencies."""

    async def refs(self) -> dict[str, str]:
        """Return none."""
        return {}

    async def packs(self) -> list[bytes]:
        """Return none."""
        return []

    async def add(self, refs: Mapping[str, str], pack: bytes = b"") -> None:
        """Keep nothing."""

    async def forget(self) -> None:
        """Do nothing."""


class RunObjects:
    """The objects of one run: in its repository's mirror, and in its checkpoints."""

    def __init__(self, mirror: Mirror, run_id: str, checkpoints: Checkpoints | None = None) -> None:
        self.mirror = mirror
        self._folder = run_refs(run_id)
        self._checkpoints = checkpoints or NoCheckpoints()
        self._turn = asyncio.Lock()
        self._kept: dict[str, str] | None = None
        """The refs in the checkpoints, read once: only this process adds to them meanwhile."""

    async def take_in(self, ref: str, oid: str, pack: bytes) -> None:
        """Import a pack from a sandbox, and keep the object that it was made for.

        Raises RunError when the pack is not sound, or more than is kept of a run.
        """
        try:
            await self.mirror.import_pack(pack, PACK_LIMIT)
        except GitFailed as error:
            raise RunError(
                "The files make no sound git tree, so they cannot be committed. Look for files "
                "with odd names or permissions among the changes, then ask again."
            ) from error
        await self._add({ref: oid}, pack)
        await self.mirror.keep(ref, oid)

    async def record(self, ref: str, oid: str, *, beyond: Sequence[str] = ()) -> None:
        """Add an object that the mirror keeps under this ref, less what `beyond` leads to.

        Without `beyond` it is packed alone: a commit whose tree is kept already.
        """
        if (await self._refs()).get(ref) != oid:
            await self._add({ref: oid}, await self._pack(oid, beyond))

    async def note(self, ref: str, oid: str | None) -> None:
        """Remember what a ref names that was fetched, and can be fetched again."""
        if (await self._refs()).get(ref, "") != (oid or ""):
            await self._add({ref: oid or ""})

    async def restore(
        self,
        fetch: Callable[[], Awaitable[object]],
        fetch_commit: Callable[[str, str], Awaitable[object]] | None = None,
    ) -> None:
        """Have in the mirror what the checkpoints have. What nobody has any more stays away.

        `fetch` brings what GitHub has; `fetch_commit` one commit, under a ref. Raises
        TransientError when GitHub cannot be reached.
        """
        async with self._turn:
            await self._adopt()
            wanted, here = await self._refs(), await self.mirror.list_refs(self._folder)
            if lost := {ref: oid for ref, oid in wanted.items() if here.get(ref) != oid}:
                log.info("restoring what the run has made", refs=len(lost))
                await self._restore(lost, fetch, fetch_commit)

    async def adopt(self) -> None:
        """Make the first checkpoint of a run whose objects are in the mirror alone.

        It was begun by a version that kept them nowhere else.
        """
        async with self._turn:
            await self._adopt()

    async def forget(self) -> None:
        """Delete the refs and the checkpoints."""
        await self._checkpoints.forget()
        self._kept = None
        await self.mirror.forget(self._folder)

    async def _restore(
        self,
        lost: Mapping[str, str],
        fetch: Callable[[], Awaitable[object]],
        fetch_commit: Callable[[str, str], Awaitable[object]] | None,
    ) -> None:
        await _attempt(fetch)
        for ref, oid in lost.items():
            if fetch_commit and _is_fetched(ref) and not await self.mirror.holds(oid):
                await _attempt(partial(fetch_commit, oid, ref))
        for pack in await self._checkpoints.packs():
            await _attempt(partial(self.mirror.import_pack, pack, PACK_LIMIT))
        found = {ref: oid for ref, oid in lost.items() if await self.mirror.holds(oid)}
        await self.mirror.keep_all(found)

    async def _adopt(self) -> None:
        if await self._refs() or not (refs := await self.mirror.list_refs(self._folder)):
            return
        fetched = [oid for ref, oid in refs.items() if _is_fetched(ref)]
        made = [oid for ref, oid in refs.items() if not _is_fetched(ref)]
        pack = await self.mirror.pack(made, fetched) if made else b""
        await self._add(refs, pack)

    async def _pack(self, oid: str, beyond: Sequence[str]) -> bytes:
        if not beyond:
            return await self.mirror.pack_alone(oid)
        return await self.mirror.pack([oid], beyond)

    async def _refs(self) -> dict[str, str]:
        if self._kept is None:
            self._kept = await self._checkpoints.refs()
        return self._kept

    async def _add(self, refs: Mapping[str, str], pack: bytes = b"") -> None:
        kept = await self._refs()
        await self._checkpoints.add({require_revision(ref): oid for ref, oid in refs.items()}, pack)
        kept |= refs


async def _attempt(work: Callable[[], Awaitable[object]]) -> None:
    """Do it; what cannot be had is missed by whoever needs it, who says so to people."""
    try:
        await work()
    except RunError as error:
        log.warning("not all of the run can be restored", reason=str(error))


def _is_fetched(ref: str) -> bool:
    """Tell whether GitHub has what a ref of a run names, or had it."""
    kind = ref.removeprefix(f"{RUN_REFS}/").split("/")[1]
    return kind in {"base", "branches", "pulls"}
