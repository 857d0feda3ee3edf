"""A unified diff as pairs of texts: each file's shown lines before and after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from agents.analysis.which_are_tests import find_language

NOTHING = "/dev/null"
LONGEST = 1_000  # characters of a line that are read: nobody writes a test in more

_ESCAPE = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
_HASH_COMMENTS = frozenset(("python", "ruby", "elixir", "shell", "other"))
_HASH = re.compile(r"\s*(#|--\s)")
_SLASHES = re.compile(r"\s*(//|/\*|\*(?!\w)|#(?!\[|!\[|\w))")


class Unreadable(ValueError):
    """The diff is not one, or is cut off."""


@dataclass(frozen=True)
class ViewLine:
    """One line of a file. Number 0: a gap, with what git says the next lines stand in."""

    number: int
    text: str


@dataclass(frozen=True)
class FileDiff:
    """One file, as the diff shows it: the changed lines and those around them."""

    old: str | None
    """Its path before; None when it is new."""
    new: str | None
    """Its path after; None when it is deleted."""
    binary: bool
    before: tuple[ViewLine, ...] = field(repr=False)
    after: tuple[ViewLine, ...] = field(repr=False)
    executable: bool = False
    """Whether it can be run afterwards, as far as the diff says so."""
    link: bool = False

    @property
    def path(self) -> str:
        """Return the path under which people find it."""
        return self.new or self.old or ""

    @cached_property
    def language(self) -> str:
        """Return the family of languages that it is written in."""
        return find_language(self.path)


def read_diff(diff: str) -> tuple[FileDiff, ...]:
    """Return the files of the diff. Raises Unreadable."""
    try:
        files = PatchSet(diff)
    except (UnidiffParseError, ValueError, AssertionError, AttributeError) as error:
        raise Unreadable(str(error)) from error
    if diff.strip() and not files:
        raise Unreadable("there is no file in it")
    return tuple(map(_change, files))


def is_comment(text: str, family: str) -> bool:
    """Return whether the line is nothing but a comment."""
    pattern = _HASH if family in _HASH_COMMENTS else _SLASHES
    return pattern.match(text) is not None


def list_code(lines: tuple[ViewLine, ...], family: str) -> Iterator[ViewLine]:
    """Yield the lines that are neither blank nor only a comment, and the gaps."""
    for line in lines:
        if not line.number or (line.text.strip() and not is_comment(line.text, family)):
            yield line


def list_fresh_lines(before: Sequence[ViewLine], after: Sequence[ViewLine]) -> list[ViewLine]:
    """Return the lines that are there after and were not before, wherever they stood."""
    known = Counter(line.text for line in before)
    fresh = []
    for line in after:
        if known[line.text]:
            known[line.text] -= 1
        elif line.number:
            fresh.append(line)
    return fresh


def _change(file: PatchedFile) -> FileDiff:
    info = str(file.patch_info or "")
    return FileDiff(
        old=_path(file.source_file),
        new=_path(file.target_file),
        binary=file.is_binary_file,
        before=tuple(line for hunk in file for line in _lines(hunk, source=True)),
        after=tuple(line for hunk in file for line in _lines(hunk, source=False)),
        executable=file.target_mode == "100755" or "\nnew mode 100755\n" in info,
        link=file.is_symlink,
    )


def _lines(hunk: Hunk, *, source: bool) -> Iterator[ViewLine]:
    yield ViewLine(0, hunk.section_header)
    for line in hunk:
        if line.is_context or (line.is_removed if source else line.is_added):
            number = line.source_line_no if source else line.target_line_no
            yield ViewLine(number or 0, line.value.rstrip("\r\n")[:LONGEST])


def _path(name: str) -> str | None:
    """Return a path as the repository has it; git quotes some and puts a letter before all."""
    if name == NOTHING:
        return None
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = _unquote(name[1:-1])
    return name[2:] if name[1:2] == "/" else name


def _unquote(name: str) -> str:
    def byte(escape: re.Match[str]) -> str:
        what = escape[1]
        return chr(_ESCAPES[what] if what in _ESCAPES else int(what, 8) & 0xFF)

    try:
        return _ESCAPE.sub(byte, name).encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:  # git quotes all or nothing; whatever else this is, keep it
        return name
