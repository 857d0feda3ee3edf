"""Step 8: the room that a tool's result has in the conversation."""

from __future__ import annotations


def cut(text: str, room: int, rest: str) -> str:
    """Return the text if it fits into `room` characters, else its head and tail.

    The line in between says how much is left out, and with `rest` how to get at it.
    """
    if len(text) <= room:
        return text
    half = room // 2
    head, tail = text[:half], text[-half:]
    if "\n" in head[half // 2 :]:
        head = head[: head.rindex("\n")]
    if "\n" in tail[: half // 2]:
        tail = tail[tail.index("\n") + 1 :]
    missing = text[len(head) : len(text) - len(tail)]
    lines = missing.count("\n")
    return f"{head}\n[… {len(missing):,} characters ({lines:,} lines) left out; {rest} …]\n{tail}"
