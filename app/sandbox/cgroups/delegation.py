"""The place where this process may make control groups, which somebody must have delegated to it.

https://systemd.io/CGROUP_DELEGATION and, on delegation and leaves,
https://docs.kernel.org/admin-guide/cgroup-v2.html.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.sandbox.cgroups.cgroup import CgroupFactory, use_version_1, use_version_2

NEEDED, WANTED = ("memory", "pids"), ("cpu",)
_LEAF = "fettle"  # the group that this process moves to: one with groups below may hold none itself
_DELEGATED = ("trusted.delegate", "user.delegate")  # how systemd marks what it left to a unit
_ROUNDS = 20
_SYSTEMD = Path("/run/systemd/system")

_REMEDY = "in a systemd unit set `Delegate=yes`"


@dataclass(frozen=True)
class CgroupTree:
    """A mounted tree of control groups, and the place of this process in it."""

    mount: Path
    own: str

    @property
    def folder(self) -> Path:
        """Return the folder of this process's group."""
        return self.mount / self.own.lstrip("/")


class NotDelegatedError(Exception):
    """No control groups can be made; the text says why."""


def find_cgroups(process: Path = Path("/proc/self")) -> tuple[CgroupFactory | None, str]:
    """Return what makes control groups, or None and the reason why none can be made.

    Moves this process to a group of its own, where version 2 wants that.
    """
    trees = find_trees((process / "mountinfo").read_text(), (process / "cgroup").read_text())
    try:
        found = _find_version_2(trees) if _is_version_2(trees) else _find_version_1(trees)
    except NotDelegatedError as error:
        return None, str(error)
    except OSError as error:
        return None, f"{error.filename}: {error.strerror}; {_REMEDY}"
    found.sweep()
    return found, ""


def find_trees(mountinfo: str, cgroup: str) -> dict[str, CgroupTree]:
    """Return the trees by controller, that of version 2 by the empty name.

    The forms of both files: proc_pid_mountinfo(5), proc_pid_cgroup(5).
    """
    own = {}
    for line in cgroup.splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    trees = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        kind, _, options = after.split()[:3]
        names = {"cgroup2": [""], "cgroup": options.split(",")}.get(kind, [])
        for name in set(names) & set(own):
            # Where only a part of the tree is mounted, our place is told from the whole one's root.
            inside = own[name] if root == "/" else own[name].removeprefix(root)
            if ".." not in inside:
                trees[name] = CgroupTree(Path(mount), inside)
    return trees


def _is_version_2(trees: Mapping[str, CgroupTree]) -> bool:
    """Tell whether version 2 has the needed controllers; on some machines version 1 has them."""
    return "" in trees and not any(name in trees for name in NEEDED)


def _find_version_2(trees: Mapping[str, CgroupTree]) -> CgroupFactory:
    place = find_delegated_folder(trees[""])
    there = (place / "cgroup.controllers").read_text().split()
    _require_controllers(there)
    wanted = [name for name in (*NEEDED, *WANTED) if name in there]
    leaf = vacate(place)
    enable_controllers(place, wanted)
    home = trees[""].folder if trees[""].folder != place else leaf
    return use_version_2(dict.fromkeys(wanted, place), home)


def _find_version_1(trees: Mapping[str, CgroupTree]) -> CgroupFactory:
    if _SYSTEMD.is_dir():  # it delegates nothing in version 1
        raise NotDelegatedError("systemd manages the control groups, in their old version here")
    places = {name: trees[name].folder for name in (*NEEDED, *WANTED) if name in trees}
    usable = {name: place for name, place in places.items() if os.access(place, os.W_OK)}
    _require_controllers(usable)
    return use_version_1(usable)


def _require_controllers(controllers: Mapping[str, Path] | list[str]) -> None:
    for name in NEEDED:
        if name not in controllers:
            raise NotDelegatedError(f"no control group with `{name}` is delegated; {_REMEDY}")


def find_delegated_folder(tree: CgroupTree) -> Path:
    """Return the folder below which all groups are Fettle's. Raises NotDelegatedError.

    Being root is no permission: where systemd runs, it owns what it did not delegate.
    """
    folder = tree.folder
    if tree.own == "/" or _is_marked(folder):
        place = folder
    elif _is_marked(folder.parent):  # another Fettle, or DelegateSubgroup=, has moved us already
        place = folder.parent
    else:
        raise NotDelegatedError(f"no control group is delegated; {_REMEDY}")
    if not os.access(place, os.W_OK) or not os.access(place / "cgroup.procs", os.W_OK):
        raise NotDelegatedError(f"`{place}` cannot be written; {_REMEDY}")
    return place


def _is_marked(folder: Path) -> bool:
    for name in _DELEGATED:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def vacate(place: Path) -> Path:
    """Move every process of this group to one below, and return that one.

    Version 2 wants processes in leaves alone; the root of the whole tree is left as it is.
    """
    if not (place / "cgroup.type").exists():
        return place
    leaf = place / _LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(_ROUNDS):  # what starts meanwhile is seen in the next round
        pids = (place / "cgroup.procs").read_text().split()
        if not pids:
            break
        for pid in pids:
            with suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(pid)
    return leaf


def enable_controllers(place: Path, controllers: list[str]) -> None:
    """Let the groups below `place` have these controllers."""
    switch = place / "cgroup.subtree_control"
    for name in controllers:
        if name not in switch.read_text().split():
            switch.write_text(f"+{name}")
