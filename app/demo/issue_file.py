"""An issue in a file or on the command line: its first line is the title."""

from __future__ import annotations


def read_issue(text: str) -> tuple[str, str]:
    """Return title and body of an issue file: its first line, a heading or not, is the title."""
    first, _, body = text.strip().partition("\n")
    return first.lstrip("# ").strip(), body.strip()
