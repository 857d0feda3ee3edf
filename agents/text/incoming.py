"""Clean untrusted text of what GitHub hides from its readers, and fence it as data."""

from __future__ import annotations

import hashlib
import html
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agents.text.characters import plain_output, printable, without_hidden
from agents.text.markdown import parse_blocks

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_OPENING = re.compile(r"`+|<!--|<\?|<!\[CDATA\[|<![A-Za-z]")
_CLOSING = {"<?": "?>", "<![CDATA[": "]]>"}
# Not even a definition right below a paragraph, but written to be overlooked all the same.
_NOTE_TO_NOBODY = re.compile(
    r"^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*<?#>?[ \t]+[\"'(].*\n?", re.MULTILINE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
COMMENTS, DEFINITIONS = "HTML comments", "link definitions"
INSTRUCTIONS = "processing instructions"


UNSEEN = "hidden text: "
"""Stands before what readers of the page do not see."""
_WORD = re.compile(r"[\w.-]{0,40}")
_TAG = re.compile(r"<[A-Za-z][^<>]{0,4000}>")
_ATTRIBUTE = re.compile(r"""\s([A-Za-z_:][\w:.-]{0,60})\s*=\s*("[^"]*"|'[^']*'|[^\s"'<>=`]+)""")
_SHOWN = frozenset(("href", "src", "srcset", "width", "height", "align", "colspan", "rowspan"))
_IMAGE = re.compile(r"!\[([^\[\]]{1,4000})\]")
_TITLE = re.compile(r"""(\]\([^()\s]{1,2000}\s+)(["'])([^"']{1,2000})\2\)""")


@dataclass(frozen=True)
class Cleaned:
    """Text as a person on GitHub would read it, and what was taken out, by kind."""

    text: str
    removed: dict[str, int]


def clean(text: str) -> Cleaned:
    """Return the text without hidden parts. Code keeps everything but invisible characters.

    Entities are decoded first, since they can spell what comes after. What only a pointer or a
    screen reader brings to light stays and is marked: texts of images, titles, attributes. This is
    hygiene: what an agent may do does not rest on it.
    """
    removed: Counter[str] = Counter()
    find = lru_cache(1)(_find_blocks)  # most steps change nothing, and reading is what takes long
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _outside_code(text, find(text), _decode_prose)
    text, hidden = without_hidden(text)
    text = _outside_code(text, find(text), lambda prose: _without_comments(prose, removed))
    text = _without_definitions(text, find(text), removed)
    text = _outside_code(text, find(text), _mark_unseen)
    return Cleaned(text.strip("\n"), dict(sorted((removed + hidden).items())))


def quote(text: str, delimiter: str, *, limit: int = 20_000) -> str:
    """Return the text fenced as data, its middle left out beyond `limit` characters.

    The delimiter should be one that nobody outside can foresee. Should the text hold it all the
    same, another one, derived from both, takes its place: the same input gives the same fence.
    """
    body = _shorten_output(text, limit)
    while delimiter.casefold() in body.casefold():
        delimiter = hashlib.sha256(f"{delimiter}\0{body}".encode()).hexdigest()[:16]
    return f"<untrusted-{delimiter}>\n{body}\n</untrusted-{delimiter}>"


def _shorten_output(text: str, limit: int) -> str:
    """Return head and tail, cleaned; of a huge text no more than might be shown is cleaned."""
    part = 4 * limit  # colours and progress bars may be most of it
    if len(text) <= 2 * part:
        head = tail = text = printable(plain_output(text))
    else:
        head, tail = (printable(plain_output(each)) for each in (text[:part], text[-part:]))
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = f"[… {len(text) - 2 * half:,} characters left out …]"
    return f"{head[:half]}\n{left_out}\n{tail[len(tail) - half :]}"


# --- what is code -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Blocks:
    """The lines of a text's blocks that are not read as prose: first one, and one behind."""

    code: Sequence[tuple[int, int]]
    definitions: Sequence[tuple[int, int]]


def _find_blocks(text: str) -> _Blocks:
    code, definitions = [], []
    for token in parse_blocks(text):
        first, last = token.map or (0, 0)
        if last and token.type in ("fence", "code_block"):
            code.append((first, last))
        elif last and token.type == "definition" and not token.meta["label"].startswith("^"):
            definitions.append((first, last))
    return _Blocks(code, definitions)


def _outside_code(text: str, blocks: _Blocks, change: Callable[[str], str]) -> str:
    """Return the text with its parts outside code blocks changed."""
    lines = text.split("\n")
    out, at = [], 0
    for first, last in blocks.code:
        out += _change_lines(lines[at:first], change)
        out += lines[first:last]
        at = last
    return "\n".join(out + _change_lines(lines[at:], change))


def _change_lines(lines: list[str], change: Callable[[str], str]) -> list[str]:
    return change("\n".join(lines)).split("\n") if lines else []


def _decode_prose(prose: str) -> str:
    return _change_beside_code(prose, _unescape)


def _change_beside_code(prose: str, change: Callable[[str], str]) -> str:
    out, at = [], 0
    for kind, start, end in _marks(prose):
        if kind == "code":
            out += [change(prose[at:start]), prose[start:end]]
            at = end
    return "".join([*out, change(prose[at:])])


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


# --- what is hidden -----------------------------------------------------------------------------


def _without_comments(prose: str, removed: Counter[str]) -> str:
    out, at = [], 0
    for kind, start, end in _marks(prose):
        if kind != "code":
            removed[COMMENTS if kind == "comment" else INSTRUCTIONS] += 1
            out.append(prose[at:start])
            at = end
    visible, count = _NOTE_TO_NOBODY.subn("", "".join([*out, prose[at:]]))
    removed[DEFINITIONS] += count
    return visible


def _without_definitions(text: str, blocks: _Blocks, removed: Counter[str]) -> str:
    """Leave out lines like `[//]: # (...)`, which GitHub never shows; footnotes it does show."""
    lines = text.split("\n")
    for first, last in reversed(blocks.definitions):
        del lines[first:last]
        removed[DEFINITIONS] += 1
    return "\n".join(lines)


def _marks(prose: str) -> Iterator[tuple[str, int, int]]:
    """Yield code spans and what HTML hides as (kind, start, end), whichever begins first."""
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in re.finditer("`+", prose):
        runs[len(run[0])].append(run.start())
    at, unclosed = 0, set[str]()
    while mark := _OPENING.search(prose, at):
        start, at = mark.span()
        if mark[0] == "<!--":
            at = _comment_end(prose, start)
            yield "comment", start, at
        elif mark[0].startswith("<"):
            closing = _CLOSING.get(mark[0], ">")
            last = -1 if closing in unclosed else prose.find(closing, at)
            if last < 0 and not _begins_line(prose, start):  # then everybody sees it
                unclosed.add(closing)
                continue
            at = last + len(closing) if last >= 0 else len(prose)
            yield "instruction", start, at
        elif prose[start - 1 : start] != "\\" and (end := _span_end(prose, mark, runs)):
            at = end
            yield "code", start, end


def _span_end(prose: str, run: re.Match[str], runs: dict[int, list[int]]) -> int | None:
    """Return where the code span that this run of backticks opens ends; None if it opens none."""
    starts = runs[len(run[0])]
    following = bisect_right(starts, run.start())
    if following == len(starts) or _BLANK_LINE.search(prose, run.end(), starts[following]):
        return None
    return starts[following] + len(run[0])


def _comment_end(prose: str, start: int) -> int:
    """Return where a comment ends: without an end, at the end of its block as GitHub reads it."""
    end = prose.find("-->", start)
    if end >= 0:
        return end + len("-->")
    blank = None if _begins_line(prose, start) else _BLANK_LINE.search(prose, start)
    return blank.start() if blank else len(prose)


def _begins_line(prose: str, start: int) -> bool:
    return not prose[prose.rfind("\n", 0, start) + 1 : start].strip(" >")


# --- what shows only on demand ------------------------------------------------------------------


def _mark_unseen(prose: str) -> str:
    """Return the prose with a word before what stands in it for others than its readers."""
    return _change_beside_code(prose, _mark_texts)


def _mark_texts(prose: str) -> str:
    prose = _TAG.sub(lambda tag: _ATTRIBUTE.sub(_mark_attribute, tag[0]), prose)
    prose = _IMAGE.sub(lambda image: f"![{_mark(image[1])}]", prose)
    return _TITLE.sub(lambda title: f"{title[1]}{title[2]}{_mark(title[3])}{title[2]})", prose)


def _mark_attribute(attribute: re.Match[str]) -> str:
    name, value = attribute[1], attribute[2]
    if name.lower() in _SHOWN:
        return attribute[0]
    return f" {name}={_mark(value)}" if value[:1] not in "\"'" else _mark_quoted(name, value)


def _mark_quoted(name: str, value: str) -> str:
    return f" {name}={value[0]}{_mark(value[1:-1])}{value[0]}"


def _mark(text: str) -> str:
    """Return the text marked, unless it is one word, as a picture's name is, or is marked."""
    if _WORD.fullmatch(text) or text.startswith(UNSEEN):
        return text
    return f"{UNSEEN}{text}"
