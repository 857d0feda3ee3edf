"""Step 6: triage: decide what an issue needs, before anything is changed."""

from __future__ import annotations

from typing import Literal

from agents.loop.conversation import Conversation, beside
from agents.pipelines.shared.implement import WISH_LIMIT
from agents.pipelines.shared.set_up import told
from agents.ports import SetupResult
from agents.requests import ResolveIssue
from agents.run import Run, stage
from agents.text import clean
from agents.tools.base import Capability
from agents.tools.submit import Submission


class Triage(Submission):
    """Deliver your decision about the issue."""

    decision: Literal["ask", "propose", "action_proposed", "action_direct", "decline", "decision"]
    """What happens next."""
    kind: Literal["bug", "feature", "refactor", "docs", "question"]
    """What the issue is about; `bug` when something does not do what it promises."""
    reasoning: str
    """Why this decision: what you read and ran, and what it showed. Shown to maintainers."""
    detail: str
    """The text for whoever reads it next, as the stage describes."""

    @property
    def actionable(self) -> bool:
        """Return whether the decision is to change the code."""
        return self.decision in ("action_proposed", "action_direct")


TRIAGE = Conversation(
    name="triage",
    prompt=beside(__file__, "triage.md"),
    output=Triage,
    capability=Capability.READ_ONLY,
)


@stage
async def triage(run: Run, request: ResolveIssue, setup: SetupResult) -> Triage:
    """Understand the issue and decide."""
    finding = await run.converse(
        TRIAGE,
        setup=told(run, setup),
        reference=request.reference,
        author=request.author.login,
        issue=run.fenced(clean(request.text).text, limit=WISH_LIMIT),
    )
    run.summary = f"{finding.decision.replace('_', ' ')} ({finding.kind})"
    return finding
