"""Texts of strangers, models and tools for people: without secrets, and with nothing hidden."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.text import printable
from agents.text.characters import HIDDEN, JOINER

if TYPE_CHECKING:
    from app.secrets.redaction import Redactor


def redact(value: Any, redactor: Redactor) -> Any:
    """Return a JSON value without the secrets in any of its texts, names included.

    Halves of characters, which JSON can carry and nobody can write, become question marks.
    """
    if isinstance(value, str):
        return redactor.clean(value).encode(errors="replace").decode()
    if isinstance(value, dict):
        return {redact(name, redactor): redact(part, redactor) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [redact(part, redactor) for part in value]
    return value


def make_visible(text: str) -> str:
    """Return the text with every character that nobody can see written out as an escape."""
    text = printable(text).replace(JOINER, ascii(JOINER)[1:-1])
    for pattern in HIDDEN.values():
        text = pattern.sub(lambda char: ascii(char[0])[1:-1], text)
    return text


def to_line(text: str, most: int) -> str:
    """Return the text in one line of at most so many characters."""
    one = make_visible(" ".join(text.split()))
    return one if len(one) <= most else f"{one[: most - 1]}…"


def spell_content(content: Any) -> str:
    """Return the text of a tool's result; of a part that is none, only what it is."""
    if isinstance(content, list):
        parts = (part if isinstance(part, dict) else {} for part in content)
        return "\n".join(str(part.get("text") or f"({part.get('type')})") for part in parts)
    return str(content or "")


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, and how much was left out."""
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}\n[{left} more characters]"


def format_age(seconds: float) -> str:
    """Return a span of seconds in its largest unit."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def format_dollars(usd: float) -> str:
    """Return dollars, with cents' parts where there is nothing else."""
    return f"${usd:.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}"


def format_moment(at: float) -> str:
    """Return unix seconds as a date and a time."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d at %H:%M:%S} UTC"
