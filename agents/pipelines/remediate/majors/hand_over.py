"""Stage hand_over: leave a move to another major version, with which checks fail, to people."""

from __future__ import annotations

import asyncio

from agents.analysis.check_failures.causes import find_places
from agents.pipelines.remediate.fix import restore_base
from agents.pipelines.remediate.verify import by_code
from agents.pipelines.remediate.work import Work
from agents.run import StageContext, stage
from agents.text import one_line

PLACES = 6  # that people are shown


@stage
async def hand_over(run: StageContext, work: Work) -> Work:
    """Leave to people what the code has to follow."""
    verdict = by_code(work)
    if verdict is not None and verdict.of_checks:
        run.summarize(one_line(f"for people to go on with: {verdict.issues[0].description}", 120))
        places = await _find_places(run, work)
        seen = {"verdict": verdict, "places": places, "handed_over": True}
        return work.model_copy(update=seen)
    restore_base(run)
    run.summarize("measured again, it is not for people to go on with")
    return work.model_copy(update={"verdict": verdict, "bump": None})


async def _find_places(run: StageContext, work: Work) -> tuple[str, ...]:
    """Return where in the repository's files the checks fail, as far as they say it."""
    paths = frozenset(await run.ports.source.files(run.base))
    wrote = "\n".join(each.output for each in work.quality.failing) if work.quality else ""
    return (await asyncio.to_thread(find_places, wrote, paths))[:PLACES]
