"""The issue or pull request on which a run speaks to people."""

from __future__ import annotations

from agents.ports import ApprovalRequest
from agents.requests import Request
from agents.run import Outcome


class ConversationThread:
    """The issue or pull request that a run is about; it exists before the run."""

    speaker = ""
    """In whose name its progress is kept; empty: the run's own."""

    def __init__(self, request: Request) -> None:
        self.request = request
        """The run's request, with the number of the place as far as there is one."""

    async def open(self) -> Request:
        """Return the request with the number of the place; create the place if there is none."""
        return self.request

    async def is_news(self, outcome: Outcome) -> bool | None:
        """Tell whether people there want to hear of this end; None: as on any issue."""
        del outcome
        return None

    async def redact_question(self, asking: ApprovalRequest) -> ApprovalRequest:
        """Return the question as people there may read it. Raises ToolError where they may not."""
        return asking

    async def leave(self, outcome: Outcome) -> None:
        """Tidy up the place after the run has ended with this outcome."""


class NoConversation(ConversationThread):
    """The place of a run that is about no issue and has nothing to say but its pull request."""

    async def is_news(self, outcome: Outcome) -> bool | None:
        """Tell that nobody wants to hear of this end."""
        del outcome
        return False
