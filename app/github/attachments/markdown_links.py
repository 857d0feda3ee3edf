"""The visible words, links and images of a Markdown text, as GitHub renders it."""

from __future__ import annotations

from dataclasses import dataclass, field

from markdown_it.token import Token

from agents.text.child_process import Exhausted, run_in_child
from agents.text.markdown import HtmlReader, parse_markdown

LONGEST = 70_000
"""Characters that are looked at; GitHub's own limit is lower."""

Attributes = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Image:
    """An image as the text names it."""

    address: str
    alt: str


@dataclass
class MarkdownLinks:
    """Words, links and images of a text, in order, without code and hidden comments."""

    words: list[str] = field(default_factory=list)
    """Texts and the targets of links."""
    images: list[Image] = field(default_factory=list)


def parse_links(text: str) -> MarkdownLinks:
    """Return what people see of the text."""
    found = MarkdownLinks()
    for token in parse_markdown(text[:LONGEST]):
        if token.type == "html_block":
            _read_html(token.content, found)
        for child in token.children or []:
            _read_inline(child, found)
    return found


async def read_links(text: str) -> MarkdownLinks:
    """Return the same, read beside the event loop; nothing of a text that takes too much."""
    try:
        return await run_in_child(text, parse_links, text)
    except Exhausted:
        return MarkdownLinks()


def _read_inline(token: Token, found: MarkdownLinks) -> None:
    if token.type == "text":
        found.words.append(token.content)
    elif token.type == "link_open":
        found.words.append(str(token.attrGet("href")))
    elif token.type == "image":
        found.images.append(Image(str(token.attrGet("src")), token.content))
    elif token.type == "html_inline":
        _read_html(token.content, found)


def _read_html(html: str, found: MarkdownLinks) -> None:
    _Html(found).feed_part(html)


class _Html(HtmlReader):
    """Reads the HTML that stands in Markdown; comments are not for people and stay out."""

    def __init__(self, found: MarkdownLinks) -> None:
        super().__init__()
        self._found = found

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Note where a link leads and which picture is shown."""
        values = {name: value or "" for name, value in attrs}
        if tag == "a":
            self._found.words.append(values.get("href", ""))
        elif tag == "img" and values.get("src"):
            self._found.images.append(Image(values["src"].strip(), values.get("alt", "")))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self._found.words.append(data)
