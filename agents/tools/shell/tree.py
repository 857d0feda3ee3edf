"""Parses bash into a syntax tree, and makes up for flaws of the grammar."""

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
_BACKTICKS = re.compile(r"\\.|`((?:\\.|[^`\\])*)`", re.DOTALL)
_EXPANDED = re.compile(r"\$\{\w+:?[-+=?][^`'}]{0,1000}`((?:\\.|[^`\\])*)`", re.DOTALL)
_HEREDOC = re.compile(r"<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)")
LONGEST = 60_000  # characters of a script; longer text belongs into a file
MOST_SIGNS = 1_200  # `|` and `(`: the time that the grammar takes grows with their square
_MARK = "\uf8ff"  # stands for a NUL while a text is parsed: the grammar would end there


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def parse(text: str) -> Node:
    """Return the tree of a script; it holds error nodes where the grammar does not know better."""
    return _parser().parse(text.replace("\0", _MARK).encode("utf-8", "replace")).root_node


def unmark(text: str) -> str:
    """Return text that was parsed with its unknown parts marked as everywhere else."""
    return text.replace(_MARK, "\0")


def list_readings(text: str) -> tuple[str, ...]:
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


def flatten(part: Node) -> Iterator[Node]:
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


def find_backticks(part: Node) -> Iterator[str]:
    """Yield what stands between backticks in a here-document or in `${...}`."""
    text = text_of(part)
    if part.type not in ("heredoc_redirect", "expansion") or "`" not in text:
        return
    start = next((c for c in part.named_children if c.type == "heredoc_start"), None)
    if start is not None and any(char in text_of(start) for char in "'\"\\"):
        return
    for found in _BACKTICKS.finditer(text):
        if found[1] is not None and found[1].strip():
            yield _unescape(found[1])


def find_missed_backticks(text: str) -> Iterator[str]:
    """Yield what stands between backticks in `${...}`, where a brace within ends it too early."""
    if "`" in text and "${" in text:
        yield from (_unescape(found[1]) for found in _EXPANDED.finditer(text))


def _unescape(text: str) -> str:
    """Return what stood between backticks as the shell reads it."""
    return re.sub(r"\\([\\`$])", r"\1", text)


def too_long(text: str) -> bool:
    """Return whether reading the script could take longer than anybody should wait."""
    signs = without_heredocs(text) if "<<" in text else text
    return len(text) > LONGEST or signs.count("|") + signs.count("(") > MOST_SIGNS


def without_heredocs(text: str) -> str:
    """Return the script without the bodies of its here-documents."""
    kept, at = "", 0
    while (found := _HEREDOC.search(text, at)) is not None:
        line = text.find("\n", found.end())
        indent = r"\t*" if found["tabs"] else ""
        end = re.compile(rf"^{indent}{found['end']}$", re.MULTILINE).search(text, max(line, 0))
        if line < 0 or end is None:
            break
        kept, at = kept + text[at : line + 1], end.end()
    return kept + text[at:]
