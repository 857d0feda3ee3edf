"""A repository's files at its base commit: paths, and the text of a few settings."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from agents.text.toml import toml_in

LONGEST = 300_000  # characters of a settings file: all else waits while it is read


@dataclass(frozen=True)
class RepositoryFiles:
    """The paths of a repository, and the text of its settings files."""

    paths: frozenset[str]
    texts: dict[str, str]
    folder: str = ""
    """The folder that these paths are relative to; empty for the root."""
    others: tuple[str, ...] = ()
    """Folders in it that are left out, since they are projects of their own."""

    def narrow_to(self, folder: str, without: Collection[str] = ()) -> RepositoryFiles:
        """Return the files below a folder as if it was the root, but for those of some folders."""
        start = f"{folder}/" if folder else ""
        cut, left_out = len(start), tuple(f"{each}/" for each in without)

        def is_inside(path: str) -> bool:
            return path.startswith(start) and not (left_out and path.startswith(left_out))

        return RepositoryFiles(
            frozenset(path[cut:] for path in self.paths if is_inside(path)),
            {path[cut:]: text for path, text in self.texts.items() if is_inside(path)},
            folder,
            tuple(sorted(each[cut:] for each in without)),
        )

    def mentions(self, path: str, pattern: str) -> bool:
        """Return whether that settings file exists and has a match."""
        return re.search(pattern, self.texts.get(path, ""), re.MULTILINE) is not None

    def any_named(self, pattern: str) -> bool:
        """Return whether any path's last part matches as a whole."""
        return any(re.fullmatch(pattern, path.rsplit("/", 1)[-1]) for path in self.paths)

    def match_paths(self, pattern: str) -> list[str]:
        """Return the paths that match as a whole, sorted."""
        return sorted(path for path in self.paths if re.fullmatch(pattern, path))

    def toml(self, path: str) -> dict[str, object]:
        """Return that TOML file's content; empty when it is absent or broken."""
        try:
            return toml_in(self._read_short_text(path))
        except ValueError:
            return {}

    def json(self, path: str) -> dict[str, object]:
        """Return that JSON file's content; empty when it is absent, broken, or no object."""
        try:
            document = json.loads(self._read_short_text(path) or "{}")
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    def _read_short_text(self, path: str) -> str:
        text = self.texts.get(path, "")
        return text if len(text) <= LONGEST else ""


def table(document: object, *names: str) -> dict[str, object]:
    """Return the table that these names lead to, or an empty one: files may hold anything."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def strings(value: object) -> list[str]:
    """Return the strings of a list that a file holds; of anything else, none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
