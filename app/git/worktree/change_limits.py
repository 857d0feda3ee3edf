"""Check a run's change against limits, from git objects alone, before it is committed."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agents.analysis.action_refs import (
    LARGEST,
    UnreadableWorkflow,
    find_other_change,
    is_action_file,
)
from agents.errors import RunError
from agents.policy import NEVER, POLICY_PATH, PROTECTED_PATHS, Policy, matches_path
from app.git.mirror.merge import merge
from app.git.objects import GitObjects, TreeChange
from app.git.worktree.inward_links import leads_outside

_ABSENT, _GITLINK, _SYMLINK = "000000", "160000", "120000"
_FILES = {"100644", "100755"}
_MODES = {_ABSENT, "100644", "100755", _SYMLINK}
_LONGEST_LINK = 4096
_NOT_REFS = (
    "The change touches `{path}`, and code may change nothing there but which release of"
    " `{action}` is used: {why}. Nothing was committed: change it by hand."
)

# Characters that some file systems drop from names, so that `.g<zero width>it` becomes `.git`.
_IGNORED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


@dataclass(frozen=True)
class ChangeLimits:
    """How much one commit may change."""

    files: int = 5_000
    file_size: int = 20_000_000
    """Bytes of one file."""
    total_size: int = 100_000_000
    """Bytes of all changed files."""


async def require_harmless(
    objects: GitObjects,
    policy: Policy,
    old: str,
    new: str,
    limits: ChangeLimits,
    *,
    permitted: Mapping[str, str] | None = None,
    merging: str = "",
    proposes_policy: bool = False,
    moves_action: str = "",
) -> None:
    """Raise RunError, for people, when the change from `old` to `new` must not be committed.

    `permitted` maps protected paths that people approved to a tree with the approved content; any
    other content there is refused. In a commit that is `merging` another, only differences from
    git's own merge count. With `proposes_policy`, the policy file may be among the permitted paths.
    With `moves_action`, the name of an action, nothing but refs of that action may differ, in files
    that use actions; those of workflows as well then.
    """
    changes = await _made_here(objects, old, new, merging)
    if len(changes) > limits.files:
        raise RunError(
            f"The change touches {len(changes)} files, more than {limits.files}. Something was "
            f"probably generated: add it to .gitignore, then ask again."
        )
    approved = await _as_approved(objects, new, permitted or {})
    opened = {POLICY_PATH} & approved if proposes_policy else set[str]()
    if moves_action:
        for change in changes:
            await _require_refs_alone(objects, policy, old, change, moves_action)
        opened = approved = {change.path for change in changes}
    for change in changes:
        _require_permitted(change, policy, approved, opened)
    await _require_small([c for c in changes if c.mode != _ABSENT], objects, limits)
    if any(_SYMLINK in {change.mode, change.old_mode} for change in changes):
        await _require_inward(objects, old, new)


async def _made_here(objects: GitObjects, old: str, new: str, merging: str) -> list[TreeChange]:
    """Return what somebody had a hand in: all of it, or where a merge differs from git's own.

    Where the two commits contradict, whatever is not as it was before was somebody's choice.
    """
    if not merging:
        return await objects.changes(old, new)
    tree, paths = await merge(objects, old, merging)
    contradicting = set(paths)
    beside = [each for each in await objects.changes(tree, new) if each.path not in contradicting]
    chosen = [each for each in await objects.changes(old, new) if each.path in contradicting]
    return beside + chosen


async def _as_approved(objects: GitObjects, new: str, permitted: Mapping[str, str]) -> set[str]:
    """Return the permitted paths that are in `new` exactly what they were permitted to be."""
    found = set(permitted)
    for tree in set(permitted.values()):
        differing = await objects.list_changed_paths(tree, new)
        found -= {path for path in differing if permitted.get(path) == tree}
    return found


async def _require_refs_alone(
    objects: GitObjects, policy: Policy, old: str, change: TreeChange, action: str
) -> None:
    """Raise RunError for a change of anything but refs of this action in a file that uses actions.

    What the owners protect beside the usual paths stays protected.
    """
    path, why = change.path, ""
    own = [each for each in policy.protected_paths if each not in PROTECTED_PATHS]
    if protected := next((each for each in own if matches_path(each.lower(), path.lower())), None):
        why = f"`{protected}` in `protected_paths` protects it"
    elif not is_action_file(path) or change.mode != change.old_mode or change.mode not in _FILES:
        why = "it is no file that stays a workflow, or the description of an action"
    else:
        why = await _find_other_change(objects, old, change, action)
    if why:
        raise RunError(_NOT_REFS.format(path=path, action=action, why=why))


async def _find_other_change(objects: GitObjects, old: str, change: TreeChange, action: str) -> str:
    before = await objects.show(old, change.path)
    if before is None or max(len(before), *await objects.sizes([change.oid])) > LARGEST:
        return f"it has more than {LARGEST:,} bytes"
    after = await objects.blob(change.oid)
    try:
        texts = before.decode(), after.decode()
        return await asyncio.to_thread(find_other_change, *texts, action)
    except (UnicodeDecodeError, UnreadableWorkflow) as error:
        return str(error)


def _require_permitted(
    change: TreeChange, policy: Policy, permitted: Collection[str], opened: Collection[str]
) -> None:
    path = change.path
    if _GITLINK in {change.mode, change.old_mode}:
        raise RunError(
            f"The change makes, moves or removes a nested repository at `{path}`. Fettle does not "
            f"touch submodules: do that part by hand, then ask again."
        )
    if change.mode not in _MODES:
        raise RunError(f"The change gives `{path}` the mode {change.mode}, which Fettle refuses.")
    if any(_like_git(part) for part in path.split("/")):
        raise RunError(f"The change names a file `{path}`, which git itself would act on.")
    pattern = policy.protects(_plain(path)) or policy.protects(path)
    if pattern in NEVER and path not in opened:
        raise RunError(
            f"The change touches `{path}`, which `{pattern}` protects: no policy and no approval "
            f"opens that to a run. Change it by hand, then ask again for the rest."
        )
    if pattern and path not in permitted:
        raise RunError(
            f"The change touches `{path}`, which `{pattern}` protects, and nobody approved the file"
            f" as it is now. Change it by hand, or take "
            f"the pattern out of `protected_paths` in `.github/fettle.yml`, then ask again."
        )


async def _require_small(
    changes: list[TreeChange], objects: GitObjects, limits: ChangeLimits
) -> None:
    sizes = await objects.sizes([change.oid for change in changes])
    for change, size in zip(changes, sizes, strict=True):
        if size > limits.file_size:
            raise RunError(
                f"`{change.path}` has {size / 1e6:.0f} MB, more than the "
                f"{limits.file_size / 1e6:.0f} MB that a commit may add in one file."
            )
    if sum(sizes) > limits.total_size:
        raise RunError(
            f"The changed files have {sum(sizes) / 1e6:.0f} MB together, more than the "
            f"{limits.total_size / 1e6:.0f} MB that a commit may hold."
        )


async def _require_inward(objects: GitObjects, old: str, new: str) -> None:
    """Refuse a symbolic link out of the repository: whoever checks it out would follow it.

    A link that stood there before may lead out by way of a new one, so all of them are followed.
    """
    links = await _read_links(objects, new)
    out = {path for path in links if _leads_outside(path, links)}
    if not out:
        return
    before = await _read_links(objects, old)
    for path in sorted(out):
        same = before.get(path) == links[path]
        if not (same and _leads_outside(path, before)):
            raise RunError(
                f"With the change the symbolic link `{path}` to `{links[path][:200]}` leaves"
                f" the repository. Fettle commits links within the repository only."
            )


def _leads_outside(path: str, links: Mapping[str, str]) -> bool:
    plain = {_plain(each): target for each, target in links.items()}
    return leads_outside(path, plain, _plain, _like_git)


async def _read_links(objects: GitObjects, tree: str) -> dict[str, str]:
    """Return the target of each symbolic link of a tree; one that is too long leads nowhere."""
    found = await objects.links(tree)
    sizes = await objects.sizes(list(found.values()))
    read = {}
    for (path, oid), size in zip(found.items(), sizes, strict=True):
        target = await objects.blob(oid) if size <= _LONGEST_LINK else b""
        read[path] = target.decode("utf-8", "replace")
    return read


def _plain(name: str) -> str:
    """Return the name as a forgiving file system would read it."""
    return unicodedata.normalize("NFC", name.translate(_IGNORED)).casefold()


def _like_git(part: str) -> bool:
    """Tell whether some file system would take this name for `.git`."""
    name = _plain(part).split(":")[0].rstrip(". ").replace("\\", "/")
    return name in {".git", "git~1"} or name.startswith(".git/") or "/.git" in name
