"""Merge a tool's change into the original file, without what the tool merely reformatted."""

from __future__ import annotations

import json
import re
from typing import Any

from agents.pipelines.remediate.ladder.npm.files import MARK

_INDENT = re.compile(r"\n([ \t]+)\"")


def merge_values(old: Any, base: Any, new: Any) -> Any:
    """Return `old` with what differs between `base` and `new`.

    `base` is what the tool makes of the old file when nothing is to be changed. Releases of a tool
    write entries differently, and the difference between two files of one release is the change.
    """
    if base == new:
        return old
    if not (isinstance(old, dict) and isinstance(base, dict) and isinstance(new, dict)):
        return new
    found = {}
    for key in _order(old, new):
        if key in new and not (key in base and base[key] == new[key]):
            whole = key in old and key in base
            found[key] = merge_values(old[key], base[key], new[key]) if whole else new[key]
        elif key in old and (key in new or key not in base):
            found[key] = old[key]
    return found


def dump_like(data: Any, like: str) -> bytes:
    """Return JSON as it was written before: with its mark, indent, line ends and last line."""
    match = _INDENT.search(like)
    text = MARK * like.startswith(MARK) + json.dumps(
        data, ensure_ascii=False, indent=match[1] if match else 2
    )
    text += "\n" * like.endswith("\n")
    return (text.replace("\n", "\r\n") if "\r\n" in like else text).encode()


def _order(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return all keys: the old ones in their order, each new one behind its neighbour."""
    order = list(old)
    at = 0
    for key in new:
        if key in old:
            there = at < len(order) and order[at] == key
            at = (at if there else order.index(key)) + 1
        else:
            order.insert(at, key)
            at += 1
    return order
