"""Parse a unified diff into files with their counts of added and deleted lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unidiff.patch import Hunk, PatchedFile, PatchSet

INDEX_LINE = re.compile(r"^index ([0-9a-f]{40})\.\.([0-9a-f]{40})", re.MULTILINE)


@dataclass(frozen=True)
class FileChange:
    """One file of a diff; `patch` begins at the first hunk and is None for binary files."""

    status: str
    path: str
    previous: str | None
    blob: str
    additions: int
    deletions: int
    patch: str | None
    parsed: PatchedFile


def parse_diff(diff: str) -> list[FileChange]:
    """Return the files of a diff made with `--full-index`, in their order."""
    return [_file_change(each) for each in PatchSet(diff + "\n")]


def rows_of(hunk: Hunk) -> list[str]:
    """Return a hunk's lines as git writes them: a length of one stays unsaid."""
    spans = (
        (hunk.source_start, hunk.source_length),
        (hunk.target_start, hunk.target_length),
    )
    old, new = (f"{start}" if size == 1 else f"{start},{size}" for start, size in spans)
    heading = f"@@ -{old} +{new} @@ {hunk.section_header}".rstrip()
    return [heading, *str(hunk).removesuffix("\n").split("\n")[1:]]


def _file_change(file: PatchedFile) -> FileChange:
    found = INDEX_LINE.search(str(file.patch_info or ""))
    old, new = found.groups() if found else ("", "")
    return FileChange(
        status=_status(file),
        path=file.path,
        previous=file.source_file.removeprefix("a/") if file.is_rename else None,
        blob=old if file.is_removed_file else new,
        additions=file.added,
        deletions=file.removed,
        patch="\n".join(row for hunk in file for row in rows_of(hunk)) or None,
        parsed=file,
    )


def _status(file: PatchedFile) -> str:
    if file.is_added_file:
        return "added"
    if file.is_removed_file:
        return "removed"
    return "renamed" if file.is_rename else "modified"
