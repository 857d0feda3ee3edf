"""Stage implement: make the changes that reviewers asked for, in a fresh session."""

from __future__ import annotations

from collections.abc import Sequence

from agents.loop import Capability, Conversation, prompt_path
from agents.pipelines.address.work import FeedbackWork
from agents.pipelines.stages.implement import StepDone, StepResult
from agents.pipelines.stages.known_facts import KnownFacts, describe_facts
from agents.pipelines.stages.onboarding import describe_ground, find_paths, read_instructions
from agents.pipelines.stages.quality import Baseline, CheckResult, format_output
from agents.ports import SetupResult
from agents.run import StageContext, stage

SUBJECT = "Address the review"

IMPLEMENT = Conversation(
    name="implement",
    prompt=prompt_path(__file__, "implement.md"),
    output=StepDone,
    capability=Capability.CHANGE,
    max_turns=80,
)


@stage
async def implement(
    run: StageContext,
    work: FeedbackWork,
    setup: SetupResult,
    failing: Sequence[CheckResult] = (),
    baseline: Baseline | None = None,
) -> StepResult:
    """Make the changes.

    `failing`: checks that the applied suggestions broke, where nothing else is to be done.
    """
    analysis, applied = work.analysis, work.applied
    wanted = analysis.actionable
    items = [
        {**await point.to_prompt(run, len(wanted)), "change": analysis.changes[point.key]}
        for point in wanted
    ]
    done = await run.converse(
        IMPLEMENT,
        setup=await describe_ground(run, setup),
        facts=await describe_facts(run, KnownFacts(baseline=baseline)) if baseline else "",
        instructions=await read_instructions(run, _list_touched(work)),
        applied=bool(applied.settled or applied.partly),
        failing=[
            {"name": e.name, "command": e.command, "output": run.fence(format_output(e))}
            for e in failing
        ],
        items=items,
    )
    commit = await run.commit(SUBJECT, done.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return StepResult(title=SUBJECT, **done.model_dump(), commit=commit)


def _list_touched(work: FeedbackWork) -> list[str]:
    """Return the files that the changes are about, as far as reviewers and analysis name them."""
    wanted = work.analysis.actionable
    places = [point.place.rpartition(":")[0] for point in wanted]
    named = [find_paths(work.analysis.changes[point.key]) for point in wanted]
    return [*filter(None, places), *(path for paths in named for path in paths)]
