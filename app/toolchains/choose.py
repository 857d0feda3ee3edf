"""Choose a repository's toolchains: what fits on the machine, of the operator's, or fetched."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Protocol

import structlog
from packaging.version import InvalidVersion, Version

from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.toolchains import ToolDemand, find_wanted
from agents.ports import Kit
from agents.text import printable
from app.git.worktree import CommandMounts
from app.sandbox.port import Mount, Sandbox
from app.toolchains.folders import PROGRAMS, VARIABLE, add_venv, make_switch, name_folders
from app.toolchains.probe import SeenTool, see_kit, see_tools
from app.toolchains.recipes import FetchRecipe, list_recipes, make_links

_FRESH = 600.0  # seconds for which what was seen on the machine holds
_ORDER = ("python", "node", "go", "java", "ruby", "rust", "dotnet", "pnpm", "yarn")
"""Tools that others run on come first."""

NAMES = {"python": "Python", "node": "Node.js", "go": "Go", "java": "a JDK", "ruby": "Ruby"}
NAMES |= {"rust": "Rust", "dotnet": "the .NET SDK"}

_MISSING = "{wishes}. {have}{tried} {who}"
_HAVE = "Sandboxes here have {versions} alone."
_HAVE_NONE = "Sandboxes here have none."
_FAILED = " None could be fetched: {reason}."
_OPERATOR = (
    "An operator can put one into FETTLE_TOOLCHAINS{hosts}. Whoever maintains the repository can "
    "change `{source}` if another version does, too."
)
_OF_IMAGES = (
    "Whoever makes the image `{image}` can add one{hosts}. Whoever maintains the repository can "
    "name another image, or change `{source}` if another version does, too."
)
_HOSTS = ", or let Fettle fetch it with FETTLE_SETUP_HOSTS: {hosts}"
_HOSTS_OF_IMAGES = ", and an operator let Fettle fetch it with FETTLE_SETUP_HOSTS: {hosts}"
_UNREAD = (
    "What is here was used. Whoever maintains the repository can name a released version there, an"
    " image that has this one (`environment: {image: …}`, where the operator allows images), or the"
    " checks that count all the same (`quality`)."
)
_UNREAD_IN_IMAGE = (
    "What the image has was used. Whoever maintains the repository can name a released version"
    " there, or the checks that count all the same (`quality`)."
)
_NEAR = "{wish}; {name} {version} is used, which is the nearest to be had here."
_REFUSED = "{wish}, which contradicts {first}. The latter is followed."
_ONE_ALONE = "{wish}, which the rest of the repository does not. One serves the whole repository."
_NO_SWITCH = "What these folders ask for could not be given to them alone: {folders}."
_CAUSES = (
    (r"cannot give a command a network", "this sandbox cannot hold a command to package indexes"),
    (r"checksum|hash(es)? (mis|do not )match|EINTEGRITY", "what was loaded has another checksum"),
    (r"Fettle refused|is not a package index|\b403\b", "it needs a host that is not allowed"),
    (r"npm: (command )?not found", "sandboxes here have no npm, which fetches it"),
    (r"ensurepip|No module named '?(venv|pip)", "sandboxes here have no Python that makes venvs"),
    (
        r"no matching|ETARGET|no download|not found|\b404\b|no versions?",
        "no source has that version",
    ),
    (r"no build of it", "there is no build of it for this processor"),
)
"""What tools say, and what it comes down to."""
_UNKNOWN = "the download did not succeed, and the server's log says why"

log = structlog.get_logger()


class KeptKit(Protocol):
    """A kit on disk."""

    @property
    def folder(self) -> Path:
        """Return the folder that holds it, in `kit`."""
        ...

    @property
    def there(self) -> bool:
        """Tell whether it still exists, and mark it as in use now."""
        ...


@dataclass(frozen=True)
class ToolchainChoice:
    """The toolchains of one commit, and how commands are given them."""

    path: tuple[str, ...] = ()
    """Folders that come on PATH after those of what was installed."""
    first: tuple[str, ...] = ()
    """Folders that come before those: of programs that go on to another on PATH."""
    mounts: tuple[Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What is wanted and not to be had, for people."""
    key: str = ""
    """Names the versions chosen: what is installed for others does not serve."""
    kits: tuple[KeptKit, ...] = ()
    versions: tuple[str, ...] = ()
    """What was chosen, for people, like `python 3.12.4` or `web: node 20.1.0`."""

    def extend(self, furnishing: CommandMounts) -> CommandMounts:
        """Return the mounts of commands with these toolchains, after what was installed."""
        return replace(
            furnishing,
            mounts=(*self.mounts, *furnishing.mounts),
            environment={**self.environment, **furnishing.environment},
            path=(*self.first, *furnishing.path, *self.path),
        )

    @property
    def there(self) -> bool:
        """Tell whether all that was fetched still exists."""
        return all(kit.there for kit in self.kits)


NOTHING_CHOSEN = ToolchainChoice()
"""The toolchains of commands that take what the machine has."""


@dataclass
class _Choosing:
    """What is being put together."""

    path: list[str] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    kits: list[KeptKit] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    folders: dict[str, list[str]] = field(default_factory=dict)
    """Folders of the repository with tools of their own, and where those lie."""

    def take_folder(self, demand: ToolDemand, own: _Choosing) -> None:
        """Take what was chosen for one folder of the repository alone."""
        self.mounts += own.mounts[len(self.mounts) :]
        self.kits += own.kits
        self.notes += own.notes
        self.problems += own.problems
        self.taken += [f"{demand.folder}: {each}" for each in own.taken]
        found = [each.rpartition(" ")[2].rpartition("/")[0] for each in own.taken]
        self.folders.setdefault(demand.folder, []).extend(add_venv(demand, found))

    def take(self, seen: SeenTool, kit: tuple[KeptKit, Mount] | None = None) -> None:
        """Put one tool first on PATH, unless it is what its name alone finds."""
        self.taken.append(f"{seen.tool} {seen.version} {seen.program}")
        if kit is not None:
            self.kits.append(kit[0])
            self.mounts.append(kit[1])
        if seen.first and kit is None:
            return
        self.path.append(seen.folder)
        if seen.tool == "java":
            self.environment["JAVA_HOME"] = str(PurePosixPath(seen.folder).parent)
        if seen.tool == "dotnet":
            self.environment["DOTNET_ROOT"] = seen.folder

    def end(self, notes: Iterable[str]) -> ToolchainChoice:
        """Return what was put together."""
        key = hashlib.sha256("\n".join(self.taken).encode()).hexdigest() if self.taken else ""
        return ToolchainChoice(
            path=tuple(dict.fromkeys(self.path)),
            first=tuple(self.first),
            mounts=tuple(dict.fromkeys(self.mounts)),
            environment=self.environment,
            notes=tuple(map(printable, (*self.notes, *notes))),
            problems=tuple(map(printable, self.problems)),
            key=key,
            kits=tuple(self.kits),
            versions=tuple(printable(each.rpartition(" ")[0]) for each in self.taken),
        )


@dataclass(frozen=True)
class Toolchains:
    """The toolchains of this machine, and the ways to more."""

    sandbox: Sandbox
    folders: tuple[Path, ...]
    """The operator's, FETTLE_TOOLCHAINS."""
    hosts: frozenset[str]
    """The hosts that the operator lets set-ups ask, FETTLE_SETUP_HOSTS."""
    environ: Mapping[str, str] = field(repr=False)
    """The operator's variables: they name mirrors."""
    provide: Callable[[Kit], Awaitable[KeptKit | str]]
    """Makes a kit, or says why it cannot be made."""
    kits_at: str
    """Where sandboxes see kits."""
    image: str = ""
    """The image that the sandbox runs commands in, where a repository names it."""
    _seen: dict[str, tuple[float, list[SeenTool]]] = field(default_factory=dict)

    async def choose(self, files: RepositoryFiles) -> ToolchainChoice:
        """Return the toolchains that these files ask for; the missing ones are named."""
        wanted = await asyncio.to_thread(find_wanted, files)
        made = _Choosing()
        demands = sorted(wanted.demands, key=lambda demand: _ORDER.index(demand.tool))
        seen = await self._look(tuple(dict.fromkeys(demand.tool for demand in demands)))
        for demand in demands:
            here = [each for each in seen if each.tool == demand.tool]
            first = demand.wishes[0]
            if demand.folder and demand.tool in PROGRAMS:
                own = _Choosing(path=list(made.path), mounts=list(made.mounts))
                await self._settle(demand, here, own)
                made.take_folder(demand, own)
            elif demand.folder:
                made.notes += [_ONE_ALONE.format(wish=wish) for wish in demand.wishes]
            else:
                await self._settle(demand, here, made)
            made.notes += [
                _REFUSED.format(wish=w, first=f"`{first.source}`") for w in demand.refused
            ]
        await self._switch({demand.tool for demand in demands if demand.folder}, made)
        advice = _UNREAD_IN_IMAGE if self.image else _UNREAD
        made.problems += [f"{each} {advice}" for each in wanted.unmet]
        return made.end(wanted.notes)

    async def _switch(self, tools: Iterable[str], made: _Choosing) -> None:
        """Let commands in folders with tools of their own find those."""
        names = sorted(PROGRAMS.keys() & set(tools))
        if not any(made.folders.values()):
            return
        kit = make_switch(names)
        entry = await self.provide(kit)
        if isinstance(entry, str):
            made.notes.append(_NO_SWITCH.format(folders=", ".join(map(str, made.folders))))
            return
        mount = Mount(entry.folder / "kit", f"{self.kits_at}/{kit.name}")
        made.kits.append(entry)
        made.mounts.append(mount)
        made.first.append(f"{mount.target}/bin")
        made.environment[VARIABLE] = name_folders(made.folders)

    async def _look(self, tools: tuple[str, ...]) -> list[SeenTool]:
        """Return what the machine and the operator have; it is looked at again now and then."""
        now = time.monotonic()
        for tool in tools:
            at, _ = self._seen.get(tool, (0.0, []))
            if not at or now > at + _FRESH:
                break
        else:
            return [each for tool in tools for each in self._seen[tool][1]]
        found = await see_tools(self.sandbox, tools, [str(folder) for folder in self.folders])
        for tool in tools:
            self._seen[tool] = (now, [each for each in found if each.tool == tool])
        return found

    async def _settle(self, demand: ToolDemand, here: list[SeenTool], made: _Choosing) -> None:
        """Take what meets the demand, from the nearest place; else say what is missing."""
        fitting = _in_order(demand, (each for each in here if demand.fits(each.version)))
        for seen in fitting:
            if await self._take_here(seen, made):
                return
        others = (each for each in here if each not in fitting)
        near = _in_order(demand, (each for each in others if demand.is_near(each.version)))
        reasons: list[str] = []
        if await self._fetch(demand, made, reasons, near=not near):
            return
        if near and await self._take_here(near[0], made):
            made.notes.append(_describe_near(demand, near[0]))
        elif not demand.is_open:
            made.problems.append(_describe_missing(demand, here, reasons, self.image))

    async def _take_here(self, seen: SeenTool, made: _Choosing) -> bool:
        if seen.first or not seen.needs_links:
            made.take(seen)
            return True
        kit = make_links(seen.tool, seen.version, seen.program)
        entry = await self.provide(kit)
        if isinstance(entry, str):
            return False
        mount = Mount(entry.folder / "kit", f"{self.kits_at}/{kit.name}")
        name = "python3" if seen.tool == "python" else seen.tool
        made.take(replace(seen, program=f"{mount.target}/bin/{name}"), (entry, mount))
        return True

    async def _fetch(
        self, demand: ToolDemand, made: _Choosing, reasons: list[str], *, near: bool
    ) -> bool:
        """Fetch a version that fits, or with `near` one that will do; tell whether it was taken."""
        for request in demand.list_requests():
            for recipe in list_recipes(demand.tool, request):
                found = []
                if self._may(recipe):
                    found = await self._try(demand, recipe, made, reasons)
                for seen, kit in found:
                    if demand.fits(seen.version) or (near and demand.is_near(seen.version)):
                        made.take(seen, kit)
                        if not demand.fits(seen.version):
                            made.notes.append(_describe_near(demand, seen))
                        return True
        return False

    async def _try(
        self, demand: ToolDemand, recipe: FetchRecipe, made: _Choosing, reasons: list[str]
    ) -> list[tuple[SeenTool, tuple[KeptKit, Mount]]]:
        entry = await self.provide(recipe.kit)
        if isinstance(entry, str):
            log.warning("toolchain not fetched", kit=recipe.kit.name, said=entry)
            reasons.append(_find_cause(entry))
            return []
        mount = Mount(entry.folder / "kit", f"{self.kits_at}/{recipe.kit.name}")
        path = ":".join(made.path)
        seen = await see_kit(self.sandbox, demand.tool, (*made.mounts, mount), path)
        if not seen:
            reasons.append("what was fetched does not run here")
        return [(each, (entry, mount)) for each in _in_order(demand, seen)]

    def _may(self, recipe: FetchRecipe) -> bool:
        """Tell whether the operator lets it ask all the hosts that it needs."""
        mirror = recipe.mirror and self.environ.get(recipe.mirror)
        return bool(mirror) or self.hosts.issuperset(recipe.hosts)


def _in_order(demand: ToolDemand, seen: Iterable[SeenTool]) -> list[SeenTool]:
    """Return the most fitting first: what is there anyhow, the machine's, the newest.

    A JDK's successor drops what old builds call, so of several the oldest is taken.
    """
    sign = -1 if demand.tool == "java" else 1
    newest = sorted(seen, key=lambda each: _comparable(each.version), reverse=sign > 0)
    return sorted(newest, key=lambda each: (not each.first, each.source != "machine"))


def _find_cause(said: str) -> str:
    """Return in plain words why something could not be fetched."""
    causes = (words for sign, words in _CAUSES if re.search(sign, said, re.IGNORECASE))
    return next(causes, _UNKNOWN)


def _comparable(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def _describe_near(demand: ToolDemand, seen: SeenTool) -> str:
    name = NAMES.get(seen.tool, seen.tool)
    wish = next(w for w in demand.wishes if not w.wanted.fits(seen.version))
    return _NEAR.format(wish=wish, name=name, version=seen.version)


def _describe_missing(
    demand: ToolDemand, here: Sequence[SeenTool], reasons: Sequence[str], image: str
) -> str:
    """Return what is wanted by which file, what there is, and who can change it."""
    versions = sorted({each.version for each in here}, key=_comparable)
    have = _HAVE.format(versions=", ".join(versions)) if versions else _HAVE_NONE
    said = next((words for _, words in _CAUSES if words in reasons), "".join(reasons[:1]))
    last = next(iter(reversed([*list_recipes(demand.tool, "")])), None)
    more = _HOSTS_OF_IMAGES if image else _HOSTS
    hosts = more.format(hosts=", ".join(last.hosts)) if last and last.hosts else ""
    who = _OF_IMAGES if image else _OPERATOR
    wishes = ", and ".join(str(wish) for wish in demand.wishes if wish.wanted.spec)
    return _MISSING.format(
        wishes=wishes,
        have=have,
        tried=_FAILED.format(reason=said) if said else "",
        who=who.format(hosts=hosts, source=demand.wishes[0].source, image=image),
    )
