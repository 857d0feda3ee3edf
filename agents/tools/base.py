"""The base class of all tools: a call is its validated arguments, and its result is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from agents.analysis.known_packages import KnownPackages
from agents.policy import Policy
from agents.ports import Network, RepositoryReads, Toolsets, Web, WorkTree
from agents.tools.schema import describe, find_unusable, tool_schema

if TYPE_CHECKING:  # its rules know the tools
    from agents.tools.gate.grant import PlanGrant


class Effect(Enum):
    """What a tool does to the work tree. Calls that only read run at the same time."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"


class Capability(Enum):
    """What a stage may do to the work tree."""

    READ_ONLY = "read-only"
    CHANGE = "change"


@dataclass(frozen=True)
class Bench:
    """What the tools of one stage work with: all they can reach."""

    tree: WorkTree
    capability: Capability
    policy: Policy
    stage: str = ""
    """The stage's name, like `triage`."""
    head: str = ""
    """The commit that the work stands on; approvals are bound to it."""
    tainted: bool = False
    """Somebody who may not write to the repository has a say in this session: the author of the
    issue, a web page, another server. What leaves the sandbox is then judged more strictly."""
    known: KnownPackages | None = None
    """The packages that the default branch names: the gate lets them be installed."""
    grant: PlanGrant | None = None
    """What people granted this run with its plan."""
    tools: Sequence[str] | None = None
    """The names of the tools that the session may use; None: all."""
    network: Network = "none"
    """What a command reaches. The gate alone says so, call by call."""
    web: Web | None = None
    forge: RepositoryReads | None = None
    toolsets: Toolsets | None = None

    @property
    def writable(self) -> bool:
        """Return whether commands may change the work tree."""
        return self.capability is Capability.CHANGE


class Tool(BaseModel):
    """A tool. Its docstring and those of its fields are what the model reads about it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: ClassVar[str]
    effect: ClassVar[Effect]
    port: ClassVar[Literal["", "forge", "web"]] = ""
    """The port of the run without which it can do nothing; then it is not listed."""
    room: ClassVar[int] = 10_000
    """Characters of a result that reach the model; the gate cuts the middle out of longer ones."""

    @model_validator(mode="before")
    @classmethod
    def _lenient(cls, data: Any) -> Any:
        """Take null for absent, as models write it; refuse what no command can hold."""
        if not isinstance(data, dict):
            return data
        for key, value in data.items():
            if fault := find_unusable(value):
                raise ValueError(f"`{key}` holds {fault}")
        return {key: value for key, value in data.items() if value is not None}

    @classmethod
    @cache  # a class never changes, and its schema takes a while to make
    def definition(cls) -> dict[str, Any]:
        """Return the Messages-API definition."""
        return {
            "name": cls.name,
            "description": describe(cls.__doc__),
            "input_schema": tool_schema(cls.model_json_schema()),
        }

    def subject(self) -> str:
        """Return what the call is about in a few words, for people who watch."""
        raise NotImplementedError

    def paths(self) -> tuple[str, ...]:
        """Return the paths of the repository that the call names, for the gate."""
        return ()

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts that the call talks to, lower case, for the gate."""
        return ()

    def leaves(self) -> bool:
        """Return whether the call could carry something to those hosts, beside which page it reads.

        The gate looks at it where strangers have a say in the session.
        """
        return bool(self.hosts())

    def script(self) -> str | None:
        """Return the bash script that the call runs, for the gate."""
        return None

    async def run(self, bench: Bench) -> str:
        """Do it; the answer is for the model. Only the gate calls this.

        Raises ToolError with what to do instead.
        """
        raise NotImplementedError
