"""Where the mail begins that somebody answered: what stands below is not theirs.

The words by which mail programs of many languages introduce it are those of a library for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mailparser_reply.constants import (  # type: ignore[import-untyped]  # has no types
    MAIL_LANGUAGES,
    QUOTED_MATCH_INCLUDE,
)

LONGEST = 300
"""Characters of a line that may introduce a mail: the library's patterns are slow for longer."""


def _read_introduction(pattern: str) -> str:
    """Return the library's pattern without its exception, which is all of it in some."""
    _, _, body = pattern.partition(f"({QUOTED_MATCH_INCLUDE}")
    return f"^({QUOTED_MATCH_INCLUDE}{body}".replace(r"\s ", r"\s+")


_WROTE = [
    re.compile(_read_introduction(words["wrote_header"]), re.IGNORECASE)
    for words in MAIL_LANGUAGES.values()
    if "wrote_header" in words
]
_ADDRESSED = re.compile(
    r"(?=[^:]*\d)[^<>]{3,200}<[^<>\s@]{1,100}@[^<>\s]{1,100}>[^<>]{0,60}[:\uff1a]"
)
"""A date and an address before a colon: that is how it is said in any language."""
_FIELD = re.compile(r"[* ]*([^\W\d_][\w ]{0,20}?) ?[:\uff1a]")
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LIST = re.compile(r"\[\* \]\*\(\?:([^()]+)\):")


def _read_fields(pattern: str) -> tuple[str, ...]:
    """Return the names of a mail's fields in one language, the sender's first."""
    found = _LIST.search(pattern)
    written = _CODE.sub(lambda code: chr(int(code[1], 16)), found[1] if found else "")
    listed = written.split("|")
    plain = (re.sub(r"\[(\w)\w\]", r"\1", each).replace(r"\s?", " ").strip() for each in listed)
    return tuple(each.casefold() for each in plain if each)


_FIELDS = [_read_fields(words.get("from_header", "")) for words in MAIL_LANGUAGES.values()]
_SENDERS = {
    first: frozenset(name for names in _FIELDS if names[:1] == (first,) for name in names[1:])
    for first in {names[0] for names in _FIELDS if names}
}


def find_quoted_mail(lines: Sequence[str]) -> int:
    """Return the number of the line where the answered mail begins; how many there are, if none."""
    for number, line in enumerate(lines):
        if len(line) + len(_get(lines, number + 1)) >= 8 and _introduces(lines, number):
            return number
    return len(lines)


def _introduces(lines: Sequence[str], number: int) -> bool:
    line, following = lines[number].strip(), _get(lines, number + 1).strip()
    if len(line) > LONGEST or not line:
        return False
    if _is_introduction(line) or (
        line[-1] not in ":\uff1a" and _is_introduction(f"{line} {following[:LONGEST]}")
    ):
        return True
    fields = _SENDERS.get(_name_field(line))
    return fields is not None and _name_field(following) in fields


def _is_introduction(line: str) -> bool:
    if line[-1] not in ":\uff1a":
        return False
    return bool(_ADDRESSED.fullmatch(line)) or any(each.match(line) for each in _WROTE)


def _name_field(line: str) -> str:
    found = _FIELD.match(line)
    return found[1].casefold() if found else ""


def _get(lines: Sequence[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""
