"""Step 8: a copy of files for whoever may only read them, and a way to tell that they changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from agents.errors import RunError
from app.sandbox.output_buffer import HeadTailBuffer
from app.sandbox.process_group import run_group

_PATIENCE = 600.0


async def copy_tree(source: Path, target: Path) -> None:
    """Copy a file or folder with owners and times, following no link."""
    said = HeadTailBuffer(4_000, 1_000_000)
    ended = await run_group(
        ["cp", "-a", "--reflink=auto", "--", str(source), str(target)],
        environment={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        timeout=_PATIENCE,
        out=said,
    )
    if ended.code != 0:
        raise RunError(f"The files could not be copied for a command: {said.text()[-500:].strip()}")


def fingerprint(root: Path) -> str:
    """Return what differs as soon as anything below was written, renamed or given other rights.

    The time of the last change of an inode cannot be set by anybody who is not root.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path, status in _entries(root):
        facts = (status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_ctime_ns)
        digest.update(os.fsencode(path) + repr(facts).encode())
    return digest.hexdigest()


def _entries(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    yield "", root.lstat()
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
