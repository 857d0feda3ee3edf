"""The interface that every ecosystem implements for the ladder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Protocol, runtime_checkable

from agents.pipelines.remediate.ladder.locked import Locked
from agents.pipelines.remediate.ladder.ranges import Scheme
from agents.pipelines.remediate.ladder.values import Accepted, Stuck, Target, Unfit
from agents.ports import WorkTree


class Ecosystem(Protocol):
    """One lock file with its manifests, in one folder of the repository; made by a `Find`.

    It reads files without running any of the repository's code, and changes them by asking the
    tool that wrote them, in the sandbox. Its methods raise Stuck where a rung leads nowhere, Unfit
    where nothing can be done at all, and let ToolError pass.
    """

    @property
    def tool(self) -> str:
        """Return what people call it, like `uv`."""
        ...

    @property
    def scheme(self) -> Scheme:
        """Return how versions are written."""
        ...

    @property
    def locks(self) -> bool:
        """Return whether a lock file decides; otherwise the requirements themselves do."""
        ...

    @property
    def files(self) -> frozenset[str]:
        """Return the files that a fix may change; complete once `read` was called."""
        ...

    def name_of(self, package: str) -> str:
        """Return the package's name as lock files write it; Unfit for what is no name."""
        ...

    async def read(self, tree: WorkTree) -> Locked:
        """Return what is locked now."""
        ...

    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index effective in the sandbox offers."""
        ...

    async def objection(self, tree: WorkTree, package: str, version: str) -> str:
        """Return why a version must not be taken, such as that it was yanked; empty: take it."""
        ...

    async def relock(
        self, tree: WorkTree, pins: Mapping[str, str], free: Sequence[str] = ()
    ) -> None:
        """Resolve anew: the pinned packages at their versions, the `free` ones at any.

        All others stay as they are as far as that is possible.
        """
        ...

    async def require(
        self, tree: WorkTree, package: str, version: str, *, widen: bool
    ) -> Sequence[str]:
        """Change the repository's own requirements so that they admit the version.

        Without `widen` only a pin or floor moves. Returns the changes for people; nothing where
        all admit it already.
        """
        ...

    async def override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> None:
        """Overrule what other packages ask for; `reason` goes beside the entry as a comment."""
        ...

    async def has_override(self, tree: WorkTree, targets: Sequence[Target], reason: str, /) -> bool:
        """Return whether the entry is there that `override` made of these; only reads.

        False where nothing overrules the package. Raises Stuck where people have changed it.
        """
        ...

    async def without_override(
        self, tree: WorkTree, targets: Sequence[Target], reason: str, /
    ) -> Sequence[str]:
        """Take that entry out, and nothing else.

        What was not there before it was made is not there after; returns the files that are gone.
        Raises Stuck where people have changed the entry, and where there is none.
        """
        ...

    async def verify_lock(self, tree: WorkTree, before: Locked, after: Locked) -> Accepted:
        """Prove that lock file and manifests agree, and that what moved has the hashes it says.

        Returns what ran to show it. Raises Stuck when it does not hold.
        """
        ...


class WithoutOverrides:
    """The part of an Ecosystem that makes no entries which overrule what other packages ask for."""

    no_overrides: str
    """Why it makes none, for people."""

    async def override(self, *_: object) -> None:
        """Raise Stuck: this manager makes no entries."""
        raise Stuck(self.no_overrides)

    async def has_override(self, *_: object) -> bool:
        """Return False: no entry is ever there."""
        return False

    async def without_override(self, *_: object) -> Sequence[str]:
        """Raise Stuck: there is no entry to take out."""
        raise Stuck(self.no_overrides)


class DatedReleases:
    """The part of an Ecosystem whose index says of each version since when it is there."""

    def __init__(self) -> None:
        self._days: dict[str, dict[str, str]] = {}
        """By package and version, as `2026-01-31`; `available` fills it in."""

    @abstractmethod
    async def available(self, tree: WorkTree, package: str) -> Sequence[str]:
        """Return the versions that the index offers, and note their days."""

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that the index does not show to be published on that day or before."""
        for name in {name for name, _ in releases} - self._days.keys():
            await self.available(tree, name)
        return list_young(releases, self._days, newest)


@runtime_checkable
class AimsCopies(Protocol):
    """An Ecosystem whose lock files hold several copies of one package, each to go its own way."""

    def aim(self, targets: Sequence[Target]) -> None:
        """Take where each vulnerable version goes; `relock` keeps to it, whatever its pins say."""
        ...


@runtime_checkable
class HasOwnProof(Protocol):
    """An Ecosystem whose proof is no command of a package manager."""

    proof: str
    """What is proved, for people."""
    held: str
    """Which kind of files alone it changes, for people."""


@runtime_checkable
class ReadsIndexSettings(Protocol):
    """An Ecosystem whose repositories may name the index that they take packages from."""

    index_setting: str
    """Where the operator configures another index, for people."""

    async def find_other_index(self, tree: WorkTree, locked: Locked, package: str) -> str:
        """Return the host of an index that is named for the package and not configured here.

        Files of settings name one, and so does what is locked. Empty: there is none, so that the
        index in the sandbox may be asked for the package.
        """
        ...


_OTHER_INDEX = (
    "The repository takes {name} from {host}, and {tool} is not configured for that index where"
    " Fettle runs. Another one was not asked: anybody could offer something else under that name"
    " there. Configure it on Fettle's machine, with its credentials ({setting}), and ask again."
)


async def explain_other_index(
    tree: WorkTree, ecosystem: Ecosystem, locked: Locked, package: str
) -> str:
    """Return why no index may be asked for a package, for people; empty: the one here may be."""
    if not isinstance(ecosystem, ReadsIndexSettings):
        return ""
    host = await ecosystem.find_other_index(tree, locked, package)
    about = {"tool": ecosystem.tool, "setting": ecosystem.index_setting}
    return _OTHER_INDEX.format(name=package, host=host, **about) if host else ""


@runtime_checkable
class ListsRequirements(Protocol):
    """An Ecosystem whose index says what each release of a package asks for."""

    async def list_admitting(
        self, tree: WorkTree, parent: str, package: str, version: str
    ) -> Collection[str]:
        """Return the releases of `parent` whose own requirements admit that version."""
        ...


@runtime_checkable
class DatesReleases(Protocol):
    """An Ecosystem whose index says when a release was published."""

    async def find_young(
        self, tree: WorkTree, releases: Collection[tuple[str, str]], newest: date
    ) -> Collection[tuple[str, str]]:
        """Return those that are not known to have been published on that day or before."""
        ...


def list_young(
    releases: Collection[tuple[str, str]], days: Mapping[str, Mapping[str, str]], newest: date
) -> list[tuple[str, str]]:
    """Return the releases of which no day is known, or a later one.

    `days`: by package and version, as `2026-01-31`.
    """
    told = ((each, days.get(each[0], {}).get(each[1], "")) for each in releases)
    return [each for each, day in told if not day or day > newest.isoformat()]


_UNDATED = (
    "The policy wants what comes in to be published for some days (`remediation.min_release_days`),"
    " and {tool} does not say when that was. Climb by hand, or set it to 0."
)


async def find_young(
    tree: WorkTree, ecosystem: Ecosystem, releases: Collection[tuple[str, str]], newest: date | None
) -> Collection[tuple[str, str]]:
    """Return the releases that are too young; none are where the policy does not mind.

    Raises Unfit where the ecosystem cannot tell.
    """
    if newest is None or not releases:
        return ()
    if not isinstance(ecosystem, DatesReleases):
        raise Unfit("no_tool", _UNDATED.format(tool=ecosystem.tool))
    return await ecosystem.find_young(tree, releases, newest)
