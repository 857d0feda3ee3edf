"""Package indexes that are local folders, and what a sandbox must see of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from agents.errors import ConfigError
from app.dependencies.indexes.file_hosts import links_of
from app.sandbox.path_permissions import require_reach
from app.sandbox.port import Mount

_NEVER = tuple(map(Path, ("/proc", "/dev", "/sys", "/run", "/etc", "/boot", "/workspace", "/root")))
_SEEN_ANYWAY = Path("/usr")
_PAGES_READ = 50
_PAGE_LARGEST = 1024 * 1024


def mounts_of(
    folders: Iterable[Path], owner: tuple[int, int], notes: list[str]
) -> tuple[Mount, ...]:
    """Return read-only mounts for indexes that are folders, at their own paths."""
    mounts: dict[Path, Mount] = {}
    for folder in folders:
        for part in (folder, *_files_of(folder)):
            try:
                _require_mountable(part, owner)
            except ConfigError as error:
                notes.append(f"The index `{folder}` is left out. {error}")
            else:
                mounts[part] = Mount(part, str(part))
    return tuple(m for path, m in mounts.items() if not path.is_relative_to(_SEEN_ANYWAY))


def _require_mountable(folder: Path, owner: tuple[int, int]) -> None:
    if len(folder.parts) < 3 or any(folder.is_relative_to(path) for path in _NEVER):
        raise ConfigError(f"`{folder}` is no folder for an index; give it one of its own.")
    require_reach([folder], owner)


def _files_of(folder: Path) -> Iterator[Path]:
    """Yield the folder that holds the files, where the index's pages name another."""
    files = [
        path
        for page in sorted(folder.glob("*/index.html"))[:_PAGES_READ]
        for path in _list_links(page)
    ]
    if files:
        common = Path(os.path.commonpath(files))
        common = common.parent if common.is_file() else common
        if not common.is_relative_to(folder):
            yield common


def _list_links(page: Path) -> Iterator[Path]:
    try:
        with page.open("rb") as opened:
            text = opened.read(_PAGE_LARGEST)
    except OSError:
        return
    for link in links_of(text):
        parts = urlsplit(urljoin(page.absolute().as_uri(), link))
        if parts.scheme == "file":
            yield Path(os.path.normpath(unquote(parts.path)))
