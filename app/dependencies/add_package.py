"""Install one more package for one run: by one command, after a person's approval.

The command changes a copy of what is installed, and may only read from the package indexes. The
result is made read-only like any set-up, and no other run sees it.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.analysis.languages import CAN_MAKE_VENV, MAKE_VENV, VENV, find_folder
from agents.errors import ConfigError, ToolError
from app.dependencies.cache_entry import MODULES, PARTS, Manifest
from app.dependencies.indexes.finder import READERS
from app.dependencies.install import FIRST_ON_PATH, PLACES, Way
from app.dependencies.layout import INSTALLING, PLACE
from app.git.worktree import CommandMounts, remove_tree
from app.sandbox.port import Mount, Sandbox, SandboxCommand
from app.toolchains.choose import ToolchainChoice

OpenReading = Callable[[Mapping[str, str]], AbstractAsyncContextManager[Way]]
"""Opens a way on which nothing but reading passes."""

_INSTEAD_OF = {"npx": "npm", "bunx": "bun", "uvx": "uv", "pipx": "pip"}
_CALLS_PIP = re.compile(r"\bpip[\d.]*\b")
_CALLS_PYTHONS = re.compile(r"\b(?:pip[\d.]*|uv|poetry|pdm)\b")
_CALLS_NPMS = re.compile(r"\b(?:npm|pnpm|yarn|bun)\b")
_PLAIN_FOLDER = re.compile(r"(?!.*\.\.)[\w-][\w.-]*(?:/[\w-][\w.-]*){0,5}")
_VENV_SECONDS = 120.0
_MAKE = f"{CAN_MAKE_VENV} && {MAKE_VENV} --system-site-packages"
_HAVE_VENV = f"{{ test -e {VENV}/bin/python || {{ {_MAKE}; }}; }}"
_HAVE_PIP = f"{{ {VENV}/bin/python -c 'import pip' || {VENV}/bin/python -m ensurepip; }}"
REFUSED = "[Fettle refused this command the way to: {hosts}. It may read from indexes alone.]\n"


@dataclass(frozen=True)
class Copy:
    """A copy of the installed dependencies that one command may change."""

    folder: Path
    manifest: Manifest
    way: Way
    toolchains: ToolchainChoice

    @property
    def furnishing(self) -> CommandMounts:
        """Return the mounts of the copy, writable."""
        made = CommandMounts(
            mounts=(*places(self.folder), *self.way.mounts),
            within=dict(self._list_written_folders()),
            environment={**INSTALLING, **self.way.environment},
            path=tuple(dict.fromkeys((*FIRST_ON_PATH, *self.manifest.path))),
            wrap=self.way.wrap,
            writable=True,
        )
        return self.toolchains.extend(made)

    @property
    def note(self) -> str:
        """Return the refused network requests, for the reader of the command's output."""
        refused = self.way.list_refusals()
        return REFUSED.format(hosts="; ".join(refused)) if refused else ""

    def _list_written_folders(self) -> Iterator[tuple[str, Path]]:
        for number, path in enumerate(self.manifest.within):
            yield path, self.folder / "tree" / str(number)


@dataclass(frozen=True)
class Adder:
    """Makes such copies on this machine."""

    sandbox: Sandbox
    open_way: OpenReading

    @asynccontextmanager
    async def open_copy(
        self,
        folder: Path,
        original: Path | None,
        manifest: Manifest,
        tools: Mapping[str, str],
        argv: Sequence[str],
        *,
        toolchains: ToolchainChoice,
    ) -> AsyncIterator[Copy]:
        """Copy an entry into this folder, which is deleted at the end unless somebody moved it.

        Raises ToolError when the package indexes cannot be reached.
        """
        text = " ".join(argv)
        try:
            await asyncio.to_thread(_copy, original, folder, self.sandbox.owner)
            if _CALLS_NPMS.search(text):
                manifest = _with_modules(folder, manifest, self.sandbox.owner, argv[-1])
            await self._have_python(folder, text, toolchains)
            async with AsyncExitStack() as opened:
                try:
                    way = await opened.enter_async_context(self.open_way(tools_of(tools, text)))
                except ConfigError as error:
                    raise ToolError(f"No way leads to the package indexes here: {error}") from error
                yield Copy(folder, manifest, way, toolchains)
        finally:
            await asyncio.to_thread(remove_tree, folder)

    async def _have_python(self, folder: Path, text: str, toolchains: ToolchainChoice) -> None:
        """Have a virtual environment there, with what it is to be changed by.

        Without one of its own a repository goes on seeing the system's packages.
        """
        if not _CALLS_PYTHONS.search(text):
            return
        steps = [_HAVE_VENV, *([_HAVE_PIP] if _CALLS_PIP.search(text) else [])]
        seen = toolchains.extend(CommandMounts(mounts=places(folder), environment=INSTALLING))
        command = SandboxCommand(
            seen.argv(("bash", "-c", " && ".join(steps))),
            folder=PLACE,
            mounts=seen.mounts,
            environment=seen.environment,
            timeout=_VENV_SECONDS,
        )
        await self.sandbox.run(command)  # where it fails, the installer says what is missing


def places(folder: Path) -> tuple[Mount, ...]:
    """Return the installed folders outside of the tree, writable."""
    return tuple(Mount(folder / name, at, writable=True) for name, at in PLACES.items())


def tools_of(planned: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the tools whose indexes the command needs: the set-up's, and those it names."""
    words = (_INSTEAD_OF.get(word, word) for word in re.findall("[a-z]+", text))
    return {**dict.fromkeys(sorted({*words} & READERS.keys()), ""), **planned}


def _with_modules(
    folder: Path, manifest: Manifest, owner: tuple[int, int], command: str
) -> Manifest:
    """Have a folder of modules that later commands see, like those that a set-up makes.

    It lies in the folder that the command works in.
    """
    place = find_folder(command)
    own = f"{place}/{MODULES}" if _PLAIN_FOLDER.fullmatch(place) else MODULES
    if own in manifest.within:
        return manifest
    _give(folder / "tree" / str(len(manifest.within)), owner)
    return manifest.model_copy(update={"within": (*manifest.within, own)})


def _copy(original: Path | None, folder: Path, owner: tuple[int, int]) -> None:
    """Copy an entry's parts; nothing in there is followed, and the original is only read."""
    for part in PARTS:
        if original is not None:
            options = ("-R", "-P", "--preserve=mode,timestamps,links", "--reflink=auto")
            _call("/bin/cp", *options, "--", str(original / part), str(folder / part))
    for name in PARTS:
        (folder / name).mkdir(exist_ok=True)
    for shown in (*(folder / name for name in PLACES), *(folder / "tree").iterdir()):
        _give(shown, owner)


def _give(folder: Path, owner: tuple[int, int]) -> None:
    """Let the sandbox's user have a folder with all that is in it."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    if os.geteuid() == 0:
        _call("/bin/chown", "-hR", f"{owner[0]}:{owner[1]}", "--", str(folder))


def _call(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise ToolError(
            f"What is installed cannot be copied to add to it: {said[-300:]}"
        ) from error
