"""The port `Source`: the repository of one run, as its stages see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from agents.errors import RunError
from agents.policy import Policy
from agents.ports import Merged, RunImage, SetupResult
from app.git.environment import CommitIdentity
from app.git.ref_names import branch_ref, pull_ref, tree_refs
from app.git.run_objects import RunObjects
from app.git.worktree.installed_dependencies import DependencyInstaller
from app.git.worktree.run_folders import remove_tree
from app.git.worktree.untrusted_git import RunFolders
from app.git.worktree.worktree import GitWorkTree, open_work_tree
from app.sandbox.port import HOME, Sandbox
from app.secrets.bait import RunBait

_LISTED = 2
"""Of so many commits the files are known at a time: stages ask for those of base and head."""


class GitSource:
    """The port `Source` over a mirror and the run's checkpoints.

    `fetch`, `branch`, `pull` and `commit` update the mirror: the default branch, one branch, the
    head of a pull request, one commit. `about` is the number of the run's own issue or pull
    request. `identity` is the author of commits; `furnisher` installs dependencies; `conceal`
    redacts commit messages; `on_command` is told each command's seconds; `bait` is the run's.
    """

    def __init__(
        self,
        objects: RunObjects,
        root: Path,
        run_id: str,
        *,
        sandbox: Sandbox,
        fetch: Callable[[], Awaitable[str]],
        branch: Callable[[str, str], Awaitable[str | None]],
        pull: Callable[[int, str], Awaitable[str | None]] | None = None,
        commit: Callable[[str, str], Awaitable[object]] | None = None,
        about: int | None = None,
        identity: Callable[[], Awaitable[CommitIdentity]],
        furnisher: DependencyInstaller,
        conceal: Callable[[str], str],
        on_command: Callable[[float], object],
        bait: RunBait | None = None,
    ) -> None:
        self._bait = bait
        self._objects = objects
        self._mirror = objects.mirror
        self._root = root
        self._run_id = run_id
        self._sandbox = sandbox
        self._fetch = fetch
        self._branch = branch
        self._pull = pull
        self._commit = commit
        self._about = about
        self._identity = identity
        self._furnisher = furnisher
        self._conceal = conceal
        self._on_command = on_command
        self._here: set[str] = set()
        self._listed: dict[str, list[str]] = {}
        self._opened: list[GitWorkTree] = []

    @property
    def folder(self) -> Path:
        """Return the folder of the run's files, which exists while a work tree is open."""
        return RunFolders(self._root / self._run_id).files

    async def fetch(self) -> str:
        """Fetch the default branch and return its newest commit."""
        return await self._fetch()

    async def branch(self, name: str) -> str | None:
        """Fetch that branch and return its newest commit; None when it does not exist.

        The run remembers this commit, and the publisher overwrites no other.
        """
        ref = branch_ref(self._run_id, name)
        commit = await self._branch(name, ref)
        await self._objects.note(ref, commit)
        return commit

    async def pull(self, number: int) -> str | None:
        """Fetch the head of that pull request, forks included, and return its commit.

        None when it no longer exists.
        """
        if self._pull is None:
            return None
        ref = pull_ref(self._run_id, number)
        commit = await self._pull(number, ref)
        await self._objects.note(ref, commit)
        return commit

    async def merge(self, ours: str, theirs: str, *, base: str = "") -> Merged:
        """Merge two commits as git does, without touching a branch or work tree."""
        for commit in (ours, theirs, *([base] if base else ())):
            await self._hold(commit)
        folder = tree_refs(self._run_id)
        merged = await self._mirror.merge(ours, theirs, folder, base=base)
        await self._objects.record(f"{folder}/{merged.tree}", merged.tree, beyond=(ours, theirs))
        return merged

    async def overlay(self, old: str, new: str, paths: Sequence[str]) -> str:
        """Return the tree id of `old` with these paths as in `new`, absent ones included."""
        for each in (old, new):
            await self._hold(each)
        folder = tree_refs(self._run_id)
        tree = await self._mirror.overlay(old, new, paths, folder)
        await self._objects.record(f"{folder}/{tree}", tree, beyond=(old, new))
        return tree

    async def fork_point(self, one: str, other: str) -> str:
        """Return the merge base of two commits. Raises RunError when there is none."""
        for commit in (one, other):
            await self._hold(commit)
        return await self._mirror.fork_point(one, other)

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None when it has none there."""
        await self._hold(revision)
        return await self._mirror.show(revision, path)

    async def files(self, revision: str) -> list[str]:
        """Return the paths of all files of a commit."""
        await self._hold(revision)
        if revision not in self._listed:
            paths = await self._mirror.paths(revision)
            if len(self._listed) == _LISTED:
                del self._listed[next(iter(self._listed))]
            self._listed[revision] = paths
        return list(self._listed[revision])

    async def mentions(self, revision: str, text: str) -> bool:
        """Return whether any text file of a commit or tree holds these words."""
        await self._hold(revision)
        return await self._mirror.mentions(revision, text)

    async def commits(self, base: str, head: str) -> list[tuple[str, str]]:
        """Return id and subject of the commits after `base` up to `head`, oldest first."""
        for each in (base, head):
            await self._hold(each)
        return await self._mirror.log(base, head)

    async def parents(self, commit: str) -> tuple[str, ...]:
        """Return the ids of the commits that this one was made on."""
        await self._hold(commit)
        return (await self._mirror.parts_of(commit)).parents

    async def message(self, commit: str) -> str:
        """Return the whole message of a commit."""
        await self._hold(commit)
        return await self._mirror.message(commit)

    async def find_image(self, wanted: RunImage) -> RunImage:
        """Return the image with its id, or with why it is not used here."""
        return await self._furnisher.find_image(wanted)

    async def set_up(
        self, base: str, policy: Policy, image: RunImage | None = None, *, own: bool = False
    ) -> SetupResult:
        """Install the dependencies as of `base`, before its work tree is opened."""
        await self._hold(base)
        furnisher = await self._furnisher.enter(image)
        return await furnisher.set_up(base, policy, own=own)

    async def open(self, base: str, policy: Policy, image: RunImage | None = None) -> GitWorkTree:
        """Return the run's work tree, created from `base` or as an earlier process left it."""
        await self._hold(base)
        furnisher = await self._furnisher.enter(image)
        sandbox = await self._find_sandbox(furnisher, base, policy)
        inside = furnisher.place(sandbox)
        tree = await open_work_tree(
            self._objects,
            self._root,
            self._run_id,
            base,
            sandbox=sandbox,
            inside=inside,
            policy=policy,
            identity=await self._identity(),
            furnish=partial(furnisher.find_mounts, policy=policy),
            add=lambda commit, argv: furnisher.open_addition(commit, policy, inside, argv),
            lend=partial(furnisher.lend_kits, base, inside),
            conceal=self._conceal,
            on_command=self._on_command,
            bait=self._bait,
        )
        self._opened.append(tree)
        return tree

    async def _find_sandbox(
        self, furnisher: DependencyInstaller, base: str, policy: Policy
    ) -> Sandbox:
        """Return the run's sandbox: as whom its packages were installed, if no other run is that.

        What lies in the home folder it then adds to in layers; as another user, in copies.
        """
        installed = (await furnisher.find_mounts(base, policy)).mounts
        at_home = (each.source for each in installed if each.target.startswith(f"{HOME}/"))
        return self._sandbox.for_run(self._root / self._run_id, next(at_home, None))

    async def recover(self) -> None:
        """Have here what earlier processes of the run have made, on whatever machine.

        Raises TransientError when GitHub cannot be reached. What is nowhere any more is missed by
        whoever needs it.
        """
        await self._objects.restore(self._fetch, self._commit)

    async def _hold(self, commit: str) -> None:
        """Have the commit, also when the mirror was lost: disks are cleaned, workers replaced.

        Asked once of each: git answers what it does not hold as if there were no such file.
        """
        if commit in self._here:
            return
        if not await self._mirror.holds(commit):
            await self._find(commit)
        self._here.add(commit)

    async def _find(self, commit: str) -> None:
        await self.recover()
        if not await self._mirror.holds(commit):
            await self._fetch()
        if self._about is not None and not await self._mirror.holds(commit):
            await self.pull(self._about)  # its branch may lie in a fork
        if not await self._mirror.holds(commit):
            raise RunError(
                f"The commit {commit[:12]} that the run is built on is not in the repository any "
                f"more: its branch was deleted or rewritten. Ask again to start from what is there."
            )

    async def discard(self, *, forget: bool, parked: bool = False) -> None:
        """Delete the work tree; with `forget` also what keeps its commits.

        Programs that stay for it end. A `parked` run keeps the dependencies that were installed for
        it alone.
        """
        while self._opened:
            await self._opened.pop().close(forget=False)
        if not parked:
            await self._furnisher.forget()
        await asyncio.to_thread(remove_tree, self._root / self._run_id)
        self._sandbox.release(self._root / self._run_id)
        if forget:
            await self._objects.forget()
