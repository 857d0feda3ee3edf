"""Make a model's Markdown safe to publish under the App's name.

Everything that lives is taken out or turned into text, and the result is read again until nothing
is left: what GitHub shows is then what stands there, and nothing of it acts. GitHub's own parser
has the last word: what it still finds alive makes the whole text one block of code.
"""

from __future__ import annotations

import html
import re

from markdown_it.token import Token

from agents.text.actions import AllowedEffects
from agents.text.characters import JOINER, without_hidden
from agents.text.inline import COMMENT, TAGS, defuse_inline
from agents.text.markdown import DRAWN, parse_markdown
from agents.text.rendered import find_effects

LIMIT = 65_000  # characters; GitHub takes 65,536
PASSES = 12  # most texts need two

_CONTAINERS = re.compile(r"(?:[ \t>]|[-*+](?=[ \t])|\d+[.)](?=[ \t]))*")
_BAR = re.compile(r"(?<!\\)\|")
_FOREIGN_BLANK = re.compile(r"^(?=.*[^\x00-\x7f])[^\S\n]+$", re.MULTILINE)
_MARKER = re.compile(r"<!--(?=\s*fettle)", re.IGNORECASE)


def publish(
    text: str,
    *,
    repository_url: str = "",
    mention_ok: frozenset[str] = frozenset(),
    closes: frozenset[int] = frozenset(),
    limit: int = LIMIT,
) -> str:
    """Return the Markdown without images, HTML, foreign links, mentions, commands and closings.

    Links below `repository_url`, mentions of `mention_ok` and closing the issues in `closes` stay.
    Code blocks stay as they are, except that drawings become their text. The result closes what
    it opens, so that more can follow, and publishing it again changes nothing. What is beyond
    `limit` characters is left out, and a line says so.
    """
    allowed = AllowedEffects(repository_url, mention_ok, closes)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, _ = without_hidden(text, joiner=False)
    text = _MARKER.sub(f"<!--{JOINER}", text).strip("\n")  # nobody but us marks our comments
    kept = len(text)
    while len(safe := _defuse_until_stable(_shorten(text, kept), allowed)) > limit:
        kept = int(min(kept, limit) * 0.97 * limit / len(safe))
    return safe


def _shorten(text: str, kept: int) -> str:
    if kept >= len(text):
        return text
    head = text[: max(kept, 0)].rsplit("\n", 1)[0]
    note = f"[{len(text) - len(head):,} more characters left out]"
    return f"{_close_fence(head)}\n\n{note}"


def _defuse_until_stable(text: str, allowed: AllowedEffects) -> str:
    """Return the text once nothing in it lives; as one block of code if it resists."""
    for _ in range(PASSES):
        text = _FOREIGN_BLANK.sub("", text).strip("\n")
        source = _Source(text, allowed)
        changed = source.defuse_blocks()
        if source.lost:
            break
        if changed == text:
            closed = _close_fence(text)
            return fence_all(text) if find_effects(closed, allowed) else closed
        text = changed
    return fence_all(text)


def _close_fence(text: str) -> str:
    """Return the text with the fence closed that it leaves open."""
    tokens = [token for token in parse_markdown(text) if token.level == 0]
    if not tokens or tokens[-1].type != "fence":
        return text
    markup = tokens[-1].markup
    first, last = tokens[-1].map or (0, 0)
    # Spaces and tabs alone: https://spec.commonmark.org/0.31.2/#fenced-code-blocks
    closing = re.compile(rf" {{0,3}}{re.escape(markup[0])}{{{len(markup)},}}[ \t]*")
    lines = text.split("\n")[first + 1 : last]
    return text if lines and closing.fullmatch(lines[-1]) else f"{text}\n{markup}"


def fence_all(text: str, *, limit: int = LIMIT) -> str:
    """Return the text as one block of code, its end left out beyond `limit` characters."""
    text = _MARKER.sub(f"<!--{JOINER}", text)  # it would be found in code as well
    text = text[: max(0, limit - 20)]
    fence = "`" * (max((len(run) for run in re.findall("`{3,}", text)), default=2) + 1)
    return f"{fence}text\n{text}\n{fence}"


class _Source:
    """The lines of a text, edited from the last block to the first so that numbers hold."""

    def __init__(self, text: str, allowed: AllowedEffects) -> None:
        self.lost = False
        self._tokens = parse_markdown(text)
        self._lines = text.split("\n")
        self._allowed = allowed

    def defuse_blocks(self) -> str:
        """Return the text after one pass over all its blocks."""
        for index in reversed(range(len(self._tokens))):
            token = self._tokens[index]
            first, last = token.map or (0, 0)
            match token.type:
                case "html_block":
                    self._lines[first:last] = _without_html(self._lines[first:last])
                case "definition":
                    self._define(token, first, last)
                case "fence" if _draws(token.info):
                    self._lines[first] = _as_text(self._lines[first], token.markup)
                case "tr_open":
                    self._rewrite_row(index, first)
                case "inline" if self._tokens[index - 1].type not in ("th_open", "td_open"):
                    self._rewrite(token, first)
        return "\n".join(self._lines)

    def _define(self, token: Token, first: int, last: int) -> None:
        """Leave out a link definition; a footnote becomes text."""
        if token.meta["label"].startswith("^"):
            self._lines[first] = self._lines[first].replace("[", "\\[", 1)
        else:
            del self._lines[first:last]

    def _rewrite(self, token: Token, first: int) -> None:
        """Put a paragraph's or heading's new lines where the old ones stood, indentation kept."""
        new = defuse_inline(token, self._allowed)
        if new is None:
            return
        old, lines = token.content.split("\n"), new.split("\n")
        for number, (part, text) in enumerate(zip(old, lines, strict=False), first):
            line = self._lines[number].rstrip()
            start = line.rfind(part.strip())
            if start < 0 or len(lines) > len(old):
                self.lost = True
                return
            self._lines[number] = line[:start] + text + line[start + len(part.strip()) :]
        del self._lines[first + len(lines) : first + len(old)]

    def _rewrite_row(self, opening: int, number: int) -> None:
        """Write a table's row again if any of its cells changes."""
        cells = []
        for at in range(opening, len(self._tokens)):
            token = self._tokens[at]
            if token.type == "inline":
                cells.append((token.content, defuse_inline(token, self._allowed)))
            elif token.type == "tr_close":
                break
        if all(new is None for _, new in cells):
            return
        texts = [_BAR.sub(r"\|", old if new is None else new) for old, new in cells]
        indent = _CONTAINERS.match(self._lines[number])
        self._lines[number] = f"{indent[0] if indent else ''}| {' | '.join(texts)} |"


def _without_html(lines: list[str]) -> list[str]:
    text = TAGS.sub("", COMMENT.sub("", "\n".join(lines))).replace("<", "&lt;")
    return [line.lstrip() for line in text.split("\n")]


def _draws(info: str) -> bool:
    return html.unescape(info).strip().split(" ")[0].casefold() in DRAWN


def _as_text(line: str, markup: str) -> str:
    return f"{line[: line.index(markup)]}{markup}text"
