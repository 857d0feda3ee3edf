"""The ports for the repository: its history, and the work tree with its sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agents.policy import Policy
from agents.requests import Frozen

Network = Literal["none", "indexes"]
"""What a command reaches: nobody at all, or package indexes, to read from."""


@dataclass(frozen=True)
class CommandResult:
    """How a command in the sandbox ended. `output` is stdout and stderr together, as written."""

    exit_code: int
    why: Literal["exit", "timeout", "output", "killed", "memory", "disk"]
    output: str
    """Head and tail, at most `max_output` bytes; a line in between says how much was left out."""
    seconds: float


class Kit(Frozen):
    """Programs of Fettle's own for its commands: made once on this machine, then lent read-only."""

    name: str
    """The folder's name, of small letters, digits and `-`; what is made otherwise has another."""
    script: str
    """For bash: puts them into the folder `$KIT`. No part of it comes from a repository."""
    needs: tuple[Kit, ...] = ()
    """Kits that the script, and whoever is lent this one, finds in `$KITS/<name>`."""


class WorkTree(Protocol):
    """The disposable files of one run. Paths are relative to the repository root, with `/`."""

    async def read(self, path: str, *, limit: int = 1_000_000) -> bytes:
        """Return a regular file's bytes; ToolError for anything else, symlinks, or over limit."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, with its folders; ToolError if it would leave."""
        ...

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

        What one with the network `indexes` installs is there for later commands of this run, and
        for nobody else. Raises ToolError where no sandbox can give a command that network.
        """
        ...

    async def ask(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        kits: Sequence[Kit] = (),
        max_output: int = 64_000,
        shared_home: str = "",
    ) -> CommandResult:
        """Run a command of Fettle's own that reads from package indexes; nothing of it is kept.

        It sees the files, the kits in `$KITS/<name>`, and nothing that was installed for the
        repository. A kit that cannot be made is missing, and the output begins with why. Raises
        ToolError where no sandbox can give a command that network.

        `shared_home`: the name of a home folder that scripts of bash share which run nothing of
        strangers, one after the other: each finds what those of a moment ago left there, such as
        caches. They use the same tools.
        """
        ...

    async def converse(
        self, argv: Sequence[str], line: bytes, *, timeout: float, kits: Sequence[Kit] = ()
    ) -> bytes | None:
        """Ask a program of Fettle's own that stays for the next question; return its answer.

        It reads from package indexes as a command of `ask` does, but sees none of the files: what
        it needs is in the line, and one line is its answer. It begins with the first question, and
        ends some time after the last one. None where no program can stay here, or it gave no
        answer in `timeout` seconds: whoever asks then finds out why with `ask`.
        """
        ...

    async def use_set_up(self, commit: str) -> None:
        """Give later commands what was set up for that commit, once files are restored `pristine`.

        At first that is the commit which the work tree was made from.
        """
        ...

    async def list_install_commands(self) -> Sequence[str]:
        """Return the commands that installed something with the network `indexes`, in order."""
        ...

    async def snapshot(self) -> str:
        """Return the git tree id of the files as they are now, and keep its objects."""
        ...

    async def restore(self, tree: str, *, pristine: bool = False) -> None:
        """Put the files back to that commit or tree; untracked files are removed.

        Ignored ones stay, as build output saves time, unless `pristine` asks for the tree alone.
        """
        ...

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
        """Return the id of the commit of `tree` on `parent`; `merging` is its second parent.

        The same arguments give the same id, however often. Raises RunError when the change
        touches what the policy protects, but for the `permitted` paths: people said yes to what
        each of them is, or is not, in the tree behind it. Of a merge, the change is what is in
        neither parent so: what `merging` brings as it stands there is not judged, nor counted.
        `proposes_policy`: code alone has written the files, and where the policy file is one of
        the `permitted` paths, this commit may hold it, for people to merge.
        `moves_action`: code alone has changed which release of this action (`owner/name`) is used,
        and this commit may hold that of workflows, too, but then nothing else at all.
        """
        ...

    async def diff(self, old: str, new: str, *, context: int = 3) -> str:
        """Return the unified diff between two commits or trees."""
        ...

    async def list_changed_paths(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits or trees."""
        ...

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None; never reads the work tree."""
        ...


class RunImage(Frozen):
    """The container image that a repository wants its commands run in, and whether they are."""

    image: str = ""
    """Its completed name; empty where the file names none that can be used."""
    named_by: str
    """The file of the default branch that names it."""
    id: str = ""
    """The image's own id, which no moved tag changes; empty: it is not used."""
    why_not: str = ""
    """Why it is not used, and what would change that, for people."""
    left_out: tuple[str, ...] = ()
    """Keys of a devcontainer that are not followed."""


class SetupCommand(Frozen):
    """One command that installed dependencies, and how it ended."""

    command: str
    exit_code: int
    seconds: float
    output: str
    """The end of what it wrote, as plain text with secrets taken out; untrusted."""


class SetupProposal(Frozen):
    """Commands that a model proposed where the set-up left a check without what it needs."""

    reason: str
    """What speaks for other commands: what failed, as one line; untrusted."""
    commands: tuple[str, ...] = ()
    """The last ones that were tried, untrusted; empty: none came of it."""
    fault: str = ""
    """What speaks against them, untrusted; empty: the run goes on with what they install."""
    checks: tuple[str, ...] = ()
    """Checks that can run with them and could not before, by their commands."""
    base: str = ""
    """The commit that they were tried on."""
    asked: bool = True
    """Whether a model was asked in this run; else an earlier one had."""
    image: str = ""
    """The id of the image that they were tried in; empty: none."""

    @property
    def holds(self) -> bool:
        """Return whether the run is set up by them."""
        return bool(self.commands) and not self.fault


class SetupResult(Frozen):
    """What came of installing the repository's dependencies before the agent begins."""

    source: str
    """Where the commands come from, for people."""
    commands: tuple[SetupCommand, ...] = ()
    problems: tuple[str, ...] = ()
    """What is missing now, and why; empty when everything was installed."""
    notes: tuple[str, ...] = ()
    """What people should know although nothing is missing."""
    cached: bool = False
    """Whether an earlier run had installed it."""
    seconds: float = 0.0
    """How long installing took, whenever that was."""
    changed: tuple[str, ...] = ()
    """Files of the commit that the policy's commands changed, in the copy that they worked on."""
    refused: tuple[str, ...] = ()
    """What a tool would not install as the files ask for it, where a second way was found then."""
    compiled: bool = False
    """Whether what was installed is in part compiled from the commit's own sources."""
    proposal: SetupProposal | None = None
    """What came of asking a model for other commands; None: none was asked."""
    image: RunImage | None = None
    """The image that the repository wants; None: it names none."""
    tools: tuple[str, ...] = ()
    """What commands are given because the repository asks for it, like `python 3.12.4`."""


class Merged(Frozen):
    """What came of merging two commits."""

    tree: str
    """The git tree id of the result; with marks in the files where the two contradict."""
    conflicts: tuple[str, ...] = ()
    """The paths where they do."""


class RunRepository(Protocol):
    """The repository that a run works on: its history, and work trees made from it."""

    async def fetch(self) -> str:
        """Bring the default branch up to date and return the id of its newest commit."""
        ...

    async def branch(self, name: str) -> str | None:
        """Bring that branch up to date and return its newest commit; None when there is none."""
        ...

    async def pull(self, number: int) -> str | None:
        """Bring the head of that pull request up to date, also of one from a fork; return it.

        None when there is none any more.
        """
        ...

    async def merge(self, ours: str, theirs: str, *, base: str = "") -> Merged:
        """Merge two commits as git does, touching neither a branch nor a work tree.

        `base`: what both are taken to be built on, where their histories do not say so.
        """
        ...

    async def overlay(self, old: str, new: str, paths: Sequence[str]) -> str:
        """Return the git tree id of `old` with these paths as they are, or are not, in `new`."""
        ...

    async def fork_point(self, one: str, other: str) -> str:
        """Return the newest commit that both of these are built on; RunError if there is none."""
        ...

    async def show(self, revision: str, path: str) -> bytes | None:
        """Return a file of a commit, or None when it has none there."""
        ...

    async def files(self, revision: str) -> list[str]:
        """Return the paths of all files of a commit."""
        ...

    async def mentions(self, revision: str, text: str) -> bool:
        """Return whether any text file of a commit or tree holds these words."""
        ...

    async def commits(self, base: str, head: str) -> list[tuple[str, str]]:
        """Return id and subject of the commits after `base` up to `head`, oldest first."""
        ...

    async def parents(self, commit: str) -> tuple[str, ...]:
        """Return the ids of the commits that this one was made on; several for a merge."""
        ...

    async def message(self, commit: str) -> str:
        """Return the whole message of a commit."""
        ...

    async def find_image(self, wanted: RunImage) -> RunImage:
        """Return the image with its id, or with why it is not used here."""
        ...

    async def set_up(
        self, base: str, policy: Policy, image: RunImage | None = None, *, own: bool = False
    ) -> SetupResult:
        """Install what the repository needs as of `base`; its work trees see it, read-only.

        Network to package indexes alone, and nothing of the request in reach. What cannot be
        installed is said in the result. `image`: what the run's commands run in. `own`: `base` is
        a commit of the run's own, so no other run is given what is installed for it. Raises
        RunError where the image is gone.
        """
        ...

    async def open(self, base: str, policy: Policy, image: RunImage | None = None) -> WorkTree:
        """Return the run's work tree, made from `base` or as an earlier process left it.

        `image`: as for `set_up`.
        """
        ...
