"""Render Markdown as HTML: raw HTML dropped, comments hidden, `#1` linked, task lists drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
HARMLESS = re.compile(r"</?(?:details|summary|sub|sup|kbd|br|hr) ?/?>")
REFERENCE = re.compile(r"(?<![\w&/])#(\d{1,9})\b")
MENTION = re.compile(r"(?<![\w@/.])@([A-Za-z0-9][A-Za-z0-9-]*(?:\[bot\])?)")
CODE = re.compile(r"`([^`]+)`")
BOX = re.compile(r"\[([ xX])\] ")


def render_title(text: str) -> Markup:
    """Return a title whose backticks mark code, as GitHub shows titles."""
    return Markup(CODE.sub(r"<code>\1</code>", escapeHtml(text)))  # noqa: S704 - escaped above


def render(text: str, repository_url: str) -> Markup:
    """Return safe HTML; `#n` leads to the repository's issue n."""
    html: str = _parser().render(text, {"repository_url": repository_url})
    return Markup(html)  # noqa: S704 - the parser escapes whatever it does not make itself


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "breaks": False, "highlight": _highlight})
    parser.enable(["table", "strikethrough"]).disable("image")
    parser.core.ruler.push("boxes", _boxes)
    parser.add_render_rule("html_block", _html)
    parser.add_render_rule("html_inline", _html)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("box", _box)
    return parser


def _highlight(code: str, language: str, _attributes: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        return escapeHtml(code)
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _html(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Keep a few tags without attributes, drop comments, show everything else as text."""
    source = HTML_COMMENT.sub("", tokens[index].content)
    shown, at = [], 0
    for tag in HARMLESS.finditer(source):
        shown += [escapeHtml(source[at : tag.start()]), tag.group()]
        at = tag.end()
    return "".join([*shown, escapeHtml(source[at:])])


def _text(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    text = escapeHtml(tokens[index].content)
    text = REFERENCE.sub(rf'<a href="{escapeHtml(env["repository_url"])}/issues/\1">#\1</a>', text)
    return MENTION.sub(r'<span class="mention">@\1</span>', text)


def _boxes(state: StateCore) -> None:
    """Turn `[ ]` and `[x]` at the start of list items into boxes."""
    for before, token in zip(state.tokens[1:], state.tokens[2:], strict=False):
        if before.type != "paragraph_open" or before.level == 0 or not token.children:
            continue
        first = token.children[0]
        found = BOX.match(first.content)
        if first.type != "text" or not found:
            continue
        first.content = first.content[found.end() :]
        box = Token("box", "input", 0)
        box.meta = {"checked": found[1] != " "}
        token.children.insert(0, box)


def _box(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    mark = " checked" if tokens[index].meta["checked"] else ""
    return f'<input type="checkbox" disabled{mark}> '
