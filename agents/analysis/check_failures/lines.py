"""Normalise a check's output: lines, and names that are the same in each run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from agents.text import plain_output, printable

LINE_LIMIT = 1_000  # characters that are looked at
LINES = 20_000  # the last ones, in which programs sum up
LOOKED_AT, NAME_LIMIT = 400, 200  # characters of a name

_VARIES = (
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "…"),
    (re.compile(r"(?<=/tmp/)[^/\s'\"]+"), "…"),
    (re.compile(r"\bpytest-\d+\b"), "pytest-…"),
    (re.compile(r"(\.[A-Za-z]{1,6}):\d+(?::\d+)?\b"), r"\1"),
    (re.compile(r"\bline \d+\b"), "line …"),
    (re.compile(r" ?[(\[]<? ?\d[\d.,]* ?(?:ms|s|sec|m|min|µs|us)[)\]]"), ""),
)
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*(?!\w)")
_LEFT_OUT = re.compile(r"\[\.\.\. \d+ bytes left out \.\.\.\]$")


def is_truncated(lines: Sequence[str]) -> bool:
    """Return whether the middle of the output was not kept."""
    return any(line.startswith("[... ") and _LEFT_OUT.match(line) for line in lines)


def lines_of(output: str) -> list[str]:
    """Return the lines that say something, without what only a terminal understands."""
    text = printable(plain_output(output))
    lines = [cut for line in text.split("\n") if (cut := line[:LINE_LIMIT].rstrip())]
    if len(lines) <= LINES:
        return lines
    left = sum(map(len, lines[:-LINES]))
    return [f"[... {left} bytes left out ...]", *lines[-LINES:]]


def normalize_name(text: str) -> str:
    """Return the name without what differs from run to run: times, places in memory and files."""
    name = " ".join(text[:LOOKED_AT].split())
    for pattern, instead in _VARIES:
        name = pattern.sub(instead, name)
    if len(name) <= NAME_LIMIT:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: NAME_LIMIT - 9]}…{digest}"


def without_numbers(text: str) -> str:
    """Return a finding's words without the numbers in it, such as the length of a line."""
    return _NUMBER.sub("…", text)
