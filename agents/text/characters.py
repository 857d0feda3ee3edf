"""Remove invisible characters, and those that control a terminal."""

from __future__ import annotations

import re
from collections import Counter

JOINER = "\N{WORD JOINER}"
"""Put into words that GitHub would act on: invisible, and no longer that word."""

_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122-\u3299\ufe0f\U0001f000-\U0001faff"
HIDDEN = {
    "control characters": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]"),
    "direction marks": re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"),
    "zero-width characters": re.compile(
        "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u2061-\u2065\u206a-\u206f\u3164"
        f"\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a]|(?<![{_EMOJI}])\u200d"
    ),
    "tag characters": re.compile("[\U000e0000-\U000e007f]"),
    "variation selectors": re.compile(
        f"[\u180b-\u180d\u180f\ufe00-\ufe0e\U000e0100-\U000e01ef]|(?<![{_EMOJI}])\ufe0f(?!\u20e3)"
    ),
    "broken characters": re.compile("[\ud800-\udfff]"),
}

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # titles
    r"|\x1b[ -/]*[0-~]"
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def without_hidden(text: str, *, joiner: bool = True) -> tuple[str, Counter[str]]:
    """Return the text without characters that people cannot see, and how many of each kind.

    What joins and colours emoji stays. `joiner` says whether word joiners go as well.
    """
    found: Counter[str] = Counter()
    if joiner:
        found["zero-width characters"] = text.count(JOINER)
        text = text.replace(JOINER, "")
    for kind, pattern in HIDDEN.items():
        text, count = pattern.subn("", text)
        found[kind] += count
    return text, +found


def printable(text: str) -> str:
    """Return the text with its control characters written out as escapes."""
    text = text.replace("\r\n", "\n")
    return _UNPRINTABLE.sub(lambda char: ascii(char[0])[1:-1], text)


def plain_output(text: str) -> str:
    """Return what a program wrote for a terminal as text.

    Colours go, and of a line that was written over, as progress bars do, the last state stays.
    """
    lines = _ANSI.sub("", text).split("\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
