"""Parse Markdown into tokens as GitHub does, for incoming and outgoing text."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

SUGGESTION = "suggestion"
"""How GitHub names the fenced block whose lines a reviewer proposes for those of a thread."""

DRAWN = frozenset(("geojson", "math", "mermaid", "stl", "topojson"))
"""Languages of fenced blocks that GitHub draws.

https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting
"""


class HtmlReader(HTMLParser):
    """The library's reader, which nothing that anybody writes makes give up."""

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take `<![x]>` for a comment, as browsers do: the library knows a few, and raises else."""
        return self.parse_bogus_comment(i, report)

    def feed_part(self, html: str) -> None:
        """Read on; what one part leaves unfinished is not carried into the next."""
        self.feed(html)
        self.reset()


@cache
def _parser(*without: str) -> MarkdownIt:
    options = {"html": True, "inline_definitions": True}
    known = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return known.disable(without)


def parse_markdown(text: str) -> list[Token]:
    """Return the block tokens; `map` holds the lines that a token covers."""
    return _parser().parse(text)


def parse_blocks(text: str) -> list[Token]:
    """Return the same without a look into paragraphs, which strangers can make take minutes."""
    return _parser("inline", "text_join").parse(text)


def block(lines: str) -> str:
    """Return these lines, each with its end, as a suggestion that nothing in them can close."""
    longest = max((len(run) for run in re.findall("`{3,}", lines)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{SUGGESTION}\n{lines}{fence}"
