"""The agent loop: a session is a model's turns and its tool calls, until it submits.

A stage declares its conversation with the names that stand here.
"""

from __future__ import annotations

from agents.loop.conversation import AnyConversation, Conversation, Submission, prompt_path
from agents.tools.base import Capability

__all__ = ["AnyConversation", "Capability", "Conversation", "Submission", "prompt_path"]
