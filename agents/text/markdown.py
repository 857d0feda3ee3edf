"""Parse Markdown into tokens as GitHub does, for incoming and outgoing text."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token


@cache
def _parser(*without: str) -> MarkdownIt:
    options = {"html": True, "inline_definitions": True}
    known = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return known.disable(without)


def parsed(text: str) -> list[Token]:
    """Return the block tokens; `map` holds the lines that a token covers."""
    return _parser().parse(text)


def outlined(text: str) -> list[Token]:
    """Return the same without a look into paragraphs, which strangers can make take minutes."""
    return _parser("inline", "text_join").parse(text)
