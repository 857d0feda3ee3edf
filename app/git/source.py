"""Step 9: the repository of one run, as the workshop sees it: the port `Source`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from agents.policy import Policy
from agents.ports import SetupResult
from app.git.environment import Identity
from app.git.furnishing import Furnisher
from app.git.inside import Places
from app.git.mirror import Mirror
from app.git.names import run_refs
from app.git.worktree import GitWorkTree, open_work_tree, remove_tree
from app.sandbox.base import Sandbox


class GitSource:
    """The port `Source` over a mirror.

    `fetch` brings the mirror up to date and returns the newest commit of the default branch;
    `identity` says in whose name commits are made; `furnisher` installs dependencies; `conceal`
    takes secrets out of commit messages; `on_command` hears how long commands took.
    """

    def __init__(
        self,
        mirror: Mirror,
        root: Path,
        run_id: str,
        *,
        sandbox: Sandbox,
        fetch: Callable[[], Awaitable[str]],
        identity: Callable[[], Awaitable[Identity]],
        furnisher: Furnisher,
        conceal: Callable[[str], str],
        on_command: Callable[[float], object],
    ) -> None:
        self._mirror = mirror
        self._root = root
        self._run_id = run_id
        self._sandbox = sandbox
        self._fetch = fetch
        self._identity = identity
        self._furnisher = furnisher
        self._conceal = conceal
        self._on_command = on_command

    @property
    def folder(self) -> Path:
        """Return the folder of the run's files, which exists while a work tree is open."""
        return Places(self._root / self._run_id).files

    async def fetch(self) -> str:
        """Bring the default branch up to date and return the id of its newest commit."""
        return await self._fetch()

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None when it has none there."""
        return await self._mirror.show(revision, path)

    async def files(self, revision: str) -> list[str]:
        """Return the paths of all files of a commit."""
        return await self._mirror.paths(revision)

    async def subjects(self, base: str, head: str) -> list[str]:
        """Return the subjects of the commits after `base` up to `head`, oldest first."""
        return [subject for _, subject in await self._mirror.log(base, head)]

    async def set_up(self, base: str, policy: Policy) -> SetupResult:
        """Install what the repository needs as of `base`, before anything opens a work tree."""
        await self._hold(base)
        return await self._furnisher.set_up(base, policy)

    async def open(self, base: str, policy: Policy) -> GitWorkTree:
        """Return the run's work tree, made from `base` or as an earlier process left it."""
        await self._hold(base)
        return await open_work_tree(
            self._mirror,
            self._root,
            self._run_id,
            base,
            sandbox=self._sandbox,
            policy=policy,
            identity=await self._identity(),
            furnish=partial(self._furnisher.furnishing, base, policy),
            conceal=self._conceal,
            on_command=self._on_command,
        )

    async def _hold(self, base: str) -> None:
        if not await self._mirror.holds(base):
            await self._fetch()  # the mirror was lost since: disks are cleaned, caches dropped

    async def discard(self, *, forget: bool) -> None:
        """Remove the work tree; with `forget` also the hidden refs that keep its commits."""
        await self._furnisher.forget()
        await asyncio.to_thread(remove_tree, self._root / self._run_id)
        if forget:
            await self._mirror.forget(run_refs(self._run_id))
