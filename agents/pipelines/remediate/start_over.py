"""Stage start_over: reset to the base, and pass what was wrong to the next attempt."""

from __future__ import annotations

from agents.pipelines.remediate.ladder import Refusal
from agents.pipelines.remediate.words import subject
from agents.pipelines.remediate.work import Failed, Work
from agents.run import Run, stage
from agents.text import one_line


@stage
async def start_over(run: Run, work: Work) -> Work:
    """Take the fix back."""
    assert work.verdict is not None, "only what was looked at is taken back"
    back_to_base(run)
    run.summary = one_line(work.verdict.feedback, 120)
    unfit = [each for each in work.verdict.issues if each.category == "install"]
    made = subject(work.found.group, work.bump.moves if work.bump else ())
    kept = work.bump if work.bump and work.bump.by == "ladder" and not unfit else None
    refusal = Refusal(cause="no_rung", reason=unfit[0].description) if unfit else work.refusal
    return Work(
        found=work.found,
        replaces=work.replaces,
        why_not=work.why_not,
        bump=kept,
        refusal=refusal,
        failed=(*work.failed, Failed(made=made, verdict=work.verdict)),
    )


def back_to_base(run: Run) -> None:
    """Stand where the run began, with the dependencies of then."""
    run.stands(start=run.base, head=run.base, foundation="")
    run.let_go()
