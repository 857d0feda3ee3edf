"""Stage suggest_changes: post the changes as suggestions where the branch cannot be pushed."""

from __future__ import annotations

import asyncio

from agents.pipelines.address.answer_threads import post_summary, remember, summarize_checks
from agents.pipelines.address.answers import answer
from agents.pipelines.address.ledger import Ledger
from agents.pipelines.address.suggestions.fork import diff_to_suggestions, format_body
from agents.pipelines.address.suggestions.suggestion import find_place, stand
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import Suggested
from agents.run import Outcome, StageContext, stage

KEY = "suggestions"

_SUGGESTED = "The changes are [suggestions]({url}), because {why}"


@stage
async def suggest_changes(run: StageContext, work: FeedbackWork) -> Outcome:
    """Suggest the changes."""
    run.lets_out()
    tree = await run.tree()
    diff = await tree.diff(run.start, run.head)
    made, rest = await asyncio.to_thread(diff_to_suggestions, diff)  # seconds, where it is long
    said = [each for each in made if _is_said(each, work)]
    made = tuple(each for each in made if each not in said)
    text = format_body(
        work.pull,
        made,
        rest,
        said=len(said),
        repository_url=run.request.repository_url,
        quality=summarize_checks(work.quality),
    )
    url = await reviewing_port(run).suggest(KEY, text, made)
    entries = [
        each.model_copy(update={"verdict": "suggested", "commit": ""})
        if each.verdict == "fixed"
        else each
        for each in work.ledger.entries
    ]
    ledger = await answer(run, work, Ledger(entries=tuple(entries)))
    note = _SUGGESTED.format(url=url, why=work.pull.why_not)
    await post_summary(run, work, ledger, [note])
    await remember(run, work, pushed="")
    run.summarize(f"{len(made)} suggestions")
    return Outcome(kind="comment", text=f"Suggested {len(made)} changes.", url=url)


def _is_said(change: Suggested, work: FeedbackWork) -> bool:
    """Return whether a reviewer's own suggestion says the same: people can commit that one."""
    new = change.lines.split("\n")[:-1]
    for thread in work.feedback.threads:
        at = find_place(thread)
        if at is None or thread.path != change.path or thread.id not in work.applied.lines:
            continue
        inside = at.start <= change.start and change.end <= at.end
        if inside and stand("\n".join(work.applied.lines[thread.id]), new):
            return True
    return False
