"""A person's own clone: commits are fetched from it, and a finished branch is put back.

Its checkout, index and other branches stay untouched. None of its hooks or configured commands
runs, since plumbing commands get Fettle's configuration on top of the clone's.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.errors import ConfigError, RunError
from app.git.environment import STRICT, CommitIdentity
from app.git.errors import GitFailed
from app.git.git_runner import Git
from app.git.objects import GitObjects
from app.git.ref_names import FETCHED, any_branch, object_id, own_branch, require_revision
from app.sandbox.output_buffer import FileSink

if TYPE_CHECKING:
    from app.git.mirror.mirror import Mirror

_HISTORY_LIMIT = 20_000_000_000
_TIMEOUT = 1800
_ID = re.compile(rb"^[0-9a-f]{40}(?:[0-9a-f]{24})?$", re.MULTILINE)
_LONGEST_LIST = 64 * 2**20
_LACKS_FILES = (
    "This clone was made with `--filter`, and lacks files of the commit that is looked at. Have git"
    " fetch all of them, `git fetch --refetch --no-filter`, then try again."
)


@dataclass(frozen=True)
class CheckedOutHead:
    """The commit that a clone has checked out; `branch` is None when HEAD is detached."""

    commit: str
    branch: str | None


class UserClone:
    """A person's clone on this machine. Root runs git there as the clone's owner."""

    def __init__(self, path: Path) -> None:
        gitdir = _gitdir_of(path)
        status = gitdir.stat()
        self.git = Git(gitdir, owner=(status.st_uid, status.st_gid))
        self._objects = GitObjects(self.git)

    async def head(self) -> CheckedOutHead:
        """Return the checked-out commit. Raises ConfigError when there is no commit yet."""
        await asyncio.to_thread(_require_ordinary_files, self.git.gitdir)
        commit = await self._head_commit()
        try:
            name = await self.git.local("symbolic-ref", "--quiet", "HEAD")
        except GitFailed:
            return CheckedOutHead(commit, None)
        return CheckedOutHead(commit, name.decode().strip().removeprefix("refs/heads/"))

    async def bring(self, mirror: Mirror) -> str:
        """Copy the history of HEAD into the mirror and return its commit."""
        commit = (await self.head()).commit
        await self._bring(mirror, commit, f"{FETCHED}/local/{commit}")
        return commit

    async def bring_branch(self, mirror: Mirror, branch: str, ref: str) -> str | None:
        """Copy the history of this branch into the mirror under `ref`; return its commit.

        None when the clone has no such branch.
        """
        await asyncio.to_thread(_require_ordinary_files, self.git.gitdir)
        commit = await self._objects.resolve(any_branch(branch))
        if commit is not None:
            await self._bring(mirror, commit, ref)
        return commit

    async def _bring(self, mirror: Mirror, commit: str, ref: str) -> None:
        if await mirror.resolve(ref) == commit:
            return
        shallow = await self._shallow()
        with _scratch_file() as pack:
            try:
                await _pack(self.git, [commit], pack)
            except GitFailed:
                if not await self._is_partial():
                    raise
                shallow = {commit.encode()}
                await self._pack_alone(commit, pack)
            async with mirror.lock():
                _cut_off(mirror.gitdir / "shallow", shallow)
            await mirror.import_pack(pack, _HISTORY_LIMIT)
        await mirror.keep(ref, commit)

    async def _pack_alone(self, commit: str, pack: int) -> None:
        """Write a pack of the commit without the history of which a partial clone lacks files.

        Raises RunError where it lacks files of the commit itself, as beside a sparse checkout.
        """
        os.ftruncate(pack, 0)
        try:
            await _pack(self.git, [f"--shallow {commit}", commit], pack, "--shallow")
        except GitFailed as error:
            raise RunError(_LACKS_FILES) from error

    async def remotes(self) -> dict[str, str]:
        """Return the addresses of the remotes by name, as the clone's configuration has them."""
        only = ("--local", "--no-includes", "--null", "--get-regexp")
        try:
            listed = await self.git.local("config", *only, r"^remote\..+\.url$")
        except GitFailed:  # there is none, or the file is no settings
            return {}
        pairs = (each.partition("\n") for each in listed.decode("utf-8", "replace").split("\0"))
        return {
            key.removeprefix("remote.").removesuffix(".url"): url for key, _, url in pairs if url
        }

    async def lend(self, mirror: Mirror, remote: str, folder: str) -> bool:
        """Copy what was fetched from this remote into the mirror, under this folder of refs.

        Local branches stay out. False when nothing was fetched, or when the history is shallow, or
        lacks files, and so is of no use.
        """
        theirs = require_revision(f"refs/remotes/{remote}")
        listed = await self.git.local("for-each-ref", "--format=%(objectname)", f"{theirs}/")
        commits = list(dict.fromkeys(map(object_id, listed.decode().split())))
        if not commits or await self._cut() or await self._is_partial():
            return False
        with _scratch_file() as pack:
            await _pack(self.git, commits, pack)
            await mirror.import_pack(pack, _HISTORY_LIMIT)
        await mirror.keep_all({f"{folder}/{each}": each for each in commits})
        return True

    async def deliver(self, mirror: Mirror, commit: str, branch: str) -> None:
        """Create the branch `bot/...` in the clone at the commit; repeating that is safe.

        Raises RunError when the branch stands at another commit, which is somebody's.
        """
        ref = own_branch(branch)
        now = await self._objects.resolve(ref)
        if now == commit:
            return
        if now is not None:
            raise RunError(
                f"The branch `{branch}` is there already, at {now[:12]}. Fettle leaves it alone. "
                f"Delete or rename it, then ask again."
            )
        known = [f"^{(await self.head()).commit}"]
        with _scratch_file() as pack:
            await _pack(mirror.git, [commit, *known], pack)
            await self.git.local(
                "index-pack", "--stdin", STRICT, "--fix-thin", stdin=pack, timeout=_TIMEOUT
            )
        identity = CommitIdentity("Fettle", "fettle@localhost")
        await self.git.local(
            "update-ref",
            ref,
            object_id(commit),
            "0" * len(commit),
            environment=identity.environment(),
        )

    async def _head_commit(self) -> str:
        try:
            found = await self.git.local("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except GitFailed as error:
            raise ConfigError(
                f"`{self.git.gitdir}` has nothing checked out. Commit something, then try again."
            ) from error
        return found.decode().strip()

    async def _cut(self) -> bool:
        """Return whether it is shallow; whoever laid a trap there has it looked at, never read."""
        named = await self.git.local("rev-parse", "--git-path", "shallow")
        return _is_there(Path("/", os.fsdecode(named.rstrip(b"\n"))))

    async def _is_partial(self) -> bool:
        """Return whether it leaves objects at its remote until they are asked for.

        https://git-scm.com/docs/partial-clone
        """
        partial = r"^(extensions\.partialclone|remote\..+\.promisor)$"
        try:
            await self.git.local("config", "--local", "--no-includes", "--get-regexp", partial)
        except GitFailed:
            return False
        return True

    async def _shallow(self) -> set[bytes]:
        """Return the commits where a shallow clone's history was cut off."""
        named = await self.git.local("rev-parse", "--git-path", "shallow")
        return _commits_in(Path("/", os.fsdecode(named.rstrip(b"\n"))))


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _commits_in(path: Path) -> set[bytes]:
    """Return the ids that a file lists, and nothing else of it: it may lead to anybody's file."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return set()
    with os.fdopen(opened, "rb") as file:
        ordinary = stat.S_ISREG(os.fstat(opened).st_mode)
        return set(_ID.findall(file.read(_LONGEST_LIST))) if ordinary else set()


def _cut_off(path: Path, shallow: set[bytes]) -> None:
    """Let the mirror know where its history ends, so that git does not miss the parents."""
    if shallow:
        lines = _commits_in(path) | shallow
        path.write_bytes(b"".join(line + b"\n" for line in sorted(lines)))


def _gitdir_of(path: Path) -> Path:
    start = path.expanduser().resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder / ".git"
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return folder
    raise ConfigError(f"`{path}` is not in a git repository. Name a clone.")


def _require_ordinary_files(gitdir: Path) -> None:
    """Raise ConfigError where git would wait for a pipe or a device: its files are plain ones.

    Sockets stay: git's own file watcher has one, and opening one fails at once.
    """
    inside = (Path(folder, name) for folder, _, names in os.walk(gitdir) for name in names)
    for path in (gitdir, *inside):
        try:
            mode = path.stat().st_mode
        except OSError:
            continue  # a link to nowhere, or gone
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ConfigError(
                f"`{path}` is a pipe or a device, and git would wait for it for ever. No clone has"
                " such files: find out who put it there, and remove it."
            )


async def _pack(git: Git, revisions: list[str], target: int, *how: str) -> None:
    """Write a pack of what the revisions lead to; afterwards `target` reads from its start.

    https://git-scm.com/docs/git-pack-objects
    """
    await git.local(
        "pack-objects",
        "-q",
        "--revs",
        "--thin",
        "--stdout",
        "--delta-base-offset",
        *how,
        stdin="\n".join(revisions).encode() + b"\n",
        timeout=_TIMEOUT,
        out=FileSink(target, _HISTORY_LIMIT),
    )
    os.lseek(target, 0, os.SEEK_SET)


@contextmanager
def _scratch_file() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()
