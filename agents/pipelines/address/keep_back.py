"""Stage keep_back: put a change that must not be pushed on a branch of its own, and say why."""

from __future__ import annotations

from agents.pipelines.address.answer_threads import post_summary, remember
from agents.pipelines.address.answers import answer
from agents.pipelines.address.ledger import Ledger
from agents.pipelines.address.wording.wording import load_english
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.push_update import PushResult
from agents.pipelines.stages.save_unfinished import keep_on_own_branch
from agents.run import Outcome, StageContext, stage

_NOT_TRIED = PushResult()


@stage
async def keep_back(
    run: StageContext, work: FeedbackWork, landing: PushResult = _NOT_TRIED
) -> Outcome:
    """Keep the changes back."""
    run.lets_out()
    work = work.with_landing(landing)
    assert work.verified is not None, "what was changed is checked before it is let out"
    kept = await keep_on_own_branch(run, then="write `/bot address`")
    reason = f"{work.verified.why_not(landing)} {kept}"
    why = load_english().not_pushed.format(why=reason)
    shown = {"verdict": "kept_back", **({"commit": ""} if run.foreign else {})}
    notes = {
        each.about: work.wording_of(each.about).not_pushed.format(why=reason)
        for each in work.ledger_after(landing).entries
        if each.verdict in ("fixed", "changed")
    }
    entries = [
        each.model_copy(update={**shown, "note": note}) if (note := notes.get(each.about)) else each
        for each in work.ledger_after(landing).entries
    ]
    ledger = await answer(run, work, Ledger(entries=tuple(entries)))
    told = tuple(  # in each thread; here it stands once, below the table
        each.model_copy(update={"note": ""}) if each.note == notes.get(each.about) else each
        for each in ledger.entries
    )
    comment = await post_summary(run, work, Ledger(entries=told), [why])
    await remember(run, work, pushed="", kept_back=True)
    run.summarize("not pushed")
    return Outcome(kind="failed", text=why, url=comment)
