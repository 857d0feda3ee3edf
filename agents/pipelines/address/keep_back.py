"""Step 6: keep_back: what must not be pushed goes to a branch of its own, and people hear why."""

from __future__ import annotations

from agents.pipelines.address.answer_threads import answer, remember, summed_up
from agents.pipelines.address.ledger import Ledger
from agents.pipelines.address.work import Work
from agents.pipelines.shared.keep_work import unfinished_branch
from agents.pipelines.shared.landing import Landing
from agents.run import Outcome, Run, stage

_NOT_TRIED = Landing()
_WORSE = (
    "The changes were made, but not pushed, because afterwards these checks fail that passed"
    " before: {checks}."
)
_LOOSENED = (
    "The changes were made, but not pushed, because they take something away from the repository's"
    " tests or checks, and nobody has agreed to that."
)
_KEPT = "They are kept on [`{branch}`]({url}): go on from there, or write `/bot address`."
_FOREIGN = "They are not kept: what builds on a fork's commits is never pushed to this repository."


@stage
async def keep_back(run: Run, work: Work, landing: Landing = _NOT_TRIED) -> Outcome:
    """Keep the changes back."""
    run.lets_out()
    why = landing.why_not or _why(work, landing)
    kept, url = _FOREIGN, ""
    if not run.foreign:
        branch = unfinished_branch(run)
        url = await run.ports.publisher.push(branch, run.head)
        kept = _KEPT.format(branch=branch, url=url)
    entries = [
        each.model_copy(update={"verdict": "kept_back"}) if each.verdict == "fixed" else each
        for each in work.ledger.entries
    ]
    ledger = await answer(run, work, Ledger(entries=tuple(entries)))
    quality = landing.quality or work.quality
    comment = await summed_up(run, work, ledger, quality, [f"{why} {kept}"])
    await remember(run, work, pushed="", kept_back=True)
    run.summary = "not pushed"
    return Outcome(kind="failed", text=f"{why} {kept}", url=comment)


def _why(work: Work, landing: Landing) -> str:
    quality = landing.quality or work.quality
    if quality is not None and not quality.passed:
        checks = ", ".join(f"`{each.name}`" for each in quality.failing)
        return _WORSE.format(checks=checks)
    return _LOOSENED
