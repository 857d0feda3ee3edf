"""Step 6: craft_pr: the words of the pull request, for a change that passes or for a draft."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import Field, field_validator

from agents.loop.conversation import Conversation, beside
from agents.pipelines.shared.docs_review import whole_change
from agents.pipelines.shared.implement import Made
from agents.pipelines.shared.quality import Quality
from agents.run import Run, stage
from agents.tools.base import Capability
from agents.tools.submit import Submission

_BRANCH = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class PullRequestText(Submission):
    """Deliver the words of the pull request."""

    branch: str = Field(max_length=50)
    """Two to five words in kebab-case that name the change."""
    title: str = Field(min_length=8, max_length=90)
    """What the change does, in the imperative."""
    why: str = Field(min_length=20)
    """The cause of the problem and why this change is the right cure."""
    rejected: str
    """Other ways and why you did not take them; empty if there was no real alternative."""
    notes: str
    """What to look at twice, what could not be checked; empty if there is nothing."""

    @classmethod
    def tool_name(cls) -> str:
        """Return the name under which the model calls it."""
        return "submit_pull_request"

    @field_validator("branch")
    @classmethod
    def _kebab(cls, value: str) -> str:
        if not _BRANCH.fullmatch(value):
            raise ValueError("must be lower-case words joined by single hyphens")
        return value


CRAFT_PR = Conversation(
    name="craft_pr",
    prompt=beside(__file__, "craft_pr.md"),
    output=PullRequestText,
    capability=Capability.READ_ONLY,
    resumes="implement",
)
CRAFT_DRAFT_PR = Conversation(
    name="craft_draft_pr",
    prompt=beside(__file__, "craft_draft_pr.md"),
    output=PullRequestText,
    capability=Capability.READ_ONLY,
    resumes="implement",
)


@stage
async def craft_pr(run: Run, quality: Quality, made: Sequence[Made]) -> PullRequestText:
    """Write the pull request."""
    return await _crafted(run, CRAFT_PR, quality, made)


@stage
async def craft_draft_pr(run: Run, quality: Quality, made: Sequence[Made]) -> PullRequestText:
    """Write the draft pull request."""
    failing = "\n\n".join(
        f"`{check.command}` ended with exit code {check.exit_code}:\n\n{check.output}"
        for check in quality.failing
    )
    return await _crafted(run, CRAFT_DRAFT_PR, quality, made, failing=run.fenced(failing))


async def _crafted(
    run: Run,
    conversation: Conversation[PullRequestText],
    quality: Quality,
    made: Sequence[Made],
    **more: str,
) -> PullRequestText:
    subjects = await run.ports.source.subjects(run.base, run.head)
    text = await run.converse(
        conversation,
        checks=quality.compared,
        made=run.fenced("\n\n".join(each.report for each in made)),
        commits=run.fenced("\n".join(f"- {subject}" for subject in subjects)),
        diff=await whole_change(run),
        **more,
    )
    run.summary = text.title
    return text
