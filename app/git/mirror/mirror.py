"""The bare mirrors of repositories: all that runs fetch, commit and push is in them."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from agents.errors import RunError
from agents.ports import Merged
from app.git.environment import STRICT, CommitIdentity
from app.git.errors import GitFailed
from app.git.git_runner import Git
from app.git.locks import file_lock, remove_git_locks
from app.git.mirror.merge import merge, overlay
from app.git.mirror.notes import publish_note
from app.git.mirror.push import delete_hidden_ref, push, push_hidden_ref, remote_id
from app.git.objects import GitObjects
from app.git.ref_names import (
    FETCHED,
    any_branch,
    fetched_branch,
    object_id,
    pull_head,
    pushed_branch,
    require_revision,
)
from app.network.outbound import DIRECT, Outbound
from app.sandbox.path_permissions import make_passable

_ALL = f"+refs/heads/*:{FETCHED}/*"
_FETCH_TIMEOUT = 1800
_PACK = ("pack-objects", "-q", "--stdout", "--delta-base-offset")
_PACK_MEMORY = 2_000_000_000
"""Bytes that git may allocate to pack trees of strangers."""
_PACKS = 60
"""From so many packs on they are put together, so that git stays fast."""


class Mirror(GitObjects):
    """A bare repository without configured remotes: each call names its URL.

    `group` is the group of the sandbox's user, who reads the objects. A mirror holds one repository
    only, because a sandbox sees all of its objects.
    """

    def __init__(
        self,
        gitdir: Path,
        *,
        group: int | None = None,
        allow_files: bool = False,
        config: Mapping[str, str] | None = None,
        outbound: Outbound = DIRECT,
    ) -> None:
        super().__init__(
            Git(gitdir, allow_files=allow_files, config=config or {}, outbound=outbound)
        )
        self.gitdir = gitdir
        self._group = group
        self._turn = asyncio.Lock()
        self._taken = False
        """Whether this process has held the mirror before."""

    @property
    def objects(self) -> Path:
        """Return the folder of git objects."""
        return self.gitdir / "objects"

    def open_sibling(self, name: str) -> Mirror:
        """Return another mirror of the same kind in the same folder."""
        gitdir = self.gitdir.with_name(f"{name}-{self.gitdir.name}")
        git = self.git
        return Mirror(
            gitdir,
            group=self._group,
            allow_files=git.allow_files,
            config=git.config,
            outbound=git.outbound,
        )

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Hold this mirror against every other writer, and have it exist.

        Each git that is started meanwhile inherits the lock: one that outlives a killed Fettle
        keeps the next writer out. So git's own locks have no living owner when this one is taken.
        """
        make_passable(self.gitdir.parent)
        path = self.gitdir.with_name(f"{self.gitdir.name}.lock")
        async with self._turn, file_lock(path) as held:
            self.git.inherited.add(held.fd)
            try:
                if not (self.gitdir / "HEAD").exists():
                    await self._create()
                elif held.abandoned or not self._taken:
                    await asyncio.to_thread(remove_git_locks, self.gitdir)
                self._taken = True
                yield
            finally:
                self.git.inherited.remove(held.fd)

    async def fetch(self, url: str, token: str | None) -> None:
        """Fetch all branches. A broken mirror is created anew."""
        async with self.lock():
            try:
                await self._fetch(url, token, _ALL)
            except GitFailed:
                if await self._sound():
                    raise
                await self._create()
                await self._fetch(url, token, _ALL)
            await self._tidy()

    async def take_over(self, other: Mirror) -> bool:
        """Replace this mirror by the other one, which is gone then; False where branches exist."""
        async with self.lock():
            if await self.has_branches():
                return False
            shutil.rmtree(self.gitdir)
            other.gitdir.rename(self.gitdir)
        return True

    async def has_branches(self) -> bool:
        """Return whether any branch was ever fetched."""
        if not (self.gitdir / "HEAD").exists():
            return False
        return bool(await self.git.local("for-each-ref", "--count=1", f"{FETCHED}/"))

    async def compact(self) -> None:
        """Keep objects that refs lead to, and delete all others."""
        async with self.lock():
            await self.git.local("repack", "-a", "-d", "-q", timeout=_FETCH_TIMEOUT)
            await self.git.local("prune", "--expire=now", timeout=_FETCH_TIMEOUT)

    async def fetch_branch(self, url: str, token: str | None, branch: str, ref: str) -> str | None:
        """Fetch this branch under the hidden `ref` and return its newest commit.

        None when the branch does not exist; the ref is deleted then.
        """
        return await self._fetch_one(url, token, any_branch(branch), require_revision(ref))

    async def fetch_pull(self, url: str, token: str | None, number: int, ref: str) -> str | None:
        """Fetch the head of this pull request under the hidden `ref` and return its commit.

        None when it does not exist; the ref is deleted then.
        """
        return await self._fetch_one(url, token, pull_head(number), require_revision(ref))

    async def fetch_commit(self, url: str, token: str | None, commit: str, ref: str) -> None:
        """Fetch this commit under the hidden `ref`; RunError when it is not there any more."""
        async with self.lock():
            await self._fetch(url, token, f"+{object_id(commit)}:{require_revision(ref)}")

    async def _fetch_one(self, url: str, token: str | None, theirs: str, kept: str) -> str | None:
        async with self.lock():
            try:
                await self._fetch(url, token, f"+{theirs}:{kept}")
            except GitFailed:
                if await remote_id(self.git, url, token, theirs) is None:
                    await self.git.local("update-ref", "-d", kept)
                    return None
                if await self._sound():
                    raise
                await self._create()
                await self._fetch(url, token, _ALL, f"+{theirs}:{kept}")
        return await self.resolve(kept)

    async def head_of(self, branch: str) -> str:
        """Return the commit of a fetched branch; RunError when there is none."""
        commit = await self.resolve(fetched_branch(branch))
        if commit is None:
            raise RunError(f"The branch `{branch}` does not exist. Choose another, then ask again.")
        return commit

    async def push(
        self,
        url: str,
        token: str | None,
        commit: str,
        branch: str,
        expected: str | None,
        *,
        of_pull: str | None = None,
    ) -> None:
        """Push the commit to `bot/...`, if the branch is still at `expected` (None: absent).

        A commit that is already there is success. Raises Moved when somebody else pushed, RunError
        when GitHub refuses. `of_pull` is the only other branch that is accepted; the caller vouches
        for it.
        """
        await push(
            self.git,
            url,
            token,
            commit=object_id(commit),
            ref=pushed_branch(branch, of_pull),
            expected=expected,
        )

    async def push_hidden_ref(self, url: str, token: str | None, commit: str, ref: str) -> None:
        """Have the commit in the repository under a ref that is no branch."""
        await push_hidden_ref(
            self.git, url, token, commit=object_id(commit), ref=require_revision(ref)
        )

    async def delete_hidden_ref(self, url: str, token: str | None, ref: str) -> None:
        """Delete that ref again."""
        await delete_hidden_ref(self.git, url, token, require_revision(ref))

    async def publish_note(
        self, url: str, token: str | None, commit: str, note: bytes, identity: CommitIdentity
    ) -> None:
        """Put a note on a commit, in the repository too. Raises RunError where it is not taken."""
        async with self.lock():
            await publish_note(
                self.git, url, token, commit=object_id(commit), note=note, identity=identity
            )

    async def keep(self, ref: str, oid: str) -> None:
        """Keep an object under a hidden ref, so that no garbage collection deletes it."""
        await self.keep_all({ref: oid})

    async def list_refs(self, folder: str) -> dict[str, str]:
        """Return the object ids of all refs below this folder of refs."""
        if not (self.gitdir / "HEAD").exists():
            return {}
        how = "--format=%(refname) %(objectname)"
        listed = await self.git.local("for-each-ref", how, f"{require_revision(folder)}/")
        return dict(line.split(" ") for line in listed.decode().splitlines())

    async def pack(self, oids: Iterable[str], beyond: Iterable[str]) -> bytes:
        """Return a thin pack of what these objects lead to, and none of `beyond` does.

        Each of `beyond` is a commit or tree: beside a tree git leaves out trees alone.
        """
        left_out = [f"^{oid}{peel}" for oid in map(object_id, beyond) for peel in ("", "^{tree}")]
        lines = "".join(f"{each}\n" for each in (*map(object_id, oids), *left_out)).encode()
        return await self.git.local(*_PACK, "--revs", "--thin", stdin=lines, memory=_PACK_MEMORY)

    async def pack_alone(self, oid: str) -> bytes:
        """Return a pack of this one object."""
        return await self.git.local(*_PACK, stdin=f"{object_id(oid)}\n".encode())

    async def keep_all(self, oids: Mapping[str, str]) -> None:
        """Keep objects, each under its hidden ref."""
        lines = (f"update {require_revision(ref)} {object_id(oid)}\n" for ref, oid in oids.items())
        async with self.lock():
            await self.git.local("update-ref", "--stdin", stdin="".join(lines).encode())

    async def forget(self, folder: str) -> None:
        """Delete every ref below this folder of refs."""
        async with self.lock():
            listed = await self.git.local(
                "for-each-ref", "--format=delete %(refname)", f"{folder}/"
            )
            if listed:
                await self.git.local("update-ref", "--stdin", stdin=listed)

    async def merge(self, ours: str, theirs: str, folder: str, *, base: str = "") -> Merged:
        """Merge two commits, and keep the resulting tree under this folder of refs."""
        async with self.lock():
            tree, paths = await merge(self, ours, theirs, base)
            await self.git.local("update-ref", require_revision(f"{folder}/{tree}"), tree)
        return Merged(tree=tree, conflicts=tuple(map(_readable, paths)))

    async def overlay(self, old: str, new: str, paths: Collection[str], folder: str) -> str:
        """Return the tree of `old` with these paths as in `new`, kept under this folder of refs."""
        async with self.lock():
            tree = await overlay(self, old, new, paths)
            await self.git.local("update-ref", require_revision(f"{folder}/{tree}"), tree)
        return tree

    async def commit(
        self,
        ref: str,
        tree: str,
        parent: str,
        *,
        message: str,
        identity: CommitIdentity,
        merging: str = "",
    ) -> str:
        """Return the commit that `ref` remembers; create it the first time, without any check."""
        parents = [parent, merging] if merging else [parent]
        async with self.lock():
            known = await self.resolve(ref)
            if known is not None:
                return known
            made = await self.git.local(
                "commit-tree",
                *(option for each in parents for option in ("-p", object_id(each))),
                "-F",
                "-",
                object_id(tree),
                stdin=message.encode(),
                environment=identity.environment(),
            )
            commit = made.decode().strip()
            await self.git.local("update-ref", require_revision(ref), commit)
        return commit

    async def import_pack(self, pack: int | bytes, limit: int) -> None:
        """Import a pack, or that in a file descriptor, of at most `limit` bytes, and check it.

        https://git-scm.com/docs/git-index-pack
        """
        checks = ("--stdin", STRICT, "--fix-thin", f"--max-input-size={limit}")
        async with self.lock():
            await self.git.local("index-pack", *checks, stdin=pack, timeout=600)

    async def _create(self) -> None:
        """Make an empty mirror in the place of whatever was there."""
        shutil.rmtree(self.gitdir, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=self.gitdir.parent))
        await Git(fresh).local("init", "--bare", "--quiet", "--template=")
        _install(fresh, self.gitdir, self._group)

    async def _fetch(self, url: str, token: str | None, *refs: str) -> None:
        how = ("--no-tags", "--no-write-fetch-head", "--prune", "--quiet", "--update-shallow")
        await self.git.network(
            "fetch",
            *how,
            "--end-of-options",
            url,
            *refs,
            url=url,
            token=token,
            timeout=_FETCH_TIMEOUT,
        )

    async def _sound(self) -> bool:
        """Tell whether all objects that refs lead to are here and whole."""
        checks = ("--connectivity-only", "--no-dangling", "--no-progress")
        try:
            await self.git.local("fsck", *checks, timeout=_FETCH_TIMEOUT)
        except GitFailed:
            return False
        return True

    async def _tidy(self) -> None:
        """Put many packs together; what a run may still need is younger than two weeks."""
        if sum(1 for _ in (self.objects / "pack").glob("*.pack")) < _PACKS:
            return
        await self.git.local("gc", "--quiet", "--prune=2.weeks.ago", timeout=_FETCH_TIMEOUT)


def _readable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _install(fresh: Path, gitdir: Path, group: int | None) -> None:
    """Put a new mirror in its place, for the sandbox's user to read and nobody else."""
    if os.geteuid() == 0 and group is not None:
        os.chown(fresh, -1, group)
    fresh.chmod(0o750)
    fresh.rename(gitdir)


class Mirrors:
    """Finds mirrors by repository id; one object for each, since the object holds the lock."""

    def __init__(self, root: Path, *, group: int, outbound: Outbound = DIRECT) -> None:
        self._root = root
        self._group = group
        self._outbound = outbound
        self._open: dict[int, Mirror] = {}

    def open_mirror(self, repository_id: int) -> Mirror:
        """Return the mirror of this repository; the first fetch creates it on disk."""
        if repository_id not in self._open:
            gitdir = self._root / f"{repository_id}.git"
            self._open[repository_id] = Mirror(gitdir, group=self._group, outbound=self._outbound)
        return self._open[repository_id]
