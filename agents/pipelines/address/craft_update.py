"""Stage craft_update: write commit messages, one answer per point, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.address.points import FeedbackPoint
from agents.pipelines.address.work import Crafted, FeedbackWork, PointReply
from agents.run import StageContext, stage
from agents.run.commits import Group, regroup

DIFF_LIMIT = 40_000  # characters of the change that the prompt shows


class UpdateCommit(BaseModel):
    """One commit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    subject: str = Field(min_length=5, max_length=72)
    """What it changes, in the imperative."""
    body: str
    """Why, in two to six lines; empty where the subject says it all."""
    files: tuple[str, ...]
    """The changed files that belong to it, each in one commit only."""


class Update(Submission, tool="submit_update"):
    """Deliver the words under which your changes are let out."""

    commits: tuple[UpdateCommit, ...]
    """In the order in which they are made; none when you changed nothing."""
    replies: tuple[PointReply, ...]
    """One for each point that you were given."""
    summary: str = Field(min_length=10)
    """What reviewers should know besides the answers, in one to four sentences."""


CRAFT_UPDATE = Conversation(
    name="craft_update",
    prompt=prompt_path(__file__, "craft_update.md"),
    output=Update,
    capability=Capability.READ_ONLY,
    resumes="implement",
    tier="fast",
    effort="low",
)


@stage
async def craft_update(run: StageContext, work: FeedbackWork, before: str) -> Crafted:
    """Write the answers.

    `before`: the commit before the engineer's own ones, which are made anew with these words.
    """
    analysis, quality = work.analysis, work.quality
    tree = await run.tree()
    changed = await tree.list_changed_paths(before, run.head)
    diff = await tree.diff(before, run.head)
    update = await run.converse(
        CRAFT_UPDATE,
        objection=partial(_objection, analysis.actionable, changed),
        keys=", ".join(point.key for point in analysis.actionable),
        files=run.fence("\n".join(changed)),
        checks=quality.compared if quality else (),
        diff=run.fence(diff, limit=DIFF_LIMIT) if diff else "",
    )
    commits = await regroup(run, before, _groups(update, changed))
    run.summarize(f"answers: {len(update.replies)}, commits: {len(commits)}")
    return Crafted(commits=commits, replies=update.replies, summary=update.summary)


def _groups(update: Update, changed: Sequence[str]) -> list[Group]:
    """Return the commits with their files; what nobody named belongs to the last one."""
    named = {path for commit in update.commits for path in commit.files}
    rest = tuple(path for path in changed if path not in named)
    groups = [Group(c.subject, c.body, c.files) for c in update.commits]
    if groups and rest:
        last = groups[-1]
        groups[-1] = Group(last.subject, last.body, (*last.files, *rest))
    return groups


def _objection(
    points: Sequence[FeedbackPoint], changed: Sequence[str], update: Update
) -> str | None:
    """Return what does not fit together."""
    faults = [*_about_commits(changed, update), *_about_replies(points, update)]
    return " ".join(faults) if faults else None


def _about_commits(changed: Sequence[str], update: Update) -> list[str]:
    if changed and not update.commits:
        return ["Files were changed: `commits` needs at least one."]
    if update.commits and not changed:
        return ["No file was changed: `commits` has to be empty, and nothing is `fixed`."]
    named = Counter(path for commit in update.commits for path in commit.files)
    unknown = [path for path in named if path not in changed]
    twice = [path for path, times in named.items() if times > 1]
    empty = [f'"{c.subject}"' for c in update.commits if not c.files]
    faults = {
        "Not among the changed files": unknown,
        "In more than one commit": twice,
        "Commits without a file": empty,
    }
    return [f"{fault}: {', '.join(paths)}." for fault, paths in faults.items() if paths]


def _about_replies(points: Sequence[FeedbackPoint], update: Update) -> list[str]:
    named = Counter(reply.about for reply in update.replies)
    known = {point.key: point for point in points}
    unfounded = [
        reply.about
        for reply in update.replies
        if reply.verdict == "fixed" and not 0 < reply.commit <= len(update.commits)
    ]
    again = [
        reply.about
        for reply in update.replies
        if reply.verdict == "disagree" and (point := known.get(reply.about)) and point.argued
    ]
    faults = {
        "Points without a reply": [key for key in known if key not in named],
        "More than one reply": [key for key, times in named.items() if times > 1],
        "Not one of the keys": [key for key in named if key not in known],
        "`fixed` without the number of a commit": unfounded,
        "Disagreed with a second time (leave it to a person: `needs_human`)": again,
    }
    return [f"{fault}: {', '.join(keys)}." for fault, keys in faults.items() if keys]
