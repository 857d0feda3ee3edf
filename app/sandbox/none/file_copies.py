"""Copies of files for commands that may only read, and fingerprints that show a change."""

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
    """Copy a file or folder with owners and times, and follow no link. Raises RunError."""
    said = HeadTailBuffer(4_000, 1_000_000)
    ended = await run_group(
        ["cp", "-a", "--reflink=auto", "--", str(source), str(target)],
        environment={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        timeout=_PATIENCE,
        out=said,
    )
    if ended.code != 0:
        raise RunError(f"The files could not be copied for a command: {said.text()[-500:].strip()}")


def take_fingerprint(root: Path) -> str:
    """Return a digest that changes when anything below is written, renamed or given other rights.

    Only root can set the time of an inode's last change (st_ctime, inode(7)).
    """
    digest = hashlib.blake2b(digest_size=16)
    for path, status in _walk(root):
        facts = (status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_ctime_ns)
        digest.update(os.fsencode(path) + repr(facts).encode())
    return digest.hexdigest()


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    yield "", root.lstat()
    folders = [str(root)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
