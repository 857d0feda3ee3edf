"""Tools of other servers (Model Context Protocol), called through the same gate as our own."""

from __future__ import annotations

import hashlib
import json
import re
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, model_validator

from agents.errors import ToolError
from agents.policy import Policy
from agents.ports import ToolEffects
from agents.text import printable, quote
from agents.tools.base import Bench, Effect, Tool
from agents.tools.schema import find_unusable

PREFIX = "mcp_"
LONGEST_NAME = 64  # what the Messages API takes
LONGEST_CALL = 100_000  # characters of arguments

_NAME = re.compile(r"mcp_[A-Za-z0-9-]+_[A-Za-z0-9_-]+")


class Mcp(Tool):
    """A call of another server's tool; `tool_class` gives the class of each."""

    model_config = ConfigDict(extra="allow")

    name: ClassVar[str] = PREFIX
    effect: ClassVar[Effect] = Effect.READ  # no server can reach the work tree
    room: ClassVar[int] = 20_000

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        """Refuse what no text can hold; null means what the server says it means."""
        if fault := find_unusable(data):
            raise ValueError(f"the arguments hold {fault}")
        return data

    def subject(self) -> str:
        """Return the arguments."""
        return json.dumps(self.arguments, ensure_ascii=False)

    def leaves(self) -> bool:
        """Return that it does: only the port knows of servers that run inside the sandbox."""
        return True

    @property
    def arguments(self) -> dict[str, Any]:
        """Return what the server gets."""
        return dict(self.model_extra or {})

    async def run(self, bench: Bench) -> str:
        """Return what the server says, fenced."""
        if bench.toolsets is None:
            raise ToolError("This run has no tools of other servers.")
        if len(self.subject()) > LONGEST_CALL:
            raise ToolError("These arguments are too long for another server. Send less.")
        text = printable(await bench.toolsets.call(self.name, self.arguments))
        mark = hashlib.sha256(text.encode()).hexdigest()[:16]  # no text can hold its own hash
        return quote(text, mark, limit=self.room - 500)


@cache
def tool_class(name: str) -> type[Mcp] | None:
    """Return the tool of that name, whether or not a server has it; None for no such name."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    # There is no source to look for docstrings in, and pydantic would look through every module.
    plain = ConfigDict(use_attribute_docstrings=False)
    declared = {"name": name, "model_config": plain, "__annotations__": {"name": "ClassVar[str]"}}
    return type("Mcp", (Mcp,), declared)


def tool_name(server: str, tool: str) -> str:
    """Return how the model calls a server's tool: letters, digits, `_`, `-`, at most 64."""
    name = f"{PREFIX}{server_word(server)}_{re.sub('[^A-Za-z0-9_-]', '_', tool) or '_'}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def server_word(server: str) -> str:
    """Return a server's name without underscores: the first one in a tool's name ends it."""
    return re.sub("[^A-Za-z0-9]+", "-", server).strip("-")[:30]


def is_permitted(policy: Policy, stage: str, name: str) -> bool:
    """Return whether the policy lets a stage, like `triage`, call the tool of that name."""
    server, _, tool = name.removeprefix(PREFIX).partition("_")
    return any(
        server_word(each.server) == server
        and any(fnmatchcase(tool, pattern) for pattern in each.tools)
        and any(fnmatchcase(stage, pattern) for pattern in each.stages)
        for each in policy.mcp
    )


def find_effects(name: str, bench: Bench) -> ToolEffects:
    """Return what a call of the tool may do; of one that nobody knows, the worst."""
    known = bench.toolsets.effects(name) if bench.toolsets else None
    return known or ToolEffects(only_reads=False, outside=True)
