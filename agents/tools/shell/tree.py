"""Step 8: a script as a syntax tree, and the flaws of the grammar mended where they matter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

_CONTINUED = "\\\n"
_NOT = re.compile(
    r"(^|[\s;&|({])(?:!|time(?:\s+-p)?|coproc(?:\s+[A-Za-z_]\w*)?)"
    r"(?=\s+(?:!|time|[{(\[]|case|if|for|while|until|select|function|\w+\s*\(\))(?:\s|\())"
)
_MARK = "\uf8ff"  # stands for a NUL while a text is parsed: the grammar would end there


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parsed(text: str) -> Node:
    """Return the tree of a script; it holds error nodes where the grammar does not know better."""
    return _parser().parse(text.replace("\0", _MARK).encode("utf-8", "replace")).root_node


def known(text: str) -> str:
    """Return text that was parsed with its unknown parts marked as everywhere else."""
    return text.replace(_MARK, "\0")


def readings(text: str) -> tuple[str, ...]:
    """Return the script, and what it may be where the grammar reads it otherwise than bash.

    It takes a line's end after a backslash for space even within a word, though within a comment
    it is right; and it knows `!`, `time` and `coproc` before simple commands alone. Each reading is
    judged.
    """
    joined = text.replace(_CONTINUED, "")
    return tuple(dict.fromkeys((text, joined, _plain(joined), _plain(text))))


def _plain(text: str) -> str:
    while (shorter := _NOT.sub(r"\1", text)) != text:
        text = shorter
    return text


def text_of(part: Node) -> str:
    """Return the source of a part."""
    return (part.text or b"").decode("utf-8", "replace")


def flattened(part: Node) -> Iterator[Node]:
    """Yield the members of `a && b || c`, which the tree nests as deep as it is long."""
    pending = [part]
    while pending:
        current = pending.pop()
        if current.type == "list":
            pending.extend(reversed(current.children))
        else:
            yield current


def multiplies(body: Node, name: str) -> bool:
    """Return whether a function starts itself twice at once, or in the background."""
    pending, found = [body], 0
    while pending:
        part = pending.pop()
        if (
            part.type == "command"
            and part.named_children
            and text_of(part.named_children[0]) == name
        ):
            parent, after = part.parent, part.next_sibling
            found += 1
            piped = parent is not None and parent.type == "pipeline"
            if piped or (after is not None and after.type == "&") or found > 1:
                return True
        pending.extend(part.named_children)
    return False
