"""Stage no_action_comment: answer questions where nothing is to be changed.

No model writes it: the answers stand in the analysis.
"""

from __future__ import annotations

from agents.pipelines.address.answer_threads import post_summary, remember
from agents.pipelines.address.answers import answer
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import Batch, Feedback
from agents.requests import AddressReview
from agents.run import Outcome, StageContext, stage

_NOTHING = (
    "Nothing waits for an answer: every thread is resolved, or was answered before and nobody has"
    " said anything since."
)
_UNREAD = (
    " What {count} people or bots without write access said is not read; somebody with write access"
    " can say the same, or the policy can allow it (`address.outsiders`)."
)


@stage
async def no_action_comment(run: StageContext, work: FeedbackWork) -> Outcome:
    """Answer without a change."""
    run.lets_out()
    ledger = await answer(run, work, work.ledger)
    url = await post_summary(run, work, ledger)
    await remember(run, work, pushed="")
    run.summarize(ledger.counts(work.feedback))
    return Outcome(
        kind="comment", text=f"Nothing had to be changed: {ledger.counts(work.feedback)}", url=url
    )


@stage
async def nothing_new(run: StageContext, request: AddressReview, feedback: Feedback) -> Outcome:
    """End without a word to say."""
    batch = Batch(
        kind="reviews",
        head=run.start,
        reviews=feedback.covered,
        newest_remark=feedback.newest_remark,
    )
    await reviewing_port(run).dealt_with(batch)
    outsiders = feedback.by_outsiders
    text = _NOTHING + (_UNREAD.format(count=outsiders) if outsiders else "")
    if request.via == "review":  # an earlier run has answered it with the batch that it was part of
        return Outcome(kind="covered", text=text)
    url = await run.ports.publisher.comment("nothing-new", text)
    return Outcome(kind="comment", text=text, url=url)
