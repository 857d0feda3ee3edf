"""The agent loop: a session is a model's turns and its tool calls, until it submits.

A stage declares its conversation with the names that stand here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.loop.conversation import AnyConversation, Conversation, Submission, prompt_path
    from agents.tools.base import Capability

__all__ = ["AnyConversation", "Capability", "Conversation", "Submission", "prompt_path"]

# The tools take megabytes, and a server at rest knows the model and the limits alone.
_LATER = dict.fromkeys(__all__, "agents.loop.conversation") | {"Capability": "agents.tools.base"}

if not TYPE_CHECKING:  # or mypy would take any name for one of this package

    def __getattr__(name: str) -> object:
        """Import what only the work on a run needs, once it is asked for."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
