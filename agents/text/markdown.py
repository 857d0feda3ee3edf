"""Markdown as GitHub reads it, as tokens: for cleaning text on its way in and out."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token


@cache
def _parser() -> MarkdownIt:
    options = {"html": True, "inline_definitions": True}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])


def parsed(text: str) -> list[Token]:
    """Return the block tokens; `map` holds the lines that a token covers."""
    return _parser().parse(text)
