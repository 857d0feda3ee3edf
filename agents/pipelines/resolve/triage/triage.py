"""Stage triage (step 6): decide what an issue needs, before anything is changed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.sub_issues.order import Order
from agents.pipelines.resolve.triage.gather import Material
from agents.pipelines.stages.implement import WISH_LIMIT, ChangeGoal
from agents.pipelines.stages.onboarding import (
    MOST_EXCERPTS,
    KnownPlace,
    describe_ground,
    describe_linked,
)
from agents.ports import Block, EarlierPull, NeighbourPull, SetupResult
from agents.requests import ResolveIssue
from agents.run import StageContext, stage
from agents.text import clean_in_child

DISCUSSION_LIMIT = 20_000  # characters of the comments
LINKED_LIMIT = 3_000  # characters of the titles of its parts, and of what names it
RIVAL_FILES = 40  # of a pull request that names the issue
DIFF_LIMIT = 20_000  # and of what an earlier run changed
MOST_STEPS = 5


class PartPlan(BaseModel):
    """A part that the issue should be divided into, as a sub-issue of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    title: str = Field(min_length=5, max_length=120)
    body: str = Field(min_length=20, max_length=6_000)


class PlanStep(BaseModel):
    """One step of a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    title: str = Field(min_length=3, max_length=90)
    brief: str = Field(min_length=20)


class Triage(Submission, tool="submit_triage"):
    """Deliver your decision."""

    decision: Literal["ask", "propose", "action_proposed", "action_direct", "decline", "decision"]
    kind: Literal["bug", "feature", "refactor", "docs", "question"]
    """`bug`: something does not do what it promises."""
    reasoning: str
    """What you read and ran, and what it showed, for maintainers."""
    detail: str
    """For the next reader."""
    criteria: tuple[str, ...] = Field(default=(), max_length=12)
    sub_issues: tuple[PartPlan, ...] = Field(default=(), max_length=8)
    """Parts of a too large issue."""
    risk: str = Field(default="", max_length=500)
    confidence: int = -1
    """Percent: will it be merged?"""
    excerpts: tuple[KnownPlace, ...] = Field(default=(), max_length=MOST_EXCERPTS)
    """`path:first-last`: lines to change, and those they depend on."""
    steps: tuple[PlanStep, ...] = Field(default=(), max_length=MOST_STEPS)
    """The plan, where asked for."""

    @property
    def actionable(self) -> bool:
        """Return whether the decision is to change the code."""
        return self.decision in ("action_proposed", "action_direct")

    @property
    def sure(self) -> int | None:
        """Return in percent how sure it is that its change is merged; None where it did not say."""
        return self.confidence if self.actionable and 0 <= self.confidence <= 100 else None

    @property
    def asks(self) -> bool:
        """Return whether people have to say something first."""
        return self.decision in ("ask", "propose")

    def aim(self, request: ResolveIssue, since: str) -> ChangeGoal:
        """Return what the change after the commit `since` is to do."""
        return ChangeGoal(
            source=f"The issue, {request.reference}, written by {request.author.login}",
            wish=request.text,
            detail=self.detail,
            criteria=self.criteria,
            since=since,
            kind=self.kind,
            risk=self.risk,
        )


TRIAGE = Conversation(
    name="triage",
    prompt=prompt_path(__file__, "triage.md"),
    output=Triage,
    capability=Capability.READ_ONLY,
)


@stage
async def triage(
    run: StageContext, request: ResolveIssue, material: Material, setup: SetupResult
) -> Triage:
    """Understand the issue and decide."""
    pictures, left_out = await _pictures(run, request)
    fast = material.path == "fast" and not material.parts.work
    finding = await run.converse(
        TRIAGE,
        pictures=pictures,
        objection=_want_plan if fast else None,
        fast=fast,
        setup=await describe_ground(run, setup),
        instructions=material.instructions,
        decisions=material.decisions,
        discussion=await _discussion(run, material),
        linked=await describe_linked(run, material.linked),
        parts=material.parts,
        titles=run.fence(await _titles(material.parts), limit=LINKED_LIMIT),
        earlier=await _earlier(run, material.earlier),
        rivals=[await _describe_rival(run, each) for each in material.rivals],
        left_out=run.fence("\n".join(left_out), limit=LINKED_LIMIT) if left_out else "",
        reference=request.reference,
        author=request.author.login,
        issue=run.fence((await clean_in_child(request.text)).text, limit=WISH_LIMIT),
    )
    run.update_state(about=finding.kind, confidence=finding.sure)
    run.summarize(format_decision(finding))
    return finding


def _want_plan(finding: Triage) -> str | None:
    if finding.actionable and not finding.steps:
        return "`steps` is empty: give the plan of the change."
    return None


def format_decision(finding: Triage) -> str:
    """Return the decision in a few words, and how sure it is of a change."""
    sure = f", {finding.sure} % sure" if finding.sure is not None else ""
    return f"{finding.decision.replace('_', ' ')} ({finding.kind}{sure})"


async def _pictures(
    run: StageContext, request: ResolveIssue
) -> tuple[list[Block], tuple[str, ...]]:
    if run.ports.tracker is None:
        return [], ()
    pictures = await run.ports.tracker.pictures(request.body)
    return [picture.block for picture in pictures.shown], pictures.left_out


async def _discussion(run: StageContext, material: Material) -> str:
    said = (await clean_in_child(material.discussion)).text
    return run.fence(said, limit=DISCUSSION_LIMIT) if said.strip() else ""


async def _titles(parts: Order) -> str:
    known = sorted((*parts.work, *parts.done, *parts.elsewhere), key=lambda part: part.number)
    titles = "\n".join(f"{part.reference} {part.title}" for part in known)
    return (await clean_in_child(titles)).text


async def _describe_rival(run: StageContext, pull: NeighbourPull) -> dict[str, object]:
    """Return what triage is told: of strangers' no word that they chose."""
    about = {"number": pull.number, "author": "somebody without write access", "text": ""}
    if not pull.by_writer:
        return about
    words = "\n".join([pull.title, "", *pull.files[:RIVAL_FILES]])
    text = run.fence((await clean_in_child(words)).text, limit=LINKED_LIMIT)
    return about | {"author": pull.author or "somebody whose account is gone", "text": text}


async def _earlier(run: StageContext, earlier: EarlierPull | None) -> dict[str, object] | None:
    if earlier is None:
        return None
    tree = await run.tree()
    diff = await tree.diff(run.base, run.head)
    return {"number": earlier.number, "diff": run.fence(diff, limit=DIFF_LIMIT)}
