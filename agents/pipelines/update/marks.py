"""Find conflict markers that git leaves in a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_MARK = re.compile(rb"([<|=>])\1{6,}(?: |$)")


def marks(merged: bytes | None, parents: Iterable[bytes | None]) -> Counter[bytes]:
    """Return the lines that only the merge has put there, and how often.

    `parents`: the file in both branches; a text about merging may have such lines of its own.
    """
    known: Counter[bytes] = Counter()
    for parent in parents:
        known |= _lines(parent)
    return _lines(merged) - known


def find_remaining_marks(
    text: bytes | None, put: Counter[bytes], before: Iterable[bytes | None]
) -> list[int]:
    """Return the numbers of the lines that are still such marks.

    `put`: the lines that the merge put there. `before`: the file in both branches.
    """
    allowed: Counter[bytes] = Counter()
    for parent in before:
        allowed += _lines(parent)
    found = []
    for number, line in enumerate(_split(text), 1):
        if line not in put:
            continue
        if allowed[line] > 0:
            allowed[line] -= 1
        else:
            found.append(number)
    return found


def _lines(text: bytes | None) -> Counter[bytes]:
    return Counter(line for line in _split(text) if _MARK.match(line))


def _split(text: bytes | None) -> list[bytes]:
    return [line.rstrip(b"\r") for line in (text or b"").split(b"\n")]
