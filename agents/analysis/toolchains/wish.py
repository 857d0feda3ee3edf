"""What a repository asks for: which tool, in which versions, and which of its files says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from agents.analysis.toolchains.version_range import VersionRange, could_fit, line_of

PREFERRED = {
    "python": ("3.13", "3.12", "3.11", "3.14", "3.10", "3.9", "3.8"),
    "node": ("22", "24", "20", "26", "18", "16", "14", "12"),
    "java": ("21", "17", "25", "11", "8"),
    "ruby": ("3.3", "3.4", "3.2", "3.1", "3.0", "2.7"),
    "dotnet": ("8.0", "9.0", "10.0", "6.0"),
}
"""Lines of releases with long support, in the order in which they are looked for where several
would do; what a range itself names comes after them."""

_MOST_REQUESTS = 3
_BEYOND_ALL = "9999.0.0"
"""A version that only ranges without an upper end hold."""
_SHOWN = 60
_FOR_MANY = (".tool-versions", "mise.toml", ".mise.toml")


@dataclass(frozen=True)
class ToolWish:
    """One tool that one file asks for."""

    tool: str
    wanted: VersionRange
    source: str
    """The file's path."""
    near: VersionRange | None = None
    """What will do, with a note, where nothing of `wanted` can be had."""

    @property
    def folder(self) -> str:
        """Return the file's folder; empty for the root."""
        return self.source.rpartition("/")[0]

    def __str__(self) -> str:
        """Return the wish as people read it."""
        text = self.wanted.text or "any version"
        return f"`{self.source}` asks for {self.tool} `{text[:_SHOWN]}`"


@dataclass(frozen=True)
class ToolDemand:
    """One tool, and all the wishes for it that can be met together, the most important first."""

    tool: str
    wishes: tuple[ToolWish, ...]
    refused: tuple[ToolWish, ...] = ()
    """Wishes of the same folder that contradict those."""
    folder: str = ""
    """The folder whose commands alone it is for; empty for all."""

    @property
    def ranges(self) -> tuple[VersionRange, ...]:
        """Return what has to be met."""
        return tuple(wish.wanted for wish in self.wishes)

    @property
    def is_open(self) -> bool:
        """Tell whether any version will do."""
        return all(not each.spec for each in self.ranges)

    def fits(self, version: str) -> bool:
        """Tell whether this version meets all wishes."""
        return all(each.fits(version) for each in self.ranges)

    def is_near(self, version: str) -> bool:
        """Tell whether this version will do where none that fits can be had."""
        return all(
            wish.wanted.fits(version) or (wish.near is not None and wish.near.fits(version))
            for wish in self.wishes
        )

    def list_requests(self) -> list[str]:
        """Return the versions to look for elsewhere, as their first numbers, the best first.

        Nothing stands for the newest.
        """
        named = sorted((each.prefix for each in self.ranges), key=lambda text: -text.count("."))
        own = [text for text in named if text][:1]
        most = 1 if self.is_open else _MOST_REQUESTS
        found = [*dict.fromkeys([*own, *self._list_lines()])][:most]
        # A go.mod from years ago names the least that will do, which no source may have any more.
        newest = [""] if not found or (not self.is_open and self.fits(_BEYOND_ALL)) else []
        return [*found, *newest]

    def _list_lines(self) -> Iterator[str]:
        mentioned = (v for each in self.ranges for v in _with_next(self.tool, each.mentioned))
        for line in dict.fromkeys((*PREFERRED.get(self.tool, ()), *mentioned)):
            if could_fit(self.tool, line, self.ranges):
                yield line


@dataclass
class Wishes:
    """All that a repository's files ask for."""

    found: list[ToolWish] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What files say that names no version."""
    unread: list[tuple[str, str, str]] = field(default_factory=list)
    """Tool, file and sentence of what a version manager's file pins and nobody here can read."""

    def add(self, tool: str, wanted: VersionRange | None, source: str, *, text: str = "") -> None:
        """Take one wish; without a range, note what the file says instead."""
        if wanted is None:
            self.notes.append(f"{_say_unread(tool, source, text)}; it was passed over.")
            return
        prefix = wanted.prefix
        line = line_of(tool, prefix) if prefix else ""
        near = VersionRange(f"=={line}.*") if line and line != prefix else None
        self.found.append(ToolWish(tool, wanted, source, near))

    def pin(self, tool: str, wanted: VersionRange | None, source: str, *, text: str) -> None:
        """Take what a version manager's file pins: what else there is does not do for it."""
        if wanted is None:
            self.unread.append((tool, source, f"{_say_unread(tool, source, text)}."))
        else:
            self.add(tool, wanted, source, text=text)

    def list_unmet(self) -> list[str]:
        """Return what is pinned in a way that nobody here can read, of tools that are needed.

        A file for many tools may name some that this repository has no manifest of.
        """
        needed = {wish.tool for wish in self.found}
        return [
            sentence
            for tool, source, sentence in self.unread
            if tool in needed or source.rpartition("/")[2] not in _FOR_MANY
        ]


def _say_unread(tool: str, source: str, text: str) -> str:
    shown = " ".join(text.split()).replace("`", "'")[:_SHOWN]
    return f"`{source}` asks for {tool} `{shown}`, which is no version that Fettle can look for"


def agree(wishes: Iterable[ToolWish]) -> list[ToolDemand]:
    """Return for each tool the wishes that can be met together; what comes first prevails.

    A folder that contradicts what comes first has a demand of its own.
    """
    by_tool: dict[str, list[ToolWish]] = {}
    for wish in wishes:
        by_tool.setdefault(wish.tool, []).append(wish)
    return [each for tool, found in by_tool.items() for each in _divide(tool, found)]


def _divide(tool: str, wishes: list[ToolWish]) -> Iterator[ToolDemand]:
    all_ = _agree_on(tool, wishes)
    near = tuple(each for each in all_.refused if each.folder in {"", all_.wishes[0].folder})
    yield replace(all_, refused=near)
    for folder in dict.fromkeys(each.folder for each in all_.refused if each not in near):
        own = [each for each in wishes if each.folder == folder]
        yield replace(_agree_on(tool, own), folder=folder)


def _agree_on(tool: str, wishes: list[ToolWish]) -> ToolDemand:
    kept: list[ToolWish] = []
    refused: list[ToolWish] = []
    for wish in dict.fromkeys(wishes):
        ranges = (*(each.wanted for each in kept), wish.wanted)
        together = ToolDemand(tool, (*kept, wish))
        (kept if not kept or _can_be_met(together, ranges) else refused).append(wish)
    return ToolDemand(tool, tuple(kept), tuple(refused))


def _can_be_met(demand: ToolDemand, ranges: tuple[VersionRange, ...]) -> bool:
    if demand.is_open:
        return True
    named = [text for each in ranges for text in _with_next(demand.tool, each.mentioned)]
    lines = dict.fromkeys((*named, *PREFERRED.get(demand.tool, ())))
    return any(could_fit(demand.tool, line, ranges) for line in lines)


def _with_next(tool: str, versions: Iterable[str]) -> Iterator[str]:
    """Yield the lines of these versions, each with the next one: `>3.12` means 3.13."""
    for version in versions:
        line = line_of(tool, version)
        *front, last = line.split(".")
        yield line
        yield ".".join([*front, str(int(last) + 1)])
