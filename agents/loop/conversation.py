"""The definition of a conversation: its prompt, its tools and its submission."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from agents.tools import TOOLS
from agents.tools.base import Capability
from agents.tools.submit import Submission

Tier = Literal["strong", "fast", "judge"]


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
    tier: Tier = "strong"
    """Which model; a resumed session keeps the model it began with."""
    max_turns: int = 40


AnyConversation = Conversation[Submission]


def prompt_path(file: str, name: str) -> Path:
    """Return the prompt that lies beside this module."""
    return Path(file).with_name(name)


def root_of(conversation: AnyConversation, among: Iterable[AnyConversation]) -> AnyConversation:
    """Return the conversation whose session this one goes on with, itself if it starts one."""
    by_name = {c.name: c for c in among}
    while conversation.resumes is not None:
        conversation = by_name[conversation.resumes]
    return conversation


def tool_list(root: AnyConversation, among: Sequence[AnyConversation]) -> list[dict[str, Any]]:
    """Return the tool definitions of every session that begins with `root`, sorted by name.

    All tools and all submissions that any stage of the session may need: the list never changes
    within a session, since tools stand first in the cached prefix. The gate, not this list,
    decides what a stage may use.
    """
    submissions = {c.output for c in among if root_of(c, among) is root}
    definitions = [tool.definition() for tool in TOOLS]
    definitions += [submission.definition() for submission in submissions]
    return sorted(definitions, key=lambda definition: str(definition["name"]))
