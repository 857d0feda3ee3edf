"""Normalizes paths that the model writes, so that the gate judges what will be opened."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator

ROOT = "/workspace"
"""Where commands in the sandbox see the repository."""

_SHORT_NAME = re.compile(r"git~\d+")


def normalize(path: str) -> str:
    """Return the path relative to the repository's root; what lies outside stays recognisable."""
    path = posixpath.normpath(path)
    if path == ROOT or path.startswith(f"{ROOT}/"):
        path = posixpath.relpath(path, ROOT)
    return path


RepositoryPath = Annotated[str, AfterValidator(normalize)]


def leaves(path: str) -> bool:
    """Return whether a normal path points out of the repository."""
    return path == ".." or path.startswith(("/", "../"))


def names_git(path: str) -> bool:
    """Return whether a part of the path is `.git`, also as other file systems read it."""
    return any(
        _as_seen(part) == ".git" or _SHORT_NAME.fullmatch(_as_seen(part))
        for part in path.split("/")
    )


def is_unprintable(path: str) -> bool:
    """Return whether the path holds characters that no person could see or type."""
    return any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in path)


def _as_seen(part: str) -> str:
    """Return a name as NTFS and HFS+ compare it: no case, no trailing dots, nothing invisible."""
    shown = "".join(char for char in part if unicodedata.category(char) != "Cf")
    return shown.casefold().rstrip(". ").split(":")[0]
