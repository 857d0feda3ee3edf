"""Step 8: where a command's output goes, and where its input comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tree_sitter import Node

from agents.tools.shell.command import Feed
from agents.tools.shell.tree import known, text_of
from agents.tools.shell.words import Words

_INTO = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_HEREDOC_PARTS = frozenset(("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"))


@dataclass(frozen=True)
class Redirects:
    """The redirections of one command."""

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    feed: Feed | None = None
    following: tuple[Node, ...] = ()
    """What stands after `<<EOF` on its line: the tree puts it into the redirection."""

    def plus(self, other: Redirects | None) -> Redirects:
        """Return both together."""
        if other is None:
            return self
        return Redirects(
            self.writes + other.writes,
            self.reads + other.reads,
            other.feed or self.feed,
            self.following + other.following,
        )


def redirects_of(parts: Iterable[Node], words: Words) -> Redirects:
    """Return what these redirections do."""
    all_ = Redirects()
    for part in parts:
        if part.type == "file_redirect":
            all_ = all_.plus(_file(part, words))
        elif part.type == "herestring_redirect":
            texts = words.text(part.named_children[-1]) if part.named_children else []
            all_ = all_.plus(Redirects(feed=Feed(tuple(texts))))
        else:
            all_ = all_.plus(_heredoc(part, words))
    return all_


def _file(part: Node, words: Words) -> Redirects:
    signs = [child.type for child in part.children if not child.is_named]
    targets = [c for c in part.named_children if c.type not in ("file_descriptor", "ERROR")]
    if not signs or not targets:
        return Redirects()
    if signs[0] in (">&", "<&") and text_of(targets[0]).rstrip("-").isdigit():
        return Redirects()
    files = tuple(field for value in words.word(targets[0]) for field in value)
    return Redirects(writes=files) if signs[0] in _INTO else Redirects(reads=files)


def _heredoc(part: Node, words: Words) -> Redirects:
    kinds = {child.type: child for child in part.named_children}
    start, body = kinds.get("heredoc_start"), kinds.get("heredoc_body")
    quoted = start is not None and any(char in text_of(start) for char in "'\"\\")
    texts = words.text(body) if body is not None and not quoted else []
    rest = [child for child in part.named_children if child.type not in _HEREDOC_PARTS]
    own = [child for child in rest if child.type.endswith("_redirect")]
    after = tuple(child for child in rest if not child.type.endswith("_redirect"))
    if quoted or after:  # the grammar at times takes the body's first line for something else
        texts.append(_lines(part))
    return redirects_of(own, words).plus(Redirects(feed=Feed(tuple(texts)), following=after))


def _lines(part: Node) -> str:
    """Return a here-document as it is written, its end left out."""
    text = known(text_of(part)).partition("\n")[2]
    ending = next((c for c in part.named_children if c.type == "heredoc_end"), None)
    return text.rstrip("\n").removesuffix(text_of(ending)) if ending is not None else text
