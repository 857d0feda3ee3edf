"""Stage craft_pr: write title and body of the pull request, or of a draft."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from agents.errors import WORDLESS
from agents.loop import Capability, Conversation, Submission, prompt_path
from agents.pipelines.resolve.pull_request.checked_facts import list_facts
from agents.pipelines.resolve.work import MeasuredChange, ResolveWork
from agents.pipelines.stages.docs_review import whole_change
from agents.pipelines.stages.pull_template import read_template
from agents.pipelines.stages.quality import format_output
from agents.run import StageContext, stage
from agents.text import one_line

_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST = 50


def _kebab(value: str) -> str:
    if len(value) > LONGEST or not _KEBAB.fullmatch(value):
        raise ValueError("must be a few lower-case words joined by single hyphens")
    return value


BranchWords = Annotated[str, AfterValidator(_kebab)]


class PullRequestText(Submission, tool="submit_pull_request"):
    """Deliver the words of the pull request."""

    branch: BranchWords
    title: str = Field(min_length=8, max_length=90)
    why: str = Field(min_length=20)
    """The cause, and why this is the cure."""
    rejected: str
    notes: str
    template: str = ""
    """The repository's template, filled in. Empty if there is none."""


CRAFT_PR = Conversation(
    name="craft_pr",
    prompt=prompt_path(__file__, "craft_pr.md"),
    output=PullRequestText,
    capability=Capability.READ_ONLY,
    resumes="implement",
    tier="fast",
    effort="low",
)
CRAFT_DRAFT_PR = Conversation(
    name="craft_draft_pr",
    prompt=prompt_path(__file__, "craft_draft_pr.md"),
    output=PullRequestText,
    capability=Capability.READ_ONLY,
    resumes="implement",
    tier="fast",
    effort="low",
)


@stage
async def craft_pr(
    run: StageContext, checked: MeasuredChange, work: ResolveWork
) -> PullRequestText:
    """Write the pull request."""
    step = work.words
    unchanged = step is not None and step.commit == checked.quality.commit
    if step is not None and unchanged:  # its words say all
        run.summarize(step.title)
        return PullRequestText(
            **_name(step.title),
            why=step.summary.ljust(20),
            rejected=step.rejected,
            notes=step.notes,
        )
    return await _write_text(run, CRAFT_PR, checked, work, {})


@stage
async def craft_draft_pr(
    run: StageContext, checked: MeasuredChange, work: ResolveWork
) -> PullRequestText:
    """Write the draft pull request."""
    failing = "\n\n".join(
        f"`{check.command}` ended with exit code {check.exit_code}:\n\n{format_output(check)}"
        for check in checked.quality.failing
    )
    loosened = "" if checked.inspection.accepted else checked.inspection.section
    proof = checked.proof
    tests = format_output(proof.head) if proof.head and proof.failing else ""
    wrong = {
        "Checks that still fail": failing,
        "What the tests of the change write, which fail with it": tests,
        "Why no test shows the bug": proof.why if proof.missing else "",
        "What could not be told": "\n".join(checked.quality.untold),
        "What the evaluation still finds wrong": "\n".join(work.flaws),
        "Sub-issues that are not done, as their engineers or judges say": "\n\n".join(work.undone),
        "What was loosened, and nobody has approved": loosened,
    }
    fenced = {title: run.fence(text) for title, text in wrong.items() if text}
    return await _write_text(run, CRAFT_DRAFT_PR, checked, work, fenced)


async def _write_text(
    run: StageContext,
    conversation: Conversation[PullRequestText],
    checked: MeasuredChange,
    work: ResolveWork,
    wrong: Mapping[str, str],
) -> PullRequestText:
    commits = await run.ports.source.commits(run.base, run.head)
    template = await read_template(run)
    try:
        text = await run.converse(
            conversation,
            checks=checked.quality.compared,
            made=run.fence("\n\n".join(each.report for each in work.all_made)),
            commits=run.fence("\n".join(f"- {subject}" for _, subject in commits)),
            diff=await whole_change(run),
            wrong=wrong,
            template=run.fence(template) if template else "",
            records=list_facts(work.finding.kind, checked),
        )
    except WORDLESS as error:  # the change is made and checked: its engineers said what it does
        text = _words_of_engineers(run.request.title, work, str(error))
    run.summarize(text.title)
    return text


def _name(title: str) -> dict[str, str]:
    """Return title and branch of a change that is called so."""
    title = one_line(title, 90)
    title = title if len(title) >= 8 else f"Resolve: {title}"
    words = re.findall(r"[a-z0-9]+", title.lower())[:5]
    return {"title": title, "branch": "-".join(words)[:LONGEST].strip("-") or "change"}


def _words_of_engineers(wish: str, work: ResolveWork, reason: str) -> PullRequestText:
    titles = [each.title for each in work.all_made if each.commit] or [wish]
    summaries = [each.summary for each in work.all_made if each.commit and each.summary.strip()]
    return PullRequestText(
        **_name(titles[0]),
        why="\n\n".join(summaries).ljust(20) if summaries else f"It was asked for: {wish:<20}",
        rejected="",
        notes=f"The description was put together from the steps' own words. {reason}",
    )
