"""Find a repository's decision log, and the path of its next entry."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable
from typing import Self

from agents.errors import PolicyInvalid
from agents.policy import POLICY_PATH
from agents.requests import Frozen
from agents.tools.paths import is_unprintable, leaves, names_git, normalize

NEW = "docs/decisions"
"""Where a log is begun that nobody has begun: as MADR has it."""
ADR_DIR = ".adr-dir"
"""The file in which adr-tools keeps the path of the log."""
DEEPEST = 4  # folders: what lies deeper belongs to a part of the repository, not to all of it

_SUFFIX = r"\.(?:md|markdown|adoc|rst|txt)"
_FILE = re.compile(
    rf"(?:(?:docs?|\.github)/)?(?:decisions?|decision[-_]?(?:log|records?)|adrs?"
    rf"|architecture[-_]decisions?){_SUFFIX}",
    re.IGNORECASE,
)
_FOLDER = re.compile(
    r"(?:.*/)?(?:adrs?|decisions?|decision[-_]?(?:log|records?)|architecture[-_]decisions?"
    r"|architecture[-_]decision[-_]records?)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|fixtures?|testdata|examples?|vendor|third[-_]party|node_modules|templates?)/",
    re.IGNORECASE,
)
_RECORD = re.compile(
    r"(?P<before>[a-z]+[-_ ]?)?(?P<number>\d{4}-\d\d-\d\d|\d{1,8})(?P<between>[-_. ]+)(?P<words>.+)"
    rf"(?P<suffix>{_SUFFIX})",
    re.IGNORECASE,
)
_INDEX = re.compile(rf"(?:readme|index){_SUFFIX}", re.IGNORECASE)
_WORDS = r"[A-Za-z0-9][A-Za-z0-9._-]{1,78}"
_DATED = 8  # digits: a date, as log4brains has it
_DIGITS = {"YYYY-MM-DD": r"\d{4}-\d\d-\d\d", "YYYYMMDD": r"\d{8}"}


class DecisionLog(Frozen):
    """Where a decision is recorded: in a file that grows, or in a file of its own in a folder."""

    file: str = ""
    """The one file; empty when each decision has its own."""
    folder: str = ""
    name: str = ""
    """How a new file in it is called, for people: `0008-<words>.md`."""
    pattern: str = ""
    """The same as a regular expression."""
    newest: str = ""
    """The newest record, to be taken as a model; empty when there is none."""
    index: str = ""
    """The file that may list the records; empty when there is none."""
    existing: bool = True
    """Whether it is there already."""

    @property
    def place(self) -> str:
        """Return what a policy protects or not."""
        return self.file or posixpath.join(self.folder, self.name.replace("<words>", "words"))

    def takes(self, path: str, present: Collection[str]) -> bool:
        """Return whether recording a decision may change this path.

        A new record in the folder, and beside it the index; never a record that was `present`.
        """
        if self.file:
            return path == self.file
        if path == self.index:
            return True
        folder, name = posixpath.split(path)
        fits = folder == self.folder and re.fullmatch(self.pattern, name) is not None
        return fits and path not in present

    @classmethod
    def in_folder(cls, folder: str, paths: Iterable[str]) -> Self:
        """Return the log with a file for each decision, its next one named as the newest is."""
        names = _names(folder, paths)
        records = _records(names)
        before, number, between, suffix = "", "0001", "-", ".md"
        if records:
            newest = records[-1]
            before, between, suffix = newest["before"] or "", newest["between"], newest["suffix"]
            number = _next(newest["number"])
        digits = _DIGITS.get(number, number)
        index = next((name for name in sorted(names) if _INDEX.fullmatch(name)), "")
        return cls(
            folder=folder,
            name=f"{before}{number}{between}<words>{suffix}",
            pattern=f"{re.escape(before)}{digits}{re.escape(between)}{_WORDS}{re.escape(suffix)}",
            newest=posixpath.join(folder, records[-1][0]) if records else "",
            index=posixpath.join(folder, index) if index else "",
            existing=bool(names),
        )


def find_log(paths: Collection[str], wanted: str | None = None) -> DecisionLog:
    """Return where the next decision goes in a repository with these files.

    `wanted` is what its owners say about it. Otherwise: the folder with most records, a file that
    is called like a log, a folder that is called so, a new folder. Raises PolicyInvalid when
    `wanted` is no place in the repository.
    """
    seen = [path for path in paths if not is_unprintable(path)]
    if wanted:
        return _find_named_log(wanted, seen)
    ours = [path for path in seen if not _ASIDE.search(path) and path.count("/") <= DEEPEST]
    folders = {posixpath.dirname(path) for path in ours}
    logs = sorted((each for each in folders if _FOLDER.fullmatch(each)), key=_shortest)
    counts = {each: len(_records(_names(each, ours))) for each in logs}
    fullest = max(logs, key=lambda each: counts[each], default="")
    files = sorted((path for path in ours if _FILE.fullmatch(path)), key=_shortest)
    if files and not counts.get(fullest):
        return DecisionLog(file=files[0])
    return DecisionLog.in_folder(fullest or NEW, seen)


def list_records(log: DecisionLog, paths: Iterable[str]) -> list[str]:
    """Return the names of a folder's records, the newest first."""
    seen = (path for path in paths if not is_unprintable(path))
    return [match[0] for match in reversed(_records(_names(log.folder, seen)))]


def only_adds(old: bytes, new: bytes) -> bool:
    """Return whether every line of the old text still stands in the new one, in its order."""
    lines = iter(new.splitlines())
    return all(line in lines for line in old.splitlines())


def _find_named_log(wanted: str, paths: Collection[str]) -> DecisionLog:
    path = normalize(wanted.strip())
    if path == "." or leaves(path) or names_git(path) or is_unprintable(path):
        raise PolicyInvalid(
            f"`decisions.path` in `{POLICY_PATH}` names no place in the repository: `{wanted}`."
            f" Give a Markdown file or a folder, like `{NEW}`."
        )
    if path in paths or re.search(_SUFFIX + "$", path, re.IGNORECASE):
        return DecisionLog(file=path, existing=path in paths)
    return DecisionLog.in_folder(path, paths)


def _names(folder: str, paths: Iterable[str]) -> list[str]:
    return [posixpath.basename(path) for path in paths if posixpath.dirname(path) == folder]


def _records(names: Iterable[str]) -> list[re.Match[str]]:
    """Return the records among these names, the newest last."""
    found = [match for match in map(_RECORD.fullmatch, names) if match]
    found = [match for match in found if "template" not in match["words"].lower()]
    return sorted(found, key=lambda match: (int(match["number"].replace("-", "")), match[0]))


def _next(number: str) -> str:
    """Return the number after this one, as wide as it; for a date, the kind of date it is."""
    if not number.isdigit() or len(number) >= _DATED:
        return "YYYY-MM-DD" if "-" in number else "YYYYMMDD"
    return f"{int(number) + 1:0{len(number)}}"


def _shortest(path: str) -> tuple[int, str]:
    return len(path), path
