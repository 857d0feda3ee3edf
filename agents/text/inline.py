"""Write a paragraph's inline tokens as Markdown again, with GitHub's actions defused."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from markdown_it.token import Token

from agents.text.actions import AllowedEffects, Piece, find_triggers, shown_url, split_pieces
from agents.text.characters import JOINER, without_hidden

# https://developer.mozilla.org/docs/Web/HTML/Reference/Elements and what GitHub strips anyway
TAGS = re.compile(
    r"</?(?:a|abbr|article|aside|audio|b|base|blockquote|body|br|button|center|cite|code|col|dd|del"
    r"|details|dfn|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|h[1-6]|head"
    r"|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|math|meta|nav"
    r"|noscript|object|ol|option|p|param|path|picture|pre|q|samp|script|section|select|small|source"
    r"|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead"
    r"|title|tr|tt|u|ul|var|video|wbr|xmp)(?![\w:-])[^<>]*>",
    re.IGNORECASE | re.ASCII,
)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

_NEEDS_ANGLES = re.compile(r"[()<>\s&]|^$")
_BREAK = re.compile(r"<br\b[^>]*>", re.IGNORECASE)
_MARKERS = {"em_open", "em_close", "strong_open", "strong_close", "s_open", "s_close"}
_SPECIAL = re.compile(r"[\\`*\[\]<~$|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=#?[A-Za-z0-9]+;)")
_BLOCK_START = re.compile(r"^(?:>|#{1,6}(?=\s|$)|[+-](?=\s|$)|[-=:][-=:\s]*$)")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
# Task list items and alerts are GitHub's, and harmless: they stay.
_KEPT_START = re.compile(r"\[[ xX]\](?=\s)|\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?=\n|$)")


def defuse_inline(token: Token, allowed: AllowedEffects) -> str | None:
    """Return the inline token's content with nothing in it that lives; None if it is so already.

    It has at most as many lines as before.
    """
    children = token.children or []
    harmless = not _with_triggers_cut(children, allowed)
    writer = _Writer(allowed, keep=_kept_start(token.content))
    for child in children:
        writer.write(child)
    return None if harmless and not writer.changed else writer.text()


def _kept_start(content: str) -> str:
    found = _KEPT_START.match(content)
    return found[0] if found else ""


def _with_triggers_cut(children: Sequence[Token], allowed: AllowedEffects) -> bool:
    """Put word joiners where the text as a whole would set something off; tell whether any."""
    seen = [_visible_text(child) for child in children]
    found = find_triggers("".join(seen), allowed)
    starts = [0, *accumulate(map(len, seen))]
    texts = [n for n, child in enumerate(children) if child.type == "text" and seen[n]]
    ends = [starts[n] + len(seen[n]) for n in texts]
    for at in reversed(found):
        # the joiner follows the word before it, or stands before a line's first slash
        nearest = bisect_left(ends, at)
        if nearest < len(texts) and starts[texts[nearest]] <= at:
            child, cut = children[texts[nearest]], at - starts[texts[nearest]]
            child.content = f"{child.content[:cut]}{JOINER}{child.content[cut:]}"
    return bool(found)


def _visible_text(child: Token) -> str:
    """Return what a reader sees of an inline token."""
    match child.type:
        case "text" | "image":
            return child.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return "`"
    return ""


class _Writer:
    """Writes inline tokens as Markdown."""

    def __init__(self, allowed: AllowedEffects, keep: str) -> None:
        self.out: list[str] = []
        self.changed = False
        self._allowed = allowed
        self._keep = keep  # what stands unescaped at the very start
        self._links: list[str] = []  # hrefs of the links that are open
        self._silent = False  # within an autolink that is shown as code

    def write(self, child: Token) -> None:
        """Write one token."""
        match child.type:
            case "text":
                self._text(child.content)
            case "image":
                self.changed = True
                self._text(child.content)
            case "code_inline":
                self.out.append(code_span(child.content))
            case "softbreak" | "hardbreak":
                self._line_end(child.type == "hardbreak")
            case "link_open":
                self._link_open(child)
            case "link_close":
                self._link_close()
            case "html_inline":
                self.changed = True
                self._text(_shown_html(child.content))
            case kind if kind in _MARKERS:
                self.out.append(child.markup)
            case _:
                self._text(child.content)

    def text(self) -> str:
        """Return what was written."""
        return "".join(self.out).strip().removesuffix("\\\n").rstrip()

    def _text(self, content: str) -> None:
        if self._silent:
            return
        seen, hidden = without_hidden(content, joiner=False)
        self.changed = self.changed or bool(hidden)
        for piece in split_pieces(seen, self._allowed):
            self.changed = self.changed or piece.changed
            self.out.append(self._piece(piece))

    def _piece(self, piece: Piece) -> str:
        match piece.kind:
            case "code":
                return code_span(piece.text)
            case "url" if not self._links:
                return f"<{piece.text}>"
        if not self._at_line_start():
            return _escape(piece.text)
        text = piece.text.lstrip()
        if not self.out and self._keep and text.startswith(self._keep.strip()):
            return self._keep + _escape(text.removeprefix(self._keep))
        return _escaped_start(_escape(text))

    def _at_line_start(self) -> bool:
        return not self.out or self.out[-1].endswith("\n")

    def _line_end(self, hard: bool) -> None:
        while self.out and not self.out[-1].strip(" "):
            self.out.pop()
        if self._at_line_start():
            return  # an empty line would end the paragraph
        self.out[-1] = self.out[-1].rstrip(" ")
        self.out.append("\\\n" if hard else "\n")

    def _link_open(self, child: Token) -> None:
        href = str(child.attrs.get("href", ""))
        own = self._allowed.link(href)
        titled = "title" in child.attrs
        self.changed = self.changed or not own or titled
        self._links.append(href)
        if not own:
            if child.markup == "autolink":
                self.out.append(code_span(shown_url(href)))
                self._silent = True
            return
        if self.out and self.out[-1].endswith("!"):
            self.out[-1] = f"{self.out[-1][:-1]}\\!"  # it would make an image of the link
        self.out.append("[")

    def _link_close(self) -> None:
        href = self._links.pop()
        if self._allowed.link(href):
            self.out.append(f"](<{href}>)" if _NEEDS_ANGLES.search(href) else f"]({href})")
        elif not self._silent and href and self.out[-1:] != [code_span(shown_url(href))]:
            self.out.append(f" ({code_span(shown_url(href))})")
        self._silent = False


def _shown_html(html: str) -> str:
    """Return what stays of a tag: nothing if it is HTML, itself if it is not, like `<T>`."""
    if _BREAK.fullmatch(html):
        return " "
    return "" if TAGS.fullmatch(html) or html.startswith(("<!", "<?")) else html


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _escaped_start(text: str) -> str:
    """Return text so that no quote, list, heading, rule or table begins with it."""
    return _NUMBERED.sub(r"\1\\\2", _BLOCK_START.sub(r"\\\g<0>", text))


def command_span(command: str, limit: int) -> str:
    """Return a command as one line of code in Markdown, cut at so many characters."""
    line = "; ".join(part.strip() for part in command.strip().splitlines()).replace("`", "'")
    return f"`{line}`" if len(line) <= limit else f"`{line[:limit]}…`"


def code_span(text: str) -> str:
    """Return text as a code span that nothing in it can end."""
    text = " ".join(text.split("\n"))
    if not text.strip():
        return text
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"
