"""Stage suggest_changes: post the changes as suggestions where the branch cannot be pushed."""

from __future__ import annotations

import asyncio

from agents.pipelines.address.answer_threads import post_summary, remember, summarize_checks
from agents.pipelines.address.answers import answer
from agents.pipelines.address.ledger import Ledger
from agents.pipelines.address.suggestions.fork import diff_to_suggestions, format_body
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import reviewing_port
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
    text = format_body(
        work.pull,
        made,
        rest,
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
