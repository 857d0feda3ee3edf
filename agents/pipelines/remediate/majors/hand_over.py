"""Stage hand_over: leave a move to another major version, with which checks fail, to people."""

from __future__ import annotations

from agents.pipelines.remediate.fix import restore_base
from agents.pipelines.remediate.verify import by_code
from agents.pipelines.remediate.work import Work
from agents.run import StageContext, stage
from agents.text import one_line


@stage
async def hand_over(run: StageContext, work: Work) -> Work:
    """Leave to people what the code has to follow."""
    verdict = by_code(work)
    if verdict is not None and verdict.of_checks:
        run.summarize(one_line(f"for people to go on with: {verdict.issues[0].description}", 120))
        return work.model_copy(update={"verdict": verdict, "handed_over": True})
    restore_base(run)
    run.summarize("measured again, it is not for people to go on with")
    return work.model_copy(update={"verdict": verdict, "bump": None})
