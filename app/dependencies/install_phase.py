"""The set-up phase: a repository's dependencies are installed once and lent to its runs.

Installing comes before the agent: from the default branch, without any text of a request, and with
network to package indexes alone. Runs see the result read-only.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import platform
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from agents.analysis.languages import InstallPlan, list_read_paths
from agents.analysis.needed_setup import plan_setup
from agents.analysis.repository_files import LONGEST, RepositoryFiles
from agents.analysis.toolchains import list_version_files
from agents.errors import ConfigError, RunError, ToolError, TransientError
from agents.policy import Policy, Setup
from agents.ports import Kit, RunImage, SetupResult
from agents.text import printable
from app.dependencies.add_package import Adder, Copy
from app.dependencies.cache import Entry, Store
from app.dependencies.cache_entry import Manifest, furnishing_of, sealed_again
from app.dependencies.images import NO_LONGER, NOT_ALLOWED, Images
from app.dependencies.install import Builder, Origins, checkout_of
from app.dependencies.tool_kits import Kits, Loan
from app.git import Mirror, run_refs
from app.git.worktree import CommandMounts, remove_tree
from app.sandbox.port import Sandbox
from app.toolchains.choose import ToolchainChoice, Toolchains

_LAYOUT = 1  # how entries are laid out: those of another number are not found
_PATIENCE = 600.0  # seconds beyond a set-up's own for whoever holds the lock

_NOT_HELD = (
    "The sandbox `{name}` cannot give set-up commands a network that leads to package indexes "
    "alone, so nothing was installed. Use FETTLE_SANDBOX=bubblewrap or container, or put what "
    "repositories need into FETTLE_TOOLCHAINS."
)

log = structlog.get_logger()


@dataclass(frozen=True)
class SetUps:
    """The set-up phase of this machine."""

    store: Store
    builder: Builder
    sandbox: Sandbox
    surroundings: str
    """What else decides what is installed: toolchains, the system, what is passed on."""
    origins: Origins
    adder: Adder
    kits: Kits
    toolchains: Toolchains
    images: Images[SetUps] | None = None
    """None: this is the set-up phase in one of them, or no repository may name any."""
    place: Callable[[Sandbox], Sandbox] | None = None
    """Returns where commands run as the user of a sandbox, where that is in an image."""

    def for_run(self, name: str, mirror: Mirror, run_id: str) -> RunSetUp:
        """Return the installer of one run; `name` is the repository's folder in the cache."""
        return RunSetUp(self, name, mirror, run_id)


class RunSetUp:
    """The port `DependencyInstaller` for one run."""

    def __init__(self, all_: SetUps, name: str, mirror: Mirror, run_id: str) -> None:
        self._all = all_
        self._name = name
        self._mirror = mirror
        self._owner = hashlib.sha256(run_id.encode()).hexdigest()[:12]
        self._turn = asyncio.Lock()
        self._plans: dict[tuple[str, Setup], tuple[InstallPlan, str]] = {}
        self._chosen: dict[str, ToolchainChoice] = {}
        self._found: dict[tuple[str, Setup], tuple[Entry, CommandMounts]] = {}
        self._run_id = run_id
        self._own: set[str] = set()
        self._entered: dict[str, RunSetUp] = {}

    async def find_image(self, wanted: RunImage) -> RunImage:
        """Return the image with its id, or with why it is not used here."""
        if self._all.images is None:
            why = NOT_ALLOWED.format(image=wanted.image)
            return wanted.model_copy(update={"why_not": why})
        return await self._all.images.find(wanted)

    async def enter(self, image: RunImage | None) -> RunSetUp:
        """Return the installer in the image that the run's commands run in, itself for none.

        Raises RunError where that image is gone.
        """
        if image is None or not image.id:
            return self
        if self._all.images is None:
            raise RunError(NO_LONGER.format(image=image.image, why=NOT_ALLOWED))
        entered = await self._all.images.enter(image)
        if image.id not in self._entered:
            self._entered[image.id] = entered.for_run(self._name, self._mirror, self._run_id)
        return self._entered[image.id]

    def place(self, own: Sandbox) -> Sandbox:
        """Return where commands run in the image as the user of this sandbox; itself for none."""
        return self._all.place(own) if self._all.place else own

    async def set_up(self, base: str, policy: Policy, *, own: bool = False) -> SetupResult:
        """Install the dependencies as of `base`, and report on it.

        `own`: that is a commit of the run's own. What its files do while they are installed, such
        as a build script that a model wrote, must not come to another run.
        """
        self._own |= {base} if own else set()
        plan, key = await self._plan(base, policy)
        chosen = await self._choose(base)
        told = {"problems": chosen.problems, "notes": chosen.notes}
        tools = chosen.versions
        if not plan.recipes:
            return SetupResult(source=plan.source, tools=tools, **told)
        if self._all.sandbox.level != "full":
            problem = _NOT_HELD.format(name=self._all.sandbox.name)
            return SetupResult(
                source=plan.source, problems=(problem, *chosen.problems), tools=tools
            )
        entry, cached = await self._ensure_entry(base, plan, key)
        compiled = entry.manifest.compiled
        result = entry.manifest.result.model_copy(update={"compiled": compiled})
        more = {name: (*texts, *getattr(result, name)) for name, texts in told.items()}
        return result.model_copy(update={"cached": cached, "tools": tools, **more})

    async def forget(self) -> None:
        """Delete what was installed for this run alone."""
        await self._all.store.forget(self._name, self._owner)

    async def find_mounts(self, base: str, policy: Policy) -> CommandMounts:
        """Return the installed dependencies for the next command.

        Raises TransientError when they were lost and cannot be installed again.
        """
        async with self._turn:
            chosen = await self._choose(base)
            known = self._found.get((base, policy.setup))
            if known is None or not known[0].there:
                known = await self._looked_up(base, policy)
        return chosen.extend(known[1] if known else CommandMounts())

    @asynccontextmanager
    async def open_addition(
        self, base: str, policy: Policy, sandbox: Sandbox, argv: Sequence[str]
    ) -> AsyncIterator[RunAddition]:
        """Lend a copy for this command to change; without `keep`, it is dropped at the end.

        `sandbox`: that of the run, whose user the copy is for.

        Raises ToolError where no sandbox can restrict a command to the package indexes.
        """
        if self._all.sandbox.level != "full":
            raise ToolError(_NO_WAY.format(name=self._all.sandbox.name))
        await self.find_mounts(base, policy)
        plan, key = await self._plan(base, policy)
        found = self._found.get((base, policy.setup))
        entry = found[0] if found else None
        manifest = entry.manifest if entry else _make_empty_manifest(base, plan)
        folder = self._all.store.make_addition_folder(self._name, self._owner)
        async with replace(self._all.adder, sandbox=sandbox).open_copy(
            folder,
            entry.folder if entry else None,
            manifest,
            plan.tools,
            argv,
            toolchains=await self._choose(base),
        ) as copy:
            yield RunAddition(self, copy, (base, policy.setup), key)

    @asynccontextmanager
    async def lend_kits(
        self, base: str, sandbox: Sandbox, argv: Sequence[str], kits: Sequence[Kit]
    ) -> AsyncIterator[Loan]:
        """Lend kits to a command of Fettle's; it leaves nothing behind."""
        if self._all.sandbox.level != "full":
            raise ToolError(_NO_WAY.format(name=self._all.sandbox.name))
        chosen = await self._choose(base)
        async with (
            self._all.store.lend_folder(self._name, self._owner) as folder,
            self._all.kits.lend(
                folder / "tmp", argv, kits, owner=sandbox.owner, toolchains=chosen
            ) as loan,
        ):
            yield loan

    async def take_up(self, addition: RunAddition, command: str) -> None:
        """Let later commands see the addition."""
        copy = addition.copy
        await asyncio.to_thread(remove_tree, copy.folder / "tmp")
        try:
            manifest = await asyncio.to_thread(
                sealed_again, copy.folder, copy.manifest, self._all.builder.toolchains, command
            )
        except RecursionError as error:
            raise ToolError("What it installed is nested too deep to be kept.") from error
        entry = await self._all.store.keep(copy.folder, addition.key, manifest, self._owner)
        self._remember(addition.about, entry)

    async def _looked_up(self, base: str, policy: Policy) -> tuple[Entry, CommandMounts] | None:
        plan, key = await self._plan(base, policy)
        if self._all.sandbox.level != "full":
            return None
        if not plan.recipes:
            added = self._all.store.find(self._name, key, base, self._owner)
            return self._remember((base, policy.setup), added) if added else None
        entry, cached = await self._ensure_entry(base, plan, key)
        if not cached:
            log.info("set up again", problems=entry.manifest.result.problems)
            if entry.manifest.result.problems:
                await self.forget()  # the next try must not take it for what it was left with
                raise TransientError(_LOST.format(problem=entry.manifest.result.problems[0]))
        return self._remember((base, policy.setup), entry)

    def _remember(self, about: tuple[str, Setup], entry: Entry) -> tuple[Entry, CommandMounts]:
        self._found[about] = (entry, furnishing_of(entry.folder, entry.manifest))
        return self._found[about]

    async def _ensure_entry(self, base: str, plan: InstallPlan, key: str) -> tuple[Entry, bool]:
        """Return the entry, and whether it was there already; two runs never build one twice."""
        store = self._all.store
        entry = store.find(self._name, key, base, self._owner)
        if entry is not None and entry.there:
            return entry, True
        async with store.lock(self._name, timeout=plan.timeout + _PATIENCE) as folder:
            entry = store.find(self._name, key, base, self._owner)
            if entry is not None and entry.there:
                return entry, True
            for left in store.list_unfinished(folder):
                await self._mirror.forget(run_refs(checkout_of(left)))
                await asyncio.to_thread(remove_tree, left)
            building, manifest = await self._build(folder, base, plan)
            own = base in self._own
            entry = await store.keep(building, key, manifest, self._owner, own=own)
        await store.tidy()
        return entry, False

    async def _build(self, folder: Path, base: str, plan: InstallPlan) -> tuple[Path, Manifest]:
        """Return what was built; what makes it impossible is a result, too."""
        building = self._all.store.make_build_folder(folder)
        try:
            return building, await self._all.builder.build(
                self._mirror, building, base, plan, await self._choose(base)
            )
        except (ConfigError, RunError, ToolError) as error:
            log.warning("set-up impossible", error=str(error))
            await asyncio.to_thread(remove_tree, building)
            building = self._all.store.make_build_folder(folder)
            (building / "setup").mkdir()
            (building / "setup").chmod(0o755)
            result = SetupResult(source=plan.source, problems=(printable(str(error)),))
            return building, Manifest(
                result=result, base=base, locked=False, made=time.time(), size=0
            )

    async def _plan(self, base: str, policy: Policy) -> tuple[InstallPlan, str]:
        about = (base, policy.setup)
        if about not in self._plans:
            blobs = await self._mirror.blobs(base)
            read = await asyncio.to_thread(list_read_paths, blobs)
            texts = {path: await self._text(base, path) for path in read}
            files = RepositoryFiles(frozenset(blobs), texts)
            plan = await asyncio.to_thread(plan_setup, files, policy)
            origins = await self._all.origins(plan.tools) if plan.recipes else ()
            key = self._key(blobs, plan, [*origins, (await self._choose(base)).key])
            self._plans[about] = (plan, key)
        return self._plans[about]

    async def _choose(self, base: str) -> ToolchainChoice:
        """Return the toolchains as of `base`; what was lost meanwhile is fetched again.

        Raises TransientError when it cannot be: a run ends with the tools that it began with.
        """
        known = chosen = self._chosen.get(base)
        if chosen is None or not chosen.there:
            paths = await self._mirror.blobs(base)
            texts = {
                path: (await self._text(base, path))[: LONGEST + 1]
                for path in list_version_files(paths)
            }
            chosen = await self._all.toolchains.choose(RepositoryFiles(frozenset(paths), texts))
            if known is not None and len(chosen.problems) > len(known.problems):
                raise TransientError(_LOST.format(problem=chosen.problems[-1]))
            self._chosen[base] = chosen
            for about in [each for each in self._plans if each[0] == base]:
                del self._plans[about]
        return chosen

    def _key(self, blobs: Mapping[str, str], plan: InstallPlan, origins: Sequence[str]) -> str:
        """Return what names all that decides the result, short enough for a folder's name."""
        decisive = sorted({path for way in plan.ways for path in way.decided_by})
        parts = [
            _LAYOUT,
            self._all.surroundings,
            list(origins),
            [way.commands for way in plan.ways],
            [(path, blobs[path]) for path in decisive],
        ]
        if warms := [way.warms for way in plan.ways if way.warms]:
            parts.append(warms)
        if needless := [number for number, each in enumerate(plan.recipes) if each.needless]:
            parts.append(needless)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    async def _text(self, base: str, path: str) -> str:
        return (await self._mirror.show(base, path) or b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class RunAddition:
    """The port `DependencyCopy` of one run."""

    run: RunSetUp
    copy: Copy
    about: tuple[str, Setup]
    """What it is an addition to: a commit, as installed by the policy's section `setup`."""
    key: str

    @property
    def furnishing(self) -> CommandMounts:
        """Return the copy's mounts, with access to the package indexes."""
        return self.copy.furnishing

    @property
    def note(self) -> str:
        """Return the refused requests."""
        return self.copy.note

    async def keep(self, command: str) -> None:
        """Let later commands of this run see it."""
        await self.run.take_up(self, command)


def _make_empty_manifest(base: str, plan: InstallPlan) -> Manifest:
    """Return what is installed where a repository needs nothing."""
    result = SetupResult(source=plan.source)
    return Manifest(result=result, base=base, locked=False, made=time.time(), size=0)


_NO_WAY = (
    "The sandbox `{name}` cannot give a command a network that leads to package indexes alone, so "
    "this was not run although it was approved. Say in your submission what is to be installed."
)
_LOST = (
    "What was installed for this run is gone from this machine and could not be installed again: "
    "{problem}"
)


def describe_surroundings(sandbox: Sandbox, toolchains: Sequence[Path], *more: object) -> str:
    """Return a text that changes when installed dependencies may no longer fit this machine."""
    programs = [Path("/usr/bin/python3"), Path("/usr/bin/node"), *(t / "bin" for t in toolchains)]
    about = [
        (str(path), str(path.resolve()), path.stat().st_mtime_ns if path.exists() else 0)
        for path in programs
    ]
    system = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    parts = (sandbox.name, about, system.get("VERSION_ID"), platform.machine(), *more)
    return hashlib.sha256(repr(parts).encode()).hexdigest()
