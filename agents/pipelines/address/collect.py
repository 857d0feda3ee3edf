"""Step 6: collect: read all that reviewers ask for, once they are done with sending."""

from __future__ import annotations

import asyncio

from agents.pipelines.shared.check_out import reviewing
from agents.ports import Feedback
from agents.run import Run, stage

MOST_LOOKS = 40
"""Times that a batch is put off because another review came in; then it begins."""


@stage
async def collect(run: Run) -> Feedback:
    """Read the reviews."""
    terms = (await run.policy()).address
    feedback = await reviewing(run).feedback(outsiders=terms.outsiders)
    for _ in range(MOST_LOOKS):
        pause = _to_wait(run, feedback, terms.quiet_seconds)
        if not pause:
            break
        await asyncio.sleep(pause)
        feedback = await reviewing(run).feedback(outsiders=terms.outsiders)
    if feedback.from_outsiders:  # strangers have a say in what the model reads
        run.stands(tainted=True)
    run.summary = _summary(feedback)
    return feedback


def _to_wait(run: Run, feedback: Feedback, quiet: float) -> float:
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
