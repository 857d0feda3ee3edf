"""Load the GraphQL documents, each from a file of its own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

WHO = "who"
"""The fragment by which all documents ask for an account."""


@cache
def load_document(name: str) -> str:
    """Return the GraphQL document of this name, with the fragment that it uses."""
    text = _read(name)
    return f"{text}\n{_read(WHO)}" if "...Who" in text else text


def _read(name: str) -> str:
    return Path(__file__).with_name(f"{name}.graphql").read_text("utf-8")
