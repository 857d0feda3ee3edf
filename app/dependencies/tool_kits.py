"""Package tools of Fettle's own for the sandbox, such as Poetry, installed once.

A script of Fettle's makes each kit on this machine, without any repository or request in reach. All
runs share the kit read-only, so none of them can change it for the next.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from agents.errors import ConfigError, ToolError
from agents.ports import Kit, SetupResult
from agents.text import plain_output, printable
from app.dependencies.add_package import REFUSED, OpenReading, tools_of
from app.dependencies.cache import Entry, Store
from app.dependencies.cache_entry import Manifest, seal
from app.dependencies.install import Origins, Way, create_owned_folder
from app.dependencies.layout import ASKING, SCRATCH
from app.git.worktree import CommandMounts, remove_tree
from app.sandbox.port import Mount, Sandbox, SandboxCommand
from app.toolchains.choose import ToolchainChoice

AT = "/kits"
"""The path at which sandboxes see the kits."""

_NAME, _OWNER = "kits", "kits"
_LAYOUT = 1
_SECONDS = 300.0  # for making one
_PATIENCE = 60.0  # seconds for which one that could not be made is not tried again
_SAID = 600
_NOT_MADE = "[Fettle's {name} could not be made here: {said}]\n"
_NO_SANDBOX = (
    "The sandbox `{name}` cannot give a command a network that leads to package indexes alone."
)
_NO_INDEX = "No way leads to the package indexes here: {error}"

log = structlog.get_logger()


@dataclass(frozen=True)
class Loan:
    """The port `LentTools`: kits and a folder for temporary files, for one command."""

    mounts: tuple[Mount, ...]
    way: Way
    missing: str
    toolchains: ToolchainChoice

    @property
    def furnishing(self) -> CommandMounts:
        """Return the mounts of the kits, and of the repository's toolchains."""
        made = CommandMounts(
            mounts=(*self.mounts, *self.way.mounts),
            environment={**ASKING, "KITS": AT, **self.way.environment},
            wrap=self.way.wrap,
        )
        return self.toolchains.extend(made)

    @property
    def note(self) -> str:
        """Return the missing kits, and the refused requests."""
        refused = self.way.list_refusals()
        return self.missing + (REFUSED.format(hosts="; ".join(refused)) if refused else "")


@dataclass(frozen=True)
class Kits:
    """The kits of this machine."""

    store: Store
    sandbox: Sandbox
    open_way: OpenReading
    surroundings: str
    """What else decides what is made: toolchains, the system."""
    origins: Origins
    _failed: dict[str, tuple[float, str]] = field(default_factory=dict)

    @asynccontextmanager
    async def lend(
        self,
        scratch: Path,
        argv: Sequence[str],
        kits: Sequence[Kit],
        *,
        owner: tuple[int, int],
        toolchains: ToolchainChoice,
    ) -> AsyncIterator[Loan]:
        """Lend kits, with the folder `scratch` for temporary files of the command's user, `owner`.

        They are made with the machine's own tools: every repository is lent the same ones.

        Raises ToolError when the package indexes cannot be reached.
        """
        if self.sandbox.level != "full":
            raise ToolError(_NO_SANDBOX.format(name=self.sandbox.name))
        wanted = list(dict.fromkeys(_with_needs(kits)))
        tools = tools_of({}, " ".join([*argv, *(kit.script for kit in wanted)]))
        create_owned_folder(scratch, owner)
        try:
            async with self.open_way(tools) as way:
                made, missing = await self._gather(wanted, way)
                shown = Mount(scratch, SCRATCH, writable=True)
                yield Loan((shown, *_mounts(made)), way, missing, toolchains)
        except ConfigError as error:
            raise ToolError(_NO_INDEX.format(error=error)) from error

    async def provide(self, kit: Kit) -> Entry | str:
        """Return a kit for whoever mounts it, made if need be, or why it cannot be made."""
        known = self._find(await self._key(kit))
        if known is not None:
            return known
        if self.sandbox.level != "full":
            return _NO_SANDBOX.format(name=self.sandbox.name)
        wanted = list(dict.fromkeys(_with_needs([kit])))
        tools = tools_of({}, " ".join(each.script for each in wanted))
        try:
            async with self.open_way(tools) as way:
                made, missing = await self._gather(wanted, way)
                refused = "; ".join(way.list_refusals())
        except ConfigError as error:
            return _NO_INDEX.format(error=error)
        return made.get(kit.name) or f"{missing}{REFUSED.format(hosts=refused) if refused else ''}"

    async def _gather(self, wanted: Sequence[Kit], way: Way) -> tuple[dict[str, Entry], str]:
        """Return the kits by name, each after what it needs, and a text about the missing ones."""
        found: dict[str, Entry] = {}
        missing = ""
        for kit in wanted:
            made = await self._find_or_make(kit, _mounts(found), way)
            if isinstance(made, str):
                missing += _NOT_MADE.format(name=kit.name, said=made)
            else:
                found[kit.name] = made
        return found, missing

    async def _find_or_make(self, kit: Kit, needs: tuple[Mount, ...], way: Way) -> Entry | str:
        """Return a kit, made if need be, or why it cannot be."""
        key = await self._key(kit)
        entry = self._find(key)
        if entry is not None:
            return entry
        at, said = self._failed.get(key, (0.0, ""))
        if at and time.monotonic() < at + _PATIENCE:
            return said
        async with self.store.lock(_NAME, timeout=_SECONDS * 2) as folder:
            entry = self._find(key)
            if entry is not None:
                return entry
            for left in self.store.list_unfinished(folder):
                await asyncio.to_thread(remove_tree, left)
            made = await self._make(kit, key, self.store.make_build_folder(folder), needs, way)
        if isinstance(made, str):
            self._failed[key] = time.monotonic(), made
        else:
            await self.store.tidy()
        return made

    async def _make(
        self, kit: Kit, key: str, building: Path, needs: tuple[Mount, ...], way: Way
    ) -> Entry | str:
        for name in ("kit", "tmp"):
            create_owned_folder(building / name, self.sandbox.owner)
        place = f"{AT}/{kit.name}"
        command = SandboxCommand(
            ("bash", "-c", kit.script),
            folder=place,
            mounts=(
                Mount(building / "kit", place, writable=True),
                Mount(building / "tmp", SCRATCH, writable=True),
                *(*needs, *way.mounts),
            ),
            environment={**ASKING, "KITS": AT, "KIT": place, **way.environment},
            timeout=_SECONDS,
        )
        try:
            result = await self.sandbox.run(way.wrap(command))
            if result.why != "exit" or result.exit_code:
                log.warning("kit not made", kit=kit.name, why=result.why, code=result.exit_code)
                return printable(plain_output(result.output))[-_SAID:].strip() or result.why
            await asyncio.to_thread(remove_tree, building / "tmp")
            size = await asyncio.to_thread(seal, building / "kit")
            about = SetupResult(source=kit.name, seconds=round(result.seconds, 1))
            manifest = Manifest(result=about, base="", locked=False, made=time.time(), size=size)
            return await self.store.keep(building, key, manifest, _OWNER)
        finally:
            await asyncio.to_thread(remove_tree, building)  # it is elsewhere if it was made

    def _find(self, key: str) -> Entry | None:
        entry = self.store.find(_NAME, key, "", _OWNER)
        return entry if entry is not None and entry.there else None

    async def _key(self, kit: Kit) -> str:
        """Return what names all that decides what is made."""
        scripts = [(each.name, each.script) for each in _with_needs([kit])]
        tools = tools_of({}, " ".join(script for _, script in scripts))
        parts = [_LAYOUT, self.surroundings, scripts, list(await self.origins(tools))]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _mounts(kits: Mapping[str, Entry]) -> tuple[Mount, ...]:
    return tuple(Mount(made.folder / "kit", f"{AT}/{name}") for name, made in kits.items())


def _with_needs(kits: Sequence[Kit]) -> Iterator[Kit]:
    """Yield kits after those that they need."""
    for kit in kits:
        yield from _with_needs(kit.needs)
        yield kit
