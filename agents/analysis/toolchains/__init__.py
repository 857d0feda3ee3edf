"""Which tools in which versions a repository asks for, by its version files and manifests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agents.analysis.languages.projects import DEEPEST, NOT_OURS
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.toolchains.manifests import NAMES, read_manifest
from agents.analysis.toolchains.version_files import READERS, read_version_file
from agents.analysis.toolchains.version_range import line_of
from agents.analysis.toolchains.wish import ToolDemand, ToolWish, Wishes, agree

__all__ = ["ToolDemand", "ToolWish", "WantedTools", "find_wanted", "line_of", "list_version_files"]

_MOST_FILES = 60


class WantedTools(NamedTuple):
    """What a repository asks for."""

    demands: list[ToolDemand]
    notes: list[str]
    """What its files say that names no version."""
    unmet: list[str]
    """What its version files pin in a way that nobody here can read."""


def list_version_files(paths: Iterable[str]) -> list[str]:
    """Return the files that are read, those of the root first; no more than a bounded number."""
    order = {name: place for place, name in enumerate((*READERS, *sorted(NAMES)))}
    found = (path.split("/") for path in paths)
    read = [p for p in found if p[-1] in order and len(p) <= DEEPEST + 1 and not _is_apart(p[:-1])]
    ordered = sorted(read, key=lambda parts: (len(parts), parts[:-1], order[parts[-1]]))
    return ["/".join(parts) for parts in ordered[:_MOST_FILES]]


def _is_apart(folders: Iterable[str]) -> bool:
    """Tell whether files there say nothing about how the repository itself is built."""
    return any(NOT_OURS.fullmatch(folder) for folder in folders)


def find_wanted(files: RepositoryFiles) -> WantedTools:
    """Return what the files ask for; version files prevail over manifests, the root over the rest.

    The texts may be anything: nothing in them is run, and no part of them becomes a command.
    """
    wishes = Wishes()
    for path in list_version_files(files.paths):
        if not read_version_file(path, files, wishes):
            read_manifest(path, files, wishes)
    notes, unmet = (list(dict.fromkeys(each)) for each in (wishes.notes, wishes.list_unmet()))
    return WantedTools(agree(wishes.found), notes, unmet)
