"""The mirror of Hex that Mix is configured for, read from its variables and its file."""

from __future__ import annotations

import re
from pathlib import Path

from app.dependencies.indexes.operator_config import Operator
from app.dependencies.indexes.parse_url import add_mirror
from app.dependencies.indexes.result import Configured

HEX = ("https://repo.hex.pm/", "https://builds.hex.pm/")
"""The public index, and where Mix finds Hex itself and rebar."""

_MIRROR = re.compile(r"""\{\s*'?mirror_url'?\s*,\s*<<\s*"([^"]{1,500})"\s*>>\s*\}""")
_LARGEST = 200_000


async def hex_indexes(operator: Operator) -> Configured:
    """Return the mirror that Hex is configured for, or its public index.

    https://hexdocs.pm/hex/Mix.Tasks.Hex.Config.html
    """
    made = Configured("mix")
    environ = operator.environ
    url = environ.get("HEX_MIRROR") or environ.get("HEX_MIRROR_URL") or _read_mirror(operator)
    if url:
        add_mirror(made, operator, url, HEX)
    for public in HEX if not url else ():
        add_mirror(made, operator, public)
    return made


def _read_mirror(operator: Operator) -> str:
    """Return what `mix hex.config mirror_url` has put into Hex's file of Erlang terms."""
    home = Path(operator.environ.get("HEX_HOME") or operator.home / ".hex")
    try:
        text = (home / "hex.config").read_text("utf-8")[:_LARGEST]
    except (OSError, UnicodeDecodeError):
        return ""
    found = _MIRROR.search(text)
    return found[1] if found else ""
