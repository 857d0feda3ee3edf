"""Untrusted text in, safe text out: what strangers write, and what a model says in public."""

from __future__ import annotations

from agents.text.characters import plain_output, printable
from agents.text.incoming import Cleaned, clean, quote
from agents.text.lines import commit_text, one_line
from agents.text.outgoing import publish

__all__ = [
    "Cleaned",
    "clean",
    "commit_text",
    "one_line",
    "plain_output",
    "printable",
    "publish",
    "quote",
]
