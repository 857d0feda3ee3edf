"""The GraphQL documents, each in a file of its own beside the code that asks with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def document(name: str) -> str:
    """Return the document of this name."""
    return Path(__file__).with_name(f"{name}.graphql").read_text("utf-8")
