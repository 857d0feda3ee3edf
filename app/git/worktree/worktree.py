"""Step 9: the disposable work tree of one run, and the commits that are made of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agents.errors import RunError
from agents.policy import Policy
from agents.ports import CommandResult, Kit, Network
from app.git.environment import CommitIdentity
from app.git.ref_names import commit_ref, object_id, run_refs, tree_refs
from app.git.run_objects import PACK_LIMIT, RunObjects
from app.git.worktree.change_limits import ChangeLimits, require_harmless
from app.git.worktree.installed_dependencies import (
    CommandMounts,
    make_empty_mounts,
    nothing_to_add_to,
    nothing_to_lend,
)
from app.git.worktree.overlay import lay_copies
from app.git.worktree.residents import Lend
from app.git.worktree.run_folders import built_for, lay_out, remove_tree
from app.git.worktree.safe_open import open_file, read_file, write_file
from app.git.worktree.sandbox_commands import Add, Furnish, SandboxCommands
from app.git.worktree.untrusted_git import RunFolders, UntrustedGit
from app.sandbox.port import Sandbox
from app.secrets.bait import RunBait

_MOST_FILES, _MOST_BYTES = 200_000, 4_000_000_000
_LIST_LIMIT = 4_000_000


@dataclass
class _Known:
    """What this process knows of the files without looking: nothing once others could write."""

    at: str = ""
    """The commit or tree that they were put back to."""
    scrubbed: bool = False
    """Whether nothing that git ignores lies beside it, nor anything of commands in their home."""
    taken: str = ""
    """The tree that they were last taken as."""

    def forget(self, argv: Sequence[str] = (), *, writable: bool = True) -> None:
        """Note that this may write; a command that only reads writes to its home folder."""
        if writable:
            self.at = self.taken = ""
        self.scrubbed = self.scrubbed and not writable and argv[:1] == ["rg"]

    def note_taken(self, tree: str) -> None:
        """Note which tree the files are."""
        self.taken = tree


class GitWorkTree:
    """A work tree whose files belong to the sandbox's user; `open_work_tree` makes it.

    Git never runs on its files outside of a sandbox, and never in the agent's git directory.
    """

    def __init__(
        self,
        objects: RunObjects,
        run_id: str,
        base: str,
        *,
        places: RunFolders,
        sandbox: Sandbox,
        policy: Policy,
        identity: CommitIdentity,
        limits: ChangeLimits,
        commands: SandboxCommands,
        conceal: Callable[[str], str],
        bait: RunBait | None = None,
    ) -> None:
        self._bait = bait
        self._objects = objects
        self._mirror = objects.mirror
        self._places = places
        self._run_id = run_id
        self._base = base
        self._known = base
        self._sandbox = sandbox
        self._policy = policy
        self._identity = identity
        self._limits = limits
        self._commands = commands
        self._set_up_for = base
        self._conceal = conceal
        self._inside = UntrustedGit(sandbox, self._mirror.gitdir, places)
        self._index = asyncio.Lock()
        self._files = _Known()

    async def read(self, path: str, *, limit: int = 1_000_000) -> bytes:
        """Return a regular file's bytes.

        Raises ToolError for symlinks and other files, and for a file above `limit` bytes.
        """
        for folder, installed in (await self._furnish()).within.items():
            if path.startswith(f"{folder}/"):
                return read_file(installed, path.removeprefix(f"{folder}/"), limit)
        return read_file(self._places.files, path, limit)

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file and its folders. Raises ToolError if the path leaves."""
        self._files.forget()
        write_file(self._places.files, path, data, self._sandbox.owner)

    async def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        writable: bool = True,
        max_output: int = 64_000,
        network: Network = "none",
    ) -> CommandResult:
        """Run a command in the sandbox with the work tree as its folder.

        With the network `indexes` it can install dependencies, which are kept only if the command
        ended by itself. `timeout` is in seconds.
        """
        self._files.forget(argv, writable=writable)
        try:
            result = await self._commands.run(
                argv,
                timeout=timeout,
                writable=writable,
                max_output=max_output,
                network=network,
                set_up_for=self._set_up_for,
            )
        finally:
            self._files.forget(argv, writable=writable)
        if self._bait is not None:
            self._bait.require_none("the output of a command", result.output)
        return result

    async def ask(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        kits: Sequence[Kit] = (),
        max_output: int = 64_000,
        shared_home: str = "",
    ) -> CommandResult:
        """Run a command of Fettle's that reads from package indexes; its files are dropped."""
        self._files.forget()
        return await self._commands.ask(
            argv, timeout=timeout, kits=kits, max_output=max_output, shared_home=shared_home
        )

    async def converse(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit] = ()
    ) -> bytes | None:
        """Ask a program of Fettle's that stays for the next question, and sees none of the files.

        None where none can stay, or it gave no answer in time.
        """
        return await self._commands.residents.ask(argv, line, timeout=timeout, kits=kits)

    async def use_set_up(self, commit: str) -> None:
        """Give later commands what was installed for that commit, from the next restore on."""
        self._set_up_for = object_id(commit)
        self._files.forget()

    async def list_install_commands(self) -> Sequence[str]:
        """Return the commands that installed something with the network `indexes`, in order."""
        return (await self._furnish()).added

    async def snapshot(self) -> str:
        """Return the git tree id of the present files, and keep its objects."""
        async with self._index:
            if self._files.taken:
                return self._files.taken
            if self._files.at in (self._base, self._known):  # both are kept already
                tree = await self._mirror.tree_of(self._files.at)
                self._files.note_taken(tree)
                return tree
            tree = await self._inside.snapshot(self._known, self._base)
            if tree != self._known:
                await self._import(tree)
                self._known = tree
            self._files.note_taken(tree)
        return tree

    async def restore(self, tree: str, *, pristine: bool = False) -> None:
        """Reset the files to that commit or tree; untracked files are deleted.

        Ignored files stay, unless `pristine` is set.
        """
        async with self._index:
            known = self._files
            if tree in (known.at, known.taken) and known.scrubbed >= pristine:
                return
            known.forget()
            await self._inside.restore(tree, pristine=pristine)
            if pristine:
                for folder in self._places.kept:
                    await asyncio.to_thread(remove_tree, folder)
                self._lay_copies(await self._furnish())
            self._files = _Known(tree, scrubbed=pristine)

    async def commit(
        self,
        tree: str,
        parent: str,
        message: str,
        *,
        permitted: Mapping[str, str] | None = None,
        merging: str = "",
        proposes_policy: bool = False,
        moves_action: str = "",
    ) -> str:
        """Return the id of the commit of `tree` on `parent`; equal arguments give an equal id."""
        ref = commit_ref(self._run_id, object_id(tree), object_id(parent), message, merging)
        commit = await self._mirror.resolve(ref)
        if commit is None:
            judged = partial(require_harmless, self._mirror, self._policy, parent, tree)
            judged = partial(judged, self._limits, permitted=permitted, merging=merging)
            await judged(proposes_policy=proposes_policy, moves_action=moves_action)
            await self._require_no_bait(parent, tree, message)
            words = self._conceal(message)  # an issue may hold a token, and the model repeat it
            make = partial(self._mirror.commit, ref, tree, parent, message=words)
            commit = await make(identity=self._identity, merging=merging)
        await self._objects.record(ref, commit)
        async with self._index:
            await self._inside.advance(commit)
        return commit

    async def _require_no_bait(self, parent: str, tree: str, message: str) -> None:
        """Raise BaitTaken for a commit in whose changes or message the run's bait stands."""
        if self._bait is None:
            return
        self._bait.require_none("the message of a commit", message)
        for change in await self._mirror.changes(parent, tree):
            if change.mode not in ("000000", "160000"):
                data = await self._mirror.blob(change.oid)
                text = f"{change.path}\n{data.decode('utf-8', 'replace')}"
                self._bait.require_none("a file of a commit", text)

    async def diff(self, old: str, new: str, *, context: int = 3) -> str:
        """Return the unified diff between two commits or trees."""
        return await self._mirror.diff(old, new, context=context)

    async def list_changed_paths(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits or trees."""
        return await self._mirror.list_changed_paths(old, new)

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None; never reads the work tree."""
        return await self._mirror.show(revision, path)

    @property
    def files(self) -> Path:
        """Return the folder of the files."""
        return self._places.files

    async def list_ignored(self) -> list[str]:
        """Return the ignored files in the tree, and ignored folders with a trailing `/`.

        Names that are not UTF-8 are left out. Raises ToolError when there are too many.
        """
        async with self._index:
            await self._inside.collect_ignored()
        listed = read_file(self._places.quarantine, "ignored", _LIST_LIMIT).split(b"\0")
        return [path.decode() for path in listed if path and _is_text(path)]

    async def close(self, *, forget: bool = True) -> None:
        """Delete the files; with `forget` also what keeps trees and commits."""
        await self._commands.residents.close()
        await asyncio.to_thread(remove_tree, self._places.run)
        if forget:
            await self._objects.forget()

    async def prepare(self) -> None:
        """Create the files of the base, unless an earlier process of this run has left its own."""
        base = f"{run_refs(self._run_id)}/base"
        await self._objects.note(base, self._base)
        await self._mirror.keep(base, self._base)
        if built_for(self._places) == self._base:
            return
        await self._mirror.require_checkout_size(self._base, files=_MOST_FILES, total=_MOST_BYTES)
        await asyncio.to_thread(lay_out, self._places, self._sandbox.owner)
        await self._inside.checkout(self._base, self._base)
        self._lay_copies(await self._furnish())
        self._places.ready.write_text(self._base)
        self._files = _Known(self._base, scrubbed=True)

    async def _furnish(self) -> CommandMounts:
        return await self._commands.furnish(self._set_up_for)

    def _lay_copies(self, furnishing: CommandMounts) -> None:
        lay_copies(self._places, furnishing, self._sandbox.owner)

    async def _import(self, tree: str) -> None:
        """Bring what the quarantine has of this tree into the mirror; only a pack crosses over."""
        ref = f"{tree_refs(self._run_id)}/{tree}"
        if await self._mirror.resolve(ref) is not None:
            await self._objects.record(ref, tree, beyond=[self._base])
            return
        with open_file(self._places.quarantine, "pack") as pack:
            if os.fstat(pack).st_size > PACK_LIMIT:
                raise RunError(
                    f"The work tree grew by more than {PACK_LIMIT / 1e6:.0f} MB. Add what was "
                    f"generated to .gitignore, then ask again."
                )
            with os.fdopen(os.dup(pack), "rb") as file:
                await self._objects.take_in(ref, tree, file.read())


async def open_work_tree(
    objects: RunObjects,
    root: Path,
    run_id: str,
    base: str,
    *,
    sandbox: Sandbox,
    inside: Sandbox | None = None,
    policy: Policy,
    identity: CommitIdentity,
    limits: ChangeLimits | None = None,
    furnish: Furnish = make_empty_mounts,
    add: Add | None = None,
    lend: Lend | None = None,
    conceal: Callable[[str], str] = str,
    on_command: Callable[[float], object] = lambda _: None,
    bait: RunBait | None = None,
) -> GitWorkTree:
    """Return the work tree of this run below `root`, with the files of the commit `base`.

    A folder that an earlier process of the run completed is taken as it is: call `restore` to go on
    from a checkpoint. An incomplete one is built anew. Commands run in `inside` as the user of
    `sandbox`, where git runs; by default in the same. `furnish` returns each command's mounts,
    `add` lends a copy to install into, `lend` lends Fettle's own tools; `conceal` redacts commit
    messages; `on_command` is told each command's seconds; `bait` lies in the commands' home.
    """
    run_refs(run_id)  # refuses an id that could leave `root`
    places = RunFolders(root / run_id, bait.files if bait else {})
    tree = GitWorkTree(
        objects,
        run_id,
        object_id(base),
        places=places,
        sandbox=sandbox,
        policy=policy,
        identity=identity,
        limits=limits or ChangeLimits(),
        commands=SandboxCommands(
            objects=objects.mirror.objects,
            places=places,
            sandbox=inside or sandbox,
            own=sandbox,
            furnish=furnish,
            add=add or nothing_to_add_to,
            lend=lend or nothing_to_lend,
            on_command=on_command,
        ),
        conceal=conceal,
        bait=bait,
    )
    await tree.prepare()
    return tree


def _is_text(name: bytes) -> bool:
    return name.decode(errors="replace").encode() == name
