"""Writable layers over folders that stay as they are: overlays of the kernel, for one command each.

bubblewrap mounts overlays itself only since 0.11, so a script does it before, in a user and mount
namespace that bubblewrap then starts from. https://docs.kernel.org/filesystems/overlayfs.html
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import structlog
from cachetools import LRUCache

from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.path_permissions import give
from app.sandbox.port import UPPER, Mount
from app.sandbox.privilege_drop import UnprivilegedLauncher
from app.sandbox.process_group import run_group
from app.sandbox.syscall_numbers import ARCHITECTURES

_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
_TRIAL_SECONDS = 20.0
_DISKS = 100

log = structlog.get_logger()


class LayerMounter:
    """Tells where this machine can lay layers, and how a command is started with them."""

    def __init__(self, owner: tuple[int, int], launcher: UnprivilegedLauncher | None) -> None:
        self._owner = owner
        self._launcher = launcher
        self._faults: LRUCache[int, str] = LRUCache(_DISKS)

    async def settle(self, mounts: Sequence[Mount]) -> tuple[Mount, ...]:
        """Return the mounts as they can be had: without a layer a mount is read-only.

        The folders of the layers are made.
        """
        return tuple([await self._settle_one(mount) for mount in mounts])

    async def _settle_one(self, mount: Mount) -> Mount:
        if mount.changes is None:
            return mount
        _make_layer(mount.changes, self._owner)
        fault = await self.find_fault(mount.changes)
        return replace(mount, changes=None) if fault else mount

    async def find_fault(self, folder: Path) -> str:
        """Return why layers cannot lie in this folder of Fettle's; empty where they can."""
        disk = folder.stat().st_dev  # noqa: ASYNC240 # costs microseconds
        if disk not in self._faults:
            self._faults[disk] = fault = await self._try(folder)
            if fault:
                log.warning("no writable layers on this disk", folder=str(folder), fault=fault)
        return self._faults[disk]

    def build_argv(self, mounts: Sequence[Mount]) -> list[str]:
        """Return the command line that lays the layers and becomes what is put behind it."""
        layers = [(str(m.source), str(m.changes)) for m in mounts if m.changes is not None]
        if not layers:
            return []
        here = ARCHITECTURES[platform.machine()]
        numbers = (here.unshare, here.denied["mount"], _FLAGS, *self._owner, len(layers))
        script = resources.files("app.sandbox.bubblewrap").joinpath("layers.pl").read_text("utf-8")
        paths = (path for layer in layers for path in layer)
        return ["perl", "-e", script, *map(str, numbers), *paths]

    async def _try(self, folder: Path) -> str:
        """Lay a layer here once, write to it, and return what went wrong."""
        place = folder / f"try-{secrets.token_hex(4)}"
        layer = Mount(place / "below", "", changes=place / "above")
        try:
            give(layer.source, self._owner)
            _make_layer(place / "above", self._owner)
            said = HeadTailBuffer(1_000, 10_000)
            ended = await run_group(
                [*self.build_argv([layer]), "touch", str(layer.source / "mark")],
                environment={"PATH": "/usr/bin:/bin"},
                timeout=_TRIAL_SECONDS,
                out=said,
                launcher=self._launcher,
            )
            done = ended.code == 0 and (place / "above" / UPPER / "mark").exists()
            return "" if done else said.text().strip() or "nothing was written"
        except OSError as error:  # for example, doctor is run by somebody who may not write here
            return f"nothing can be made in `{folder}`: {error.strerror}"
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _make_layer(changes: Path, owner: tuple[int, int]) -> None:
    """Make the folder of a layer, which is Fettle's, with the two in it that the kernel wants."""
    if (changes / "work").is_dir():
        return
    give(changes, (os.geteuid(), os.getegid()))
    for name in (UPPER, "work"):
        give(changes / name, owner)
