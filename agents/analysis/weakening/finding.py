"""A finding: one thing in a change that people should see, and who must agree to it."""

from __future__ import annotations

from typing import Literal

from agents.requests import Frozen

FindingKind = Literal[
    "deleted", "removed", "skipped", "focused", "assertion", "weaker", "expectation", "suppressed",
    "settings", "threshold", "unreadable", "around", "secret", "unsafe", "host", "licence",
    "detection",
]  # fmt: skip

TEXT = 160  # characters of a line that a finding shows


class Finding(Frozen):
    """One place where the change weakens a test, a check or a protection, or may do so."""

    path: str
    line: int
    """In the file as it is now; as it was, for what is gone. 0: the file as a whole."""
    kind: FindingKind
    text: str
    """The line itself, or what became of it; the repository's words: untrusted."""
    grave: bool = True
    """Whether people have to agree to it; otherwise it is only pointed out."""

    @property
    def place(self) -> str:
        """Return the file, and the line where there is one."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def what(self) -> str:
        """Return what kind of change it is, in words for people."""
        return WORDS[self.kind]


WORDS: dict[FindingKind, str] = {
    "deleted": "test file deleted",
    "removed": "test removed",
    "skipped": "test no longer counts",
    "around": "way around assertions",
    "detection": "asks whether tests run it",
    "focused": "only some tests run",
    "assertion": "assertion removed",
    "weaker": "assertion weakened",
    "expectation": "expectation changed",
    "suppressed": "warning silenced",
    "settings": "settings of checks changed",
    "threshold": "threshold lowered",
    "unreadable": "could not be compared",
    "secret": "looks like a secret",
    "unsafe": "protection switched off",
    "host": "new address on the network",
    "licence": "licence of a new package",
}


def make_finding(
    path: str, line: int, kind: FindingKind, text: str, *, grave: bool = True
) -> Finding:
    """Return a finding whose text is one short line."""
    short = " ".join(text.split())
    if len(short) > TEXT:
        short = f"{short[: TEXT - 1]}…"
    return Finding(path=path, line=line, kind=kind, text=short, grave=grave)
