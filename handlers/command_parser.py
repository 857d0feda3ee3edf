"""The parser of commands in comments: `/bot approve k3f9x2`, at the start of a line.

A command is what a reader sees as a plain line. What is quoted, code, hidden or inside of markup
only talks about a command, and so does the mail that a mail program quotes below a reply. Two
parsers decide, GitHub's own among them: a line that they read differently is no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markdown_it.token import Token

from agents.requests import Verb
from agents.text.child_process import Exhausted, run_in_child
from agents.text.markdown import HtmlReader, parse_markdown
from agents.text.rendered import find_plain_lines
from handlers.mail_replies import find_quoted_mail

ANSWERS: Mapping[str, Verb] = {"approve": "approve", "deny": "deny"}
"""The verbs that answer an approval, whose id follows."""
VERBS: Mapping[str, Verb] = {
    **ANSWERS,
    "go": "go",
    "cancel": "cancel",
    "status": "status",
    "why": "why",
    "retry": "retry",
    "budget": "budget",
    "address": "address",
    "update": "update",
    "undo": "undo",
}
"""The words that may stand behind `/bot`, each with its verb."""

MOST = 20
"""Commands of one comment that are obeyed, at most."""
LONGEST = 20_000
"""Characters of a comment that are parsed, because strangers choose its length."""
LONGEST_ID = 40
LONGEST_WORDS = 2000
LONGEST_REST = 8000
"""Characters of a comment without its commands that a remark keeps."""

_LINE = re.compile(r"^( {0,3})/bot(?=[ \t]|$)(.*)$", re.IGNORECASE | re.ASCII)
_AROUND = "`'\"“”<>()[]{}#*_~.,;:!?"
_AMOUNT = re.compile(
    r"\+? ?(?:\$|usd)? ?\+?(?P<usd>[0-9]{1,4}(?:\.[0-9]{1,2})?) ?(?:\$|usd|dollars?)?\.?",
    re.IGNORECASE | re.ASCII,
)
_BEGINNING = re.compile(
    r"from\s+`?(?P<stage>[a-z][a-z_-]{0,58}[a-z](?:/[0-9]{1,3})?)`?\.?", re.IGNORECASE | re.ASCII
)
_REPLY_TO = re.compile(
    r"^[^\S\n]*(?:-{2,}\s*original message\s*-{2,}|_{20,}|on\b[^\n]{5,300}\n?[^\n]{0,100}\bwrote:"
    r"|\**from:.*(?=\n\s*\**(?:sent|date|to|subject):))[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_HOLDING = re.compile(
    "blockquote|code|del|details|div|dl|iframe|kbd|math|noscript|ol|pre|q|s|samp|script|strike"
    "|style|sub|summary|sup|svg|table|template|textarea|title|ul|xmp"
)
"""HTML elements in which text is quoted, hidden, struck out or an example."""


@dataclass(frozen=True)
class ParsedCommand:
    """One command of a comment."""

    verb: Verb
    name: str
    """What stands behind `/bot`, as it was typed; empty when nothing does."""
    approval: str
    """The id, for the verbs that answer; empty when none was given."""
    tail: str
    """What follows on the same line."""
    words: str
    """What follows, up to the next command or the end of the paragraph."""


def parse_commands(body: str) -> tuple[ParsedCommand, ...]:
    """Return the commands of a comment, in the order in which they stand there."""
    lines = _drop_quoted_reply(body)
    return tuple(_read_command(lines, number, last) for number, last in _find_spans(lines))[:MOST]


def strip_commands(body: str) -> str:
    """Return what a comment says besides commands, whether we know them or not, and their words."""
    lines = _drop_quoted_reply(body)
    gone = {number for span in _find_spans(lines) for number in range(*span)}
    return "\n".join(line for number, line in enumerate(lines) if number not in gone).strip()


async def strip_commands_in_child(body: str) -> str:
    """Call `strip_commands` in a child process; return nothing where it exceeds its limits."""
    try:
        return await run_in_child(body, strip_commands, body)
    except Exhausted:
        return ""


async def parse_commands_in_child(body: str) -> tuple[ParsedCommand, ...]:
    """Call `parse_commands` in a child process; return nothing where it exceeds its limits."""
    try:
        return await run_in_child(body, parse_commands, body)
    except Exhausted:
        return ()


def parse_amount(said: str) -> float | None:
    """Return the dollars that `+$2`, `2`, `$2.50` or `+2 usd` means; None for anything else."""
    found = _AMOUNT.fullmatch(said.strip(" `*_"))
    usd = float(found["usd"]) if found else 0.0
    return usd if usd > 0 else None


def parse_first_stage(said: str) -> str | None:
    """Return the stage of `from implement`, or `implement/2`; empty when nothing is said.

    None for other words.
    """
    found = _BEGINNING.fullmatch(said)
    return found["stage"].replace("-", "_").lower() if found else None if said else ""


def _drop_quoted_reply(body: str) -> list[str]:
    """Return the lines without those that a mail program put below a reply."""
    text = body[:LONGEST].replace("\r\n", "\n").replace("\r", "\n")
    if (reply_to := _REPLY_TO.search(text)) is not None:
        text = text[: reply_to.start()]
    lines = text.split("\n")
    return lines[: find_quoted_mail(lines)]


def _find_spans(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each command and the line where its words end."""
    candidates = [number for number, line in enumerate(lines) if _LINE.match(line)]
    return _keep_plain_lines(lines, candidates) if candidates else iter(())


def _read_command(lines: list[str], number: int, last: int) -> ParsedCommand:
    found = _LINE.match(lines[number])
    assert found is not None
    name, tail = _split(found[2])
    verb = VERBS.get(name.strip(_AROUND).lower(), "unknown")
    ident, tail = _split(tail) if verb in ANSWERS else ("", tail)
    if verb == "approve" and "?" in found[2]:
        ident = f"{ident.rstrip(_AROUND)}?"  # who asks has not said yes
    following = [line.strip() for line in lines[number + 1 : last]]
    return ParsedCommand(
        verb=verb,
        name=name[:LONGEST_ID],
        approval=ident.strip(_AROUND.replace("?", "")).lower()[:LONGEST_ID],
        tail=tail[:LONGEST_WORDS],
        words="\n".join([tail, *following]).strip()[:LONGEST_WORDS],
    )


def _split(text: str) -> tuple[str, str]:
    """Return the first word, and the rest."""
    word, rest = [*text.split(maxsplit=1), "", ""][:2]
    return word, rest.strip()


def _keep_plain_lines(lines: list[str], candidates: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the candidates that are plain lines, each with the line where its words end.

    The Markdown parsers decide: each candidate gets a mark that the comment does not contain, and
    the token in which the mark comes out tells what the line is part of.
    """
    mark = "\ue000"
    while any(mark in line for line in lines):
        mark += "\ue000"
    marked = list(lines)
    for number in candidates:
        indent, rest = marked[number].split("/", 1)
        marked[number] = f"{indent}/{mark}{number}.{rest[len('bot') :]}"
    text, pattern = "\n".join(marked), re.compile(rf"/{mark}(\d+)\.")
    agreed = find_plain_lines(text, pattern)
    for block, found in _find_marks(text, pattern):
        numbers = [number for number in found if number in agreed]
        ends = [*[number for number in candidates if number in range(*block)], block[1]]
        for number in numbers:
            yield number, next(end for end in ends if end > number)


def _find_marks(text: str, mark: re.Pattern[str]) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """Yield the lines of each plain paragraph that has marks at the start of plain lines."""
    around = _Elements()
    for token in parse_markdown(text):
        if token.type == "html_block":
            around.feed_part(token.content)
        if token.type != "inline":
            continue
        numbers = list(_marks_at_line_starts(token, mark, around))
        if numbers and token.level == 1 and token.map:
            yield (token.map[0], token.map[1]), numbers


def _marks_at_line_starts(token: Token, mark: re.Pattern[str], around: _Elements) -> Iterator[int]:
    fresh = True
    for child in token.children or []:
        if child.type == "text" and not child.content:
            continue
        if child.type == "html_inline":
            around.feed_part(child.content)
        found = mark.match(child.content) if child.type == "text" else None
        if found and fresh and child.level == 0 and not around.open:
            yield int(found[1])
        fresh = child.type in ("softbreak", "hardbreak")


class _Elements(HtmlReader):
    """The HTML elements that are open at some place of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 the library's shape
        """Note that an element begins."""
        if _HOLDING.fullmatch(tag):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        """Treat `<details/>` as browsers do: as an element that begins."""
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Note that an element ends, with all elements that are open inside of it."""
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag) :]
