"""A simple command after all expansions, and the folder in which it runs."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from agents.tools.paths import ROOT
from agents.tools.shell.variables import HOME, UNKNOWN


@dataclass(frozen=True)
class Feed:
    """What a command finds at its standard input."""

    texts: tuple[str, ...] = ()
    """What it may be, where that can be told."""
    words: tuple[str, ...] = ()
    """The command that writes it, on the left of a pipe."""


@dataclass(frozen=True)
class Command:
    """A simple command: its words after all expansions, UNKNOWN where only the run can tell."""

    words: tuple[str, ...]
    folder: str = ROOT
    """Where it runs."""
    writes: tuple[str, ...] = ()
    """Files that its output is redirected to."""
    reads: tuple[str, ...] = ()
    feed: Feed | None = None

    @property
    def name(self) -> str:
        """Return the program's name without its folder; UNKNOWN when it cannot be told."""
        if not self.words:
            return ""
        return self.words[0].rsplit("/", 1)[-1] if "/" in self.words[0] else self.words[0]

    @property
    def text(self) -> str:
        """Return the command as one line."""
        return " ".join(self.words)

    def place(self, path: str) -> str:
        """Return where a path of this command leads, absolute."""
        return absolute(path, self.folder)


@dataclass(frozen=True)
class Script:
    """Text that a shell would run, with its positional parameters."""

    text: str
    arguments: tuple[str, ...] = ()
    """`$0`, `$1` and so on."""


@dataclass
class Folder:
    """Where the next command runs."""

    here: str = ROOT
    before: str = ROOT

    def follow(self, command: Command) -> None:
        """Go where the command goes, if it changes the folder."""
        if command.name in ("cd", "pushd"):
            given = [word for word in command.words[1:] if word == "-" or word[:1] != "-"]
            target = given[0] if given else HOME
            there = self.before if target == "-" else absolute(target, self.here)
            self.here, self.before = there, self.here
        elif command.name == "popd":
            self.here, self.before = self.before, self.here


def absolute(path: str, folder: str) -> str:
    """Return the path from the root down; UNKNOWN where it may lead anywhere."""
    if path.startswith(UNKNOWN) and UNKNOWN + "/" not in path[:2]:
        return path
    joined = posixpath.join(folder, path)
    if UNKNOWN in joined and ".." in joined.split("/"):
        return UNKNOWN
    normal = posixpath.normpath(joined)
    return "/" + normal.lstrip("/") if normal.startswith("/") else normal


def could_be(word: str, name: str) -> bool:
    """Return whether a word, parts of which may be unknown, may turn out as this name."""
    if UNKNOWN not in word:
        return word == name
    if word == UNKNOWN:
        return False  # a word of which nothing is known is judged as such, not as everything
    first, *rest = word.split(UNKNOWN)
    if not name.startswith(first) or not name.endswith(rest[-1]):
        return False
    at = len(first)
    for part in rest[:-1]:
        if (found := name.find(part, at)) < 0:
            return False
        at = found + len(part)
    return at <= len(name) - len(rest[-1])
