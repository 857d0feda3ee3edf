"""Which tools there are: one line for each."""

from __future__ import annotations

from agents.tools.base import Tool
from agents.tools.bash import Bash
from agents.tools.edit import Edit
from agents.tools.gh import Gh
from agents.tools.glob import Glob
from agents.tools.grep import Grep
from agents.tools.read import Read
from agents.tools.webfetch import Webfetch
from agents.tools.write import Write

TOOLS: tuple[type[Tool], ...] = (
    Bash,
    Edit,
    Gh,
    Glob,
    Grep,
    Read,
    Webfetch,
    Write,
)


def tool_named(name: str) -> type[Tool] | None:
    """Return the tool of that name, or None."""
    return next((tool for tool in TOOLS if tool.name == name), None)
