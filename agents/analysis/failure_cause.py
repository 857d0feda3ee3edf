"""Find what a package tool says is wrong: seldom the last thing that it writes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

LONGEST = 1_400  # characters of a cause
LONGEST_LINE = 400
MOST_LINES = 14
LINES_READ = 4_000
SHORT = 300  # characters of a cause in one line
_WENT_WRONG = "* What went wrong:"
_IN_PHP = re.compile(r"In \S{1,80}\.php line \d+:")  # before a block, in Composer's output
_TITLE = "\n[What it says is wrong:]\n"

_MARK = re.compile(
    r"^\s*(?:(?:npm|pnpm|yarn)\s+(?:error|ERR!)|ERR!|\[ERROR\]|ERROR|Error|error|FATAL|fatal|E:"
    r"|✘|➤ YN\d+:)"
    r"(?:\[\w{1,20}\])?[\s:|!]*"
)
_METER = re.compile(r"^[\s\d.:kMGT-]{40,400}(?=\w+: )")  # curl's, before what it says
_RAISED = re.compile(r"[\w.]{1,80}(?:Error|Exception): \S")
_SAYS_WHY = re.compile(
    r"\b(?:not find|no matching|not found|could not|couldn't|cannot|can't|unable to|missing:?|"
    r"invalid:?|requires?|unsupported|incompatible|conflicts?|in sync|out of date|outdated|denied|"
    r"refused|no such|not installed|failed with|does not match|ERESOLVE|EUSAGE|E404|exception)\b",
    re.IGNORECASE,
)
_NO_CAUSE = re.compile(
    r"^(?:To see the full|Re-run|For more information|\[Help)"
    r"|(?:^|\s)(?:Usage|Options|aliases?|Clean install|A complete log|Run \"npm help|For a full"
    r"|This is an issue with the package|\[notice\]|note:|hint:|code E|\[-|\[--|-{1,2}[\w-]+[ =|])"
    r"|^\s*\[?-|^\s*$|^(?:syscall|errno|path|dest|at)\s"
)


def find_cause(output: str) -> str:
    """Return the lines that say why a tool failed; the last lines where none does.

    Whatever a package writes is in there: untrusted, and bounded.
    """
    written = [line[:LONGEST_LINE] for line in output.splitlines()[-LINES_READ:]]
    lines = [_METER.sub("", line).rstrip() for line in written]
    lines = [line for line in lines if not line.startswith("Picked up JAVA_TOOL_OPTIONS")]
    if _WENT_WRONG in lines:  # Gradle
        at = lines.index(_WENT_WRONG) + 1
        return "\n".join(lines[at : at + 4]).partition("\n\n")[0][:LONGEST]
    if block := _read_php_block(written):
        return block
    named = dict.fromkeys(text for line in lines if (text := _read_mark(line)))
    told = [text for text in named if _SAYS_WHY.search(text)] or list(named)
    if not told:
        told = list(dict.fromkeys(line.strip() for line in lines if _SAYS_WHY.search(line)))
    chosen = told[:MOST_LINES] or [line.strip() for line in lines if line.strip()][-3:]
    return "\n".join(chosen)[:LONGEST]


def shorten_cause(output: str) -> str:
    """Return the cause as one line."""
    line = "; ".join(find_cause(output).splitlines()[:3])
    return line if len(line) <= SHORT else f"{line[: SHORT - 1]}…"


def add_cause(output: str, written: str) -> str:
    """Return the end of what a tool wrote with the cause behind it, for `read_cause`."""
    cause = find_cause(written)
    return f"{output[len(cause) + len(_TITLE) :]}{_TITLE}{cause}" if cause else output


def read_cause(output: str, most: int) -> str:
    """Return the cause where it was added, else the end of the output."""
    return output.rpartition(_TITLE)[2].strip()[-most:]


def _read_php_block(lines: Sequence[str]) -> str:
    """Return what Composer puts into a block of its own, wrapped by its width, as one line."""
    at = next((n for n, line in enumerate(lines) if _IN_PHP.fullmatch(line.strip())), None)
    if at is None:
        return ""
    rest = itertools.dropwhile(lambda line: not line.strip(), lines[at + 1 :])
    inside = itertools.takewhile(lambda line: line.startswith("  ") and line.strip(), rest)
    return "".join(line[2:].removesuffix("  ") for line in inside).strip()[:LONGEST]


def _read_mark(line: str) -> str:
    """Return what a tool marks as wrong, or nothing where that is its manual or its log."""
    if _RAISED.match(line):
        return line
    if not _MARK.match(line):
        return ""
    text = _MARK.sub("", line, count=1).strip()
    return "" if _NO_CAUSE.search(text) or re.fullmatch(r"\w*:", text) else text
