"""Texts from GitHub as an agent reads them: cleaned, and cut at a length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.text import clean, truncate

BODY = 8_000  # characters of one text
LINE = 300


def clean_body(text: str | None, room: int = BODY) -> str:
    """Return a text from GitHub without hidden parts, cut to `room` characters."""
    return truncate(clean(text or "").text, room, "the rest is on GitHub") or "(no text)"


def clean_line(text: str | None) -> str:
    """Return a title or name as one line."""
    shown = " ".join(clean(text or "").text.split())
    return shown if len(shown) <= LINE else f"{shown[:LINE]}…"


def join_sections(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, with a blank line between them."""
    return "\n\n".join(part for part in parts if part)


def describe_left_out(counts: Sequence[tuple[int, str]]) -> str:
    """Return how much was left out, and why; empty when everything is shown."""
    said = [f"{count} {what}" for count, what in counts if count]
    return f"[Left out: {'; '.join(said)}]" if said else ""
