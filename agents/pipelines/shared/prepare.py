"""Step 6: prepare: fetch the repository and fix the commit that the whole run stands on."""

from __future__ import annotations

from agents.run import Run, stage


@stage
async def prepare(run: Run) -> str:
    """Fetch the default branch."""
    run.base = run.head = await run.ports.source.fetch()
    policy = await run.policy()  # an unreadable one ends the run before it costs anything
    if run.ports.toolsets is not None:
        run.learned = await run.ports.toolsets.learn(policy)
    run.summary = f"at {run.base[:10]}"
    return run.base
