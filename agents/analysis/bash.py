"""Parse bash into a syntax tree, without running it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000  # characters of a script
MOST_SIGNS = 400  # `|` and `(`: the time that the grammar takes grows with their square


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - megabytes that a server takes up with its first run
    from tree_sitter import Language, Parser  # noqa: PLC0415 - as above

    return Parser(Language(tree_sitter_bash.language()))


def parse_bash(script: str, *, times: int = 1) -> Node | None:
    """Return the tree of a script; None of one that is too long to be read.

    `times`: how often as long as a step of a workflow it may be.
    """
    text = script.replace("\\\n", " ").replace("\0", "")
    signs = text.count("|") + text.count("(")
    if len(text) > LONGEST * times or signs > MOST_SIGNS * times:
        return None
    return _parser().parse(text.encode("utf-8", "replace")).root_node


def text_of(part: Node) -> str:
    """Return the source of a part."""
    return (part.text or b"").decode("utf-8", "replace")
