"""Stage analyze_feedback: sort reviewers' points into changes to make and questions to answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.address.points import FeedbackPoint, list_points
from agents.pipelines.address.suggestions.apply_suggestions import Applied
from agents.pipelines.stages.implement import ChangeGoal
from agents.pipelines.stages.onboarding import describe_ground, read_instructions
from agents.ports import Feedback, PullSnapshot, SetupResult
from agents.requests import Frozen
from agents.run import StageContext, stage
from agents.text import clean_in_child

BODY_LIMIT = 8_000  # characters of the pull request's description
DIFF_LIMIT = 40_000  # and of its changes

PointKind = Literal["applied", "question", "discussion", "style", "disagree"]


class ActionItem(BaseModel):
    """Something to change."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    about: str
    """The key of what was said, like `t3`."""
    change: str = Field(min_length=10)
    """What has to change where, for an engineer who reads the reviewer's words as well."""
    language: str = ""
    """What they wrote it in, like `de`."""


class OutOfScope(BaseModel):
    """Something that no change answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    about: str
    """The key of what was said, like `t3`."""
    kind: PointKind
    """Why nothing is changed for it, as the stage describes."""
    reply: str = Field(min_length=10)
    """The answer to whoever said it, posted where they said it."""
    language: str = ""
    """What they wrote it in, like `de`."""


class FeedbackAnalysis(Submission, tool="submit_analysis"):
    """Deliver the sorting: every key once, under one of the two."""

    action_items: tuple[ActionItem, ...]
    """What the engineer changes next."""
    out_of_scope: tuple[OutOfScope, ...]
    """What is answered without a change."""


_BROKEN = (
    "Their suggestions were applied as they are, and checks of the repository failed then. Nothing"
    " but that was to be mended."
)


class Analysis(Frozen):
    """What reviewers said, sorted."""

    points: tuple[FeedbackPoint, ...] = ()
    """All that was to be sorted, in reading order."""
    changes: Mapping[str, str] = {}
    """What to change, by the key of the point."""
    answers: Mapping[str, tuple[PointKind, str]] = {}
    """Kind and answer, by the key of the point."""
    languages: Mapping[str, str] = {}
    """What each point is written in, by its key, as the model says; older versions did not ask."""
    judged: bool = False
    """Fresh eyes look at the changes; runs that an older version began go on without."""
    measured_first: bool = False
    """The checks are measured before the changes are made; older versions did it afterwards."""

    @property
    def actionable(self) -> tuple[FeedbackPoint, ...]:
        """Return the points that ask for a change."""
        return tuple(point for point in self.points if point.key in self.changes)

    def language_of(self, about: str) -> str:
        """Return what was written there, like `de`, as the model says; empty where it did not."""
        key = next((point.key for point in self.points if point.about == about), "")
        return self.languages.get(key, "")

    def aim(self, since: str, reference: str) -> ChangeGoal:
        """Return what the changes after the commit `since` are to do, for whoever judges them."""
        wanted = self.actionable
        said = "\n\n".join(f"{each.author}, {each.place}:\n{each.words}" for each in wanted)
        asked = "\n".join(f"- {self.changes[each.key]}" for each in wanted)
        return ChangeGoal(
            source=f"What reviewers of the pull request {reference} ask for",
            wish=said or _BROKEN,
            detail=asked or "Nothing.",
            since=since,
        )


ANALYZE_FEEDBACK = Conversation(
    name="analyze_feedback",
    prompt=prompt_path(__file__, "analyze_feedback.md"),
    output=FeedbackAnalysis,
    capability=Capability.READ_ONLY,
    tier="fast",
)


@stage
async def analyze_feedback(
    run: StageContext, pull: PullSnapshot, feedback: Feedback, applied: Applied, setup: SetupResult
) -> Analysis:
    """Sort the feedback."""
    left = list_points(feedback, applied)
    if not left:
        run.summarize("every thread was a suggestion that code could deal with")
        return Analysis(judged=True, measured_first=True)
    sorted_ = await run.converse(
        ANALYZE_FEEDBACK,
        objection=partial(_objection, left, applied),
        setup=await describe_ground(run, setup),
        instructions=await read_instructions(run),
        title=run.fence((await clean_in_child(pull.title)).text),
        body=run.fence((await clean_in_child(pull.body)).text, limit=BODY_LIMIT),
        diff=await _diff(run, pull),
        reference=run.request.reference,
        points=[await point.to_prompt(run, len(left)) for point in left],
    )
    items: tuple[ActionItem | OutOfScope, ...] = (*sorted_.action_items, *sorted_.out_of_scope)
    run.summarize(f"{len(sorted_.action_items)} to change, {len(sorted_.out_of_scope)} to answer")
    return Analysis(
        points=left,
        changes={each.about: each.change for each in sorted_.action_items},
        answers={each.about: (each.kind, each.reply) for each in sorted_.out_of_scope},
        languages={each.about: each.language for each in items},
        judged=True,
        measured_first=True,
    )


def _objection(
    left: Sequence[FeedbackPoint], applied: Applied, submission: FeedbackAnalysis
) -> str | None:
    """Return what is missing, twice, unknown, argued a second time, or not applied at all."""
    named = Counter(item.about for item in submission.action_items)
    named.update(item.about for item in submission.out_of_scope)
    known = {point.key: point for point in left}
    again = [
        each.about
        for each in submission.out_of_scope
        if each.kind in ("disagree", "style") and (point := known.get(each.about)) and point.argued
    ]
    not_applied = [
        each.about
        for each in submission.out_of_scope
        if each.kind == "applied"
        and (point := known.get(each.about))
        and point.about not in applied.partly
    ]
    faults = {
        "Missing": [key for key in known if key not in named],
        "Named more than once": [key for key, times in named.items() if times > 1],
        "Not one of the keys": [key for key in named if key not in known],
        "Disagreed with a second time (change it, or leave it to a person)": again,
        "No suggestion of it was applied": not_applied,
    }
    said = [f"{fault}: {', '.join(keys)}." for fault, keys in faults.items() if keys]
    return f"Every key has to stand in it once. {' '.join(said)}" if said else None


async def _diff(run: StageContext, pull: PullSnapshot) -> str:
    """Return what the pull request changes, against where it left its base branch."""
    source = run.ports.source
    base = await source.branch(pull.base) or run.trunk
    tree = await run.tree()
    diff = await tree.diff(await source.fork_point(base, run.start), run.start)
    return run.fence(diff, limit=DIFF_LIMIT)
