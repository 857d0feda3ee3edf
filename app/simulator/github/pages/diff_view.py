"""Render a diff as HTML: numbered lines, syntax colours, changed words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound
from unidiff.patch import Hunk, Line, PatchSet

from app.simulator.github.patches import FileChange

Span = tuple[int, int]
WORD = re.compile(r"\w+|\s+|.")
SPANS = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MOST_LINES_OPEN = 600
ALIKE = 0.4  # below it two lines are different lines, and marking words only confuses


@dataclass(frozen=True)
class DiffRow:
    """One line of a hunk; `kind` is added, removed or same."""

    kind: str
    old: int | None
    new: int | None
    code: Markup


@dataclass(frozen=True)
class HunkView:
    """One hunk under its `@@` line."""

    heading: str
    rows: list[DiffRow]


@dataclass(frozen=True)
class FileView:
    """One file of a diff."""

    change: FileChange
    anchor: str
    parts: list[HunkView]
    open: bool


def view_files(changes: Sequence[FileChange]) -> list[FileView]:
    """Return the files of a diff, ready to be shown."""
    return [_file_view(number, change) for number, change in enumerate(changes, start=1)]


def view_hunk(path: str, text: str) -> list[DiffRow]:
    """Return the lines of a hunk that may have been cut short."""
    heading, *lines = text.split("\n")
    start = SPANS.match(heading)
    assert start
    sizes = [sum(line[:1] in kinds for line in lines) for kinds in ((" ", "-"), (" ", "+"))]
    whole = f"@@ -{start[1]},{sizes[0]} +{start[2]},{sizes[1]} @@"
    [file] = PatchSet("\n".join(["--- a/it", "+++ b/it", whole, *lines, ""]))
    return _part(file[0], _lexer_for(path)).rows


def _file_view(number: int, change: FileChange) -> FileView:
    lexer = _lexer_for(change.path)
    small = change.additions + change.deletions <= MOST_LINES_OPEN
    parts = [_part(hunk, lexer) for hunk in change.parsed]
    return FileView(change, f"file-{number}", parts, small)


def _lexer_for(path: str) -> Lexer:
    found: Lexer = TextLexer(stripnl=False, ensurenl=False)
    with suppress(ClassNotFound):
        found = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    return found


def _part(hunk: Hunk, lexer: Lexer) -> HunkView:
    lines = [line for line in hunk if line.line_type != "\\"]
    old = iter(_highlight([line.value for line in lines if not line.is_added], lexer))
    new = iter(_highlight([line.value for line in lines if not line.is_removed], lexer))
    marks = _changed_words(lines)
    rows = []
    for line, marked in zip(lines, marks, strict=True):
        tokens = next(old) if line.is_removed else next(new)
        if line.is_context:
            next(old)
        rows.append(_row(line, _html(tokens, marked)))
    spans = (
        f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    )
    return HunkView(f"{spans} {hunk.section_header}".rstrip(), rows)


def _row(line: Line, code: Markup) -> DiffRow:
    kind = "added" if line.is_added else "removed" if line.is_removed else "same"
    return DiffRow(kind, line.source_line_no, line.target_line_no, code)


Tokens = list[tuple[str, str]]


def _highlight(values: Sequence[str], lexer: Lexer) -> list[Tokens]:
    """Return (class, text) pieces for each line, the lines being read as one text."""
    lines: list[Tokens] = [[]]
    text = "".join(f"{_one_line(value)}\n" for value in values)
    for kind, piece_of_text in lexer.get_tokens(text):
        for number, piece in enumerate(piece_of_text.split("\n")):
            if number:
                lines.append([])
            if piece:
                lines[-1].append((_css_class(kind), piece))
    return lines


def _one_line(value: str) -> str:
    """Return a line without its end; a stray carriage return must not make it two."""
    return value.rstrip("\r\n").replace("\r", "\u240d")


def _css_class(kind: _TokenType) -> str:
    while kind not in STANDARD_TYPES and kind.parent:
        kind = kind.parent
    return STANDARD_TYPES.get(kind, "")


def _html(tokens: Tokens, marked: Sequence[Span]) -> Markup:
    out, at = [], 0
    for css, text in tokens:
        for piece, inside in _cut(text, at, marked):
            shown = Markup("<mark>%s</mark>") % piece if inside else escape(piece)
            out.append(Markup('<span class="%s">%s</span>') % (css, shown) if css else shown)
        at += len(text)
    return Markup("").join(out)


def _cut(text: str, at: int, marked: Sequence[Span]) -> Iterator[tuple[str, bool]]:
    """Cut a piece of a line that begins at column `at` where marking begins or ends."""
    inside = [any(a <= at + i < b for a, b in marked) for i in range(len(text))]
    position = 0
    for flag, group in groupby(inside):
        size = len(list(group))
        yield text[position : position + size], flag
        position += size


def _changed_words(lines: Sequence[Line]) -> list[list[Span]]:
    """Return the columns to mark in each line: for runs of as many removed as added lines."""
    marks: list[list[Span]] = [[] for _ in lines]
    at = 0
    for changed, group in groupby(lines, key=lambda line: not line.is_context):
        size = len(list(group))
        removed = [i for i in range(at, at + size) if lines[i].is_removed]
        added = [i for i in range(at, at + size) if lines[i].is_added]
        if changed and len(removed) == len(added):
            for old, new in zip(removed, added, strict=True):
                marks[old], marks[new] = _differences(
                    *(_one_line(lines[at].value) for at in (old, new))
                )
        at += size
    return marks


def _differences(old: str, new: str) -> tuple[list[Span], list[Span]]:
    words = [[(found.start(), found.group()) for found in WORD.finditer(x)] for x in (old, new)]
    matcher = SequenceMatcher(
        a=[w for _, w in words[0]], b=[w for _, w in words[1]], autojunk=False
    )
    if matcher.ratio() < ALIKE:
        return [], []
    spans: tuple[list[Span], list[Span]] = ([], [])
    for what, a1, a2, b1, b2 in matcher.get_opcodes():
        if what != "equal":
            spans[0].extend((start, start + len(w)) for start, w in words[0][a1:a2])
            spans[1].extend((start, start + len(w)) for start, w in words[1][b1:b2])
    return spans
