"""Read Markdown with GitHub's own parser, as a second judge of what is published and obeyed.

The first reader, which edits texts, is another parser. Where the two differ, what the first one
took for harmless may live on GitHub; so nothing is published and nothing obeyed on one's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agents.text import github_parser
from agents.text.actions import AllowedEffects, contains_math, find_triggers, split_pieces
from agents.text.characters import without_hidden
from agents.text.markdown import DRAWN, HtmlReader

_OPTIONS = github_parser.FOOTNOTES | github_parser.PRE_LANG
_RAW_HTML = github_parser.UNSAFE | _OPTIONS
_DEEPEST = 100
"""Elements within elements that are looked into. Each list or quote in another adds some."""
_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"))
_PLAIN = frozenset(("p", "h1", "h2"))  # a line of dashes below, as mails end, makes a heading
_VERBATIM = frozenset(("code", "pre"))
_BLOCKS = frozenset(
    ("blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "pre", "td", "th")
)


@dataclass(frozen=True)
class _Part:
    """A text between two tags, and the elements around it, the outermost first."""

    text: str
    inside: tuple[str, ...]
    block: int
    """Number of the paragraph, heading, cell or item that it stands in."""


class _TooDeep(Exception):
    """More is nested than anybody would write or read."""


class _Page(HtmlReader):
    """What the parser made of a text: its elements and the texts in them."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[_Part] = []
        self.links: list[str] = []
        self.languages: list[str] = []
        self.pictures = 0
        self.titles = 0
        self.raw = 0
        self._open: list[str] = []
        self._block = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, with the addresses and names it carries."""
        values = dict(attrs)
        self._block += tag in _BLOCKS
        self.pictures += tag == "img"
        self.links += [values.get("href") or ""] if tag == "a" else []
        self.titles += "title" in values
        self.languages += [values.get("lang") or ""] if tag == "pre" else []
        if tag == "br":
            self.handle_data("\n")
        if tag not in _VOID:
            self._open.append(tag)
        if len(self._open) > _DEEPEST:
            raise _TooDeep

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Treat `<details/>` as browsers do: as an element that begins."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Close an element and all that are open inside of it."""
        self._block += tag in _BLOCKS
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_comment(self, data: str) -> None:  # noqa: ARG002 the library's shape
        """Count what the parser left out: it writes a comment where HTML stood."""
        self.raw += 1

    def handle_data(self, data: str) -> None:
        """Keep a text with its surroundings."""
        self.parts.append(_Part(data, tuple(self._open), self._block))


def _render(text: str, options: int) -> _Page:
    page = _Page()
    page.feed(github_parser.render(text, options))
    page.close()
    return page


def find_effects(markdown: str, allowed: AllowedEffects) -> frozenset[str]:
    """Return what lives on GitHub in a text, by kind, beyond what is allowed; empty for none.

    Kinds: `picture`, `raw HTML`, `drawing`, `address`, `mention`, `math`, `trigger` (a command, or
    a word that closes an issue), `hidden` (the title of a link, characters that nobody sees), and
    `depth` for what is nested too deep to be looked into.
    """
    try:
        page = _render(markdown, _OPTIONS)
    except _TooDeep:
        return frozenset({"depth"})
    found = {"hidden"} if _hides_words(page) else set()
    if page.pictures:
        found.add("picture")
    if page.raw:
        found.add("raw HTML")
    if any(language.casefold() in DRAWN for language in page.languages):
        found.add("drawing")
    # a bare mail address is made a link, which opens nothing but one's own mail program
    links = (href for href in page.links if href and not href.startswith("mailto:"))
    if not all(map(allowed.link, links)):
        found.add("address")
    for text, prose in _blocks(page):
        if find_triggers(text, allowed):
            found.add("trigger")
        if contains_math(text):
            found.add("math")
        if any(piece.changed for part in prose for piece in split_pieces(part, allowed)):
            found.add("mention")
    return frozenset(found)


def _hides_words(page: _Page) -> bool:
    """Tell whether people do not see all of it; what defuses words is Fettle's own."""
    unseen = (without_hidden(part.text, joiner=False)[1] for part in page.parts)
    return page.titles > 0 or any(unseen)


def _blocks(page: _Page) -> Iterator[tuple[str, list[str]]]:
    """Yield each block's text, with a backtick where code stands, and its parts that are prose."""
    texts: dict[int, list[str]] = {}
    prose: dict[int, list[str]] = {}
    for part in page.parts:
        code = not _VERBATIM.isdisjoint(part.inside)
        texts.setdefault(part.block, []).append("`" if code else part.text)
        if not code:
            prose.setdefault(part.block, []).append(part.text)
    for number, parts in texts.items():
        yield "".join(parts), prose.get(number, [])


def find_plain_lines(markdown: str, mark: re.Pattern[str]) -> frozenset[int]:
    """Return the numbers (group 1) of marks that begin a line of a paragraph nothing surrounds."""
    try:
        page = _render(markdown, _RAW_HTML)
    except _TooDeep:
        return frozenset()
    found: set[int] = set()
    before: dict[int, str] = {}
    for part in page.parts:
        if len(part.inside) == 1 and part.inside[0] in _PLAIN:
            whole = before.get(part.block, "\n") + part.text
            for line in re.finditer(r"(?<=\n)[ \t]*", whole):
                if hit := mark.match(whole, line.end()):
                    found.add(int(hit[1]))
        before[part.block] = (before.get(part.block, "\n") + part.text)[-1:]
    return frozenset(found)
