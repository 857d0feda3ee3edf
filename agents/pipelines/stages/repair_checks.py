"""Stage quality_fix: mend checks that the change broke, in a commit of its own."""

from __future__ import annotations

from agents.loop import Capability, Conversation, prompt_path
from agents.pipelines.stages.inspect_weakening import FixDone
from agents.pipelines.stages.quality import CheckComparison, CheckResult, format_output
from agents.run import StageContext, stage

QUALITY_FIX = Conversation(
    name="quality_fix",
    prompt=prompt_path(__file__, "quality_fix.md"),
    output=FixDone,
    capability=Capability.CHANGE,
    resumes="implement",
)


@stage
async def quality_fix(
    run: StageContext, quality: CheckComparison, tests: CheckResult | None = None
) -> FixDone:
    """Mend the failing checks.

    `tests`: those of the change alone, where they fail with it.
    """
    checks = [
        {
            "name": check.name,
            "command": check.command,
            "exit_code": check.exit_code,
            "red_before": quality.red_before(check),
            "output": run.fence(format_output(check)),
        }
        for check in (*quality.failing, *((tests,) if tests else ()))
    ]
    fixed = await run.converse(QUALITY_FIX, checks=checks)
    commit = await run.commit("Fix failing checks", fixed.summary)
    run.summarize(f"changed: {commit[:10]}" if commit else "nothing changed")
    return fixed
