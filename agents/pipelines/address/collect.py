"""Stage collect: read everything that reviewers ask for, once they have stopped sending."""

from __future__ import annotations

from agents.errors import NotYet
from agents.pipelines.stages.checkout_pull_request import reviewing_port
from agents.ports import Batch, Feedback
from agents.run import StageContext, stage

MOST_LOOKS = 40
"""Times that a batch is put off because another review came in; then it begins."""


MOST_THREADS = 200
"""That one batch answers. What there is to read and to write about more fits into no prompt."""


@stage
async def collect(run: StageContext) -> Feedback:
    """Read the reviews."""
    terms = (await run.policy()).address
    feedback = await reviewing_port(run).feedback(outsiders=terms.outsiders)
    pause = _to_wait(run, feedback, terms.quiet_seconds)
    if pause and run.waits < MOST_LOOKS:
        raise NotYet("reviewers to send what else they have", pause)
    feedback = _limit_threads(feedback)
    await _begin(run, feedback)
    if feedback.from_outsiders:  # strangers have a say in what the model reads
        run.update_state(tainted=True)
    run.summarize(_summary(feedback))
    return feedback


async def _begin(run: StageContext, feedback: Feedback) -> None:
    """Note which reviews the run is about: should it fail, each of them would begin it again.

    What they say is not dealt with by that: whoever asks, or reviews, once more has it read anew.
    """
    batch = Batch(kind="reviews", head=run.start, reviews=feedback.covered, kept_back=True)
    await reviewing_port(run).dealt_with(batch)


def _limit_threads(feedback: Feedback) -> Feedback:
    """Leave out the threads that are too many for one batch: they wait for the next."""
    beyond = {thread.id for thread in feedback.waiting[MOST_THREADS:]}
    threads = tuple(thread for thread in feedback.threads if thread.id not in beyond)
    left_out = feedback.left_out + len(beyond)
    return feedback.model_copy(update={"threads": threads, "left_out": left_out})


def _to_wait(run: StageContext, feedback: Feedback, quiet: float) -> float:
    """Return the seconds until nobody has submitted anything for so long; 0 when that is now."""
    if feedback.newest_at is None:
        return 0
    since = run.wall() - feedback.newest_at.timestamp()
    return max(0.0, quiet - max(0.0, since))  # GitHub's clock may be ahead of ours


def _summary(feedback: Feedback) -> str:
    counts = (
        (len(feedback.waiting), "thread"),
        (len(feedback.reviews), "review text"),
        (len(feedback.remarks), "comment"),
    )
    said = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts if n)
    outsiders = feedback.by_outsiders
    beside = f" ({outsiders} by people without write access)" if outsiders else ""
    return f"{said or 'nothing waits for an answer'}{beside}"
