"""Which folders a workspace calls its members, by the patterns that its manifest has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from agents.policy.document import MalformedPolicy, read_document

MOST_PATTERNS = 300
LONGEST = 200  # characters of a pattern
MOST_PARTS = 12
MOST_STARS = 3  # in one part of it: each more squares the time


def is_member(folder: str, patterns: Iterable[str]) -> bool:
    """Return whether the folder is one that these patterns name; those with `!` take it out."""
    named = False
    for pattern in list(dict.fromkeys(patterns))[:MOST_PATTERNS]:
        plain = pattern.removeprefix("!").removeprefix("./").strip("/")
        parts = plain.split("/")
        bounded = len(plain) <= LONGEST and len(parts) <= MOST_PARTS
        if bounded and _fits(folder.split("/"), parts):
            named = not pattern.startswith("!")
    return named


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path fits, part by part; `**` stands for any number of them."""
    reached = {0}
    for sign in pattern:
        if sign == "**":
            reached = set(range(min(reached), len(parts) + 1))
        elif sign.count("*") > MOST_STARS:
            return False
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], sign)}
        if not reached:
            return False
    return len(parts) in reached


def read_yaml(text: str) -> dict[str, object]:
    """Return what a short YAML file says; empty where it cannot be read, or is no mapping."""
    try:
        return read_document(text.encode()).value
    except MalformedPolicy:
        return {}


def list_texts(value: object) -> list[str]:
    """Return the texts of a sequence that a YAML file holds."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, tuple) else []


_MODULE = re.compile(r"<module>\s*([^<>\s]{1,200})\s*</module>")


def list_modules(pom: str) -> list[str]:
    """Return the modules that a Maven project names."""
    return _MODULE.findall(pom)[:MOST_PATTERNS]


_USE = re.compile(r"^\s*(?:use\s+)?\"?(\.{1,2}(?:/[^\s\"()]*)?|[A-Za-z][\w./-]*)\"?\s*(?://.*)?$")
_BLOCK = re.compile(r"^\s*use\s*\(\s*$")


def list_uses(work: str) -> list[str]:
    """Return the folders that a `go.work` uses, relative and plain; the root is `.`."""
    found, inside = [], False
    for line in work.splitlines()[:2_000]:
        if _BLOCK.match(line):
            inside = True
        elif inside and line.strip() == ")":
            inside = False
        elif (inside or line.lstrip().startswith("use ")) and (match := _USE.match(line)):
            found.append(match[1].removeprefix("./").strip("/") or ".")
    return [each for each in dict.fromkeys(found) if not each.startswith("..")]
