"""Step 5: one async function per pipeline, readable from top to bottom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agents.loop.conversation import AnyConversation
from agents.pipelines.resolve.pipeline import CONVERSATIONS, resolve
from agents.requests import Request, ResolveIssue
from agents.run import Outcome, Run


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's function and every conversation its stages may hold."""

    work: Callable[[Run, ResolveIssue], Awaitable[Outcome]]
    conversations: Sequence[AnyConversation]


PIPELINES: dict[type[Request], Pipeline] = {
    ResolveIssue: Pipeline(resolve, CONVERSATIONS),
}
"""The registration: one line for each kind of request."""
