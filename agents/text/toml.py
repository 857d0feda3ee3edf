"""Parse untrusted TOML within bounds; every fault raises one error."""

from __future__ import annotations

import tomllib
from typing import Any

MOST_PARTS = 200  # of a key; the reader takes the square of them, and hours for a hundred thousand


def toml_in(text: str) -> dict[str, Any]:
    """Return what the text says. Raises ValueError, whatever is wrong with it."""
    if any(line.count(".") > MOST_PARTS for line in text.split("\n")):
        raise ValueError("a line of it has more dots than any key has")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
