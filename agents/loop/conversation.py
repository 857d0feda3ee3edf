"""The definition of a conversation: its prompt, its tools, and the submission that ends it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.errors import ToolError
from agents.policy import Effort, Tier
from agents.ports import Query
from agents.tools.base import Capability
from agents.tools.registry import TOOLS
from agents.tools.schema import describe, describe_faults, find_unusable, strict_schema

PORTS = tuple(sorted({tool.port for tool in TOOLS if tool.port}))
"""The ports that tools of ours need, and that not every run has."""
SYSTEM = Path(__file__).with_name("system.md")


class Submission(BaseModel):
    """What a stage delivers. Its docstring and those of its fields are what the model reads.

    The API promises the shape, pydantic the values. A stage's results are submitted, never
    parsed out of prose.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    _tool: ClassVar[str]

    def __init_subclass__(cls, *, tool: str, **more: Any) -> None:
        """Take the name by which the model calls it: sessions record it, so it never changes."""
        super().__init_subclass__(**more)
        cls._tool = tool

    @classmethod
    def tool_name(cls) -> str:
        """Return the name under which the model calls it."""
        return cls._tool

    @classmethod
    @cache  # a class never changes, and its schema takes a while to make
    def definition(cls) -> dict[str, Any]:
        """Return the Messages-API definition, strict."""
        return {
            "name": cls.tool_name(),
            "description": describe(cls.__doc__),
            "strict": True,
            "input_schema": strict_schema(cls.model_json_schema()),
        }

    @classmethod
    def parse(cls, arguments: Any) -> Self:
        """Return the submission; ToolError tells the model what to correct."""
        if fault := find_unusable(arguments):
            raise ToolError(f"{cls.tool_name()} was not accepted: a text in it holds {fault}.")
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(
                f"{cls.tool_name()} was not accepted:\n{describe_faults(error)}\n"
                f"Correct this and call {cls.tool_name()} again with all its fields."
            ) from error


S_co = TypeVar("S_co", bound=Submission, covariant=True)


@dataclass(frozen=True)
class Conversation(Generic[S_co]):
    """The declaration of one stage's talk with the model. Data, so that it can be checked."""

    name: str
    prompt: Path
    """Markdown beside the stage; its fixed part first, its variables last."""
    output: type[S_co]
    capability: Capability
    resumes: str | None = None
    """The conversation whose newest session goes on here; None starts a new session."""
    tier: Tier | None = None
    """Which model. None: strong, and in a resumed session the model that it began with; another
    one answers there for this stage alone."""
    handed_over: bool = False
    """A model of another tier answers it however long the session is, so that only that model's
    list of tools needs its submission. False: a long session stays with its own model."""
    effort: Effort = "medium"
    """How hard the model thinks, where nobody has said it."""
    max_turns: int = 40
    tools: tuple[str, ...] | None = None
    """The only tools that it may use, beside its submission, by name. Its session lists these alone
    and reads no other one's cache. None: those of all conversations."""
    usd_share: float = 1.0
    """The share of the run's dollars that it may use up."""


AnyConversation = Conversation[Submission]


def prompt_path(file: str, name: str) -> Path:
    """Return the prompt that lies beside this module."""
    return Path(file).with_name(name)


@cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,  # a missing variable is our mistake: loud, not an empty gap
        autoescape=False,  # noqa: S701 - prompts are Markdown for a model, not HTML
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(path: Path, **variables: object) -> str:
    """Return the prompt with its variables filled in; an unknown variable raises."""
    return _environment(path.parent).get_template(path.name).render(**variables).strip()


@cache
def system_prompt() -> str:
    """Return the system prompt: one text for every session, so that all share its cache."""
    return SYSTEM.read_text(encoding="utf-8").strip()


def root_of(conversation: AnyConversation, among: Iterable[AnyConversation]) -> AnyConversation:
    """Return the conversation whose session this one goes on with, itself if it starts one."""
    by_name = {c.name: c for c in among}
    while conversation.resumes is not None:
        conversation = by_name[conversation.resumes]
    return conversation


def tier_of(
    conversation: AnyConversation, among: Iterable[AnyConversation], chosen: Mapping[str, Tier]
) -> Tier:
    """Return which model holds the conversation; `chosen` is by name, and goes before ours."""
    root = root_of(conversation, among)
    told = (chosen.get(conversation.name), conversation.tier, chosen.get(root.name), root.tier)
    return next((tier for tier in told if tier is not None), "strong")


def list_answered(
    tier: Tier,
    among: Iterable[AnyConversation],
    chosen: Mapping[str, Tier],
    models: Mapping[str, str],
) -> list[AnyConversation]:
    """Return the conversations that the model of this tier may have to answer.

    Each model has a cache of its own, and pays for each tool that is listed to it.
    """
    every = list(among)

    def answers(conversation: AnyConversation) -> bool:
        root = root_of(conversation, every)
        asked = {models[tier_of(conversation, every, chosen)]}
        if not conversation.handed_over:
            asked.add(models[tier_of(root, every, chosen)])
        return models[tier] in asked

    return [each for each in every if answers(each)]


def tool_list(
    among: Iterable[AnyConversation],
    more: Iterable[Mapping[str, Any]] = (),
    *,
    ports: Collection[str] = PORTS,
) -> list[Mapping[str, Any]]:
    """Return the tool definitions of all sessions that hold these conversations: one list.

    Tools stand first in the cached prefix, so that one list is written into the cache once and
    read by every session after the first. What all pipelines share comes first, then `more` (the
    tools of other servers), then the submissions of all stages, each sorted by name. Tools whose
    port is not among the run's `ports` could do nothing. The gate, not this list, decides what a
    stage may use, and only its own submission ends it.
    """
    submissions = {each.output for each in among if each.tools is None}
    return [
        *_by_name(tool.definition() for tool in TOOLS if tool.port in ("", *ports)),
        *_by_name(more),
        *_by_name(submission.definition() for submission in submissions),
    ]


def list_own_tools(conversation: AnyConversation) -> list[Mapping[str, Any]]:
    """Return the tool definitions of a conversation that lists its own."""
    tools = (tool for tool in TOOLS if tool.name in (conversation.tools or ()))
    return [*_by_name(tool.definition() for tool in tools), conversation.output.definition()]


def begin_query(
    model: str,
    among: Iterable[AnyConversation],
    more: Iterable[Mapping[str, Any]] = (),
    *,
    ports: Collection[str] = PORTS,
    effort: Effort = "medium",
) -> Query:
    """Return what every request of a new session has in common, as this version sends it."""
    tools = tool_list(among, more, ports=ports)
    return Query(model=model, system=system_prompt(), tools=tools, messages=(), effort=effort)


def _by_name(definitions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(definitions, key=lambda definition: str(definition["name"]))
