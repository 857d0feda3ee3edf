"""Where this process may make control groups: what somebody delegated to it, and no other place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.sandbox.cgroups.cgroup import CgroupFactory, legacy, unified

NEEDED, WANTED = ("memory", "pids"), ("cpu",)
_LEAF = "fettle"  # the group that this process moves to: one with groups below may hold none itself
_DELEGATED = ("trusted.delegate", "user.delegate")  # how systemd marks what it left to a unit
_ROUNDS = 20
_SYSTEMD = Path("/run/systemd/system")

_REMEDY = "in a systemd unit set `Delegate=yes`"


@dataclass(frozen=True)
class CgroupTree:
    """A mounted tree of control groups, and our own place in it."""

    mount: Path
    own: str

    @property
    def folder(self) -> Path:
        """Return the folder of the group that we are in."""
        return self.mount / self.own.lstrip("/")


class NotDelegatedError(Exception):
    """No control groups can be made; the text says why."""


def find_cgroups(process: Path = Path("/proc/self")) -> tuple[CgroupFactory | None, str]:
    """Return where groups can be made, or None with the reason; moves us to a group of our own."""
    trees = find_trees((process / "mountinfo").read_text(), (process / "cgroup").read_text())
    try:
        found = _unified(trees) if _speaks_unified(trees) else _legacy(trees)
    except NotDelegatedError as error:
        return None, str(error)
    except OSError as error:
        return None, f"{error.filename}: {error.strerror}; {_REMEDY}"
    found.sweep()
    return found, ""


def find_trees(mountinfo: str, cgroup: str) -> dict[str, CgroupTree]:
    """Return the trees by controller; the one of version 2 by the empty name."""
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


def _speaks_unified(trees: Mapping[str, CgroupTree]) -> bool:
    """Tell whether version 2 has what we need; on some machines version 1 keeps it."""
    return "" in trees and not any(name in trees for name in NEEDED)


def _unified(trees: Mapping[str, CgroupTree]) -> CgroupFactory:
    place = delegated_place(trees[""])
    there = (place / "cgroup.controllers").read_text().split()
    _require(there)
    wanted = [name for name in (*NEEDED, *WANTED) if name in there]
    leaf = vacate(place)
    enable(place, wanted)
    home = trees[""].folder if trees[""].folder != place else leaf
    return unified(dict.fromkeys(wanted, place), home)


def _legacy(trees: Mapping[str, CgroupTree]) -> CgroupFactory:
    if _SYSTEMD.is_dir():  # it delegates nothing in version 1
        raise NotDelegatedError("systemd manages the control groups, in their old version here")
    places = {name: trees[name].folder for name in (*NEEDED, *WANTED) if name in trees}
    usable = {name: place for name, place in places.items() if os.access(place, os.W_OK)}
    _require(usable)
    return legacy(usable)


def _require(controllers: Mapping[str, Path] | list[str]) -> None:
    for name in NEEDED:
        if name not in controllers:
            raise NotDelegatedError(f"no control group with `{name}` is delegated; {_REMEDY}")


def delegated_place(tree: CgroupTree) -> Path:
    """Return the folder below which everything is ours. Raises NotDelegatedError.

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
    """Move every process of this group to one below, as version 2 wants them in leaves; return it.

    The root of the whole tree alone may have both, and is left as it is.
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


def enable(place: Path, controllers: list[str]) -> None:
    """Let the groups below `place` have these controllers."""
    switch = place / "cgroup.subtree_control"
    for name in controllers:
        if name not in switch.read_text().split():
            switch.write_text(f"+{name}")
