"""Stage held_up: tell the issue that none of its sub-issues can be worked on."""

from __future__ import annotations

from agents.pipelines.resolve.sub_issues.order import Order
from agents.run import Outcome, Run, stage

_COMMENT = """### None of the sub-issues can be worked on now

{lines}

_Nothing was changed. Close or unlink what stands in the way, then write `/bot retry`. Sub-issues
are this issue's division, so I do not work on it as a whole while they are open._"""


@stage
async def held_up(run: Run, order: Order) -> Outcome:
    """Say what stands in the way."""
    lines = [
        f"- #{each.number} waits for {', '.join(f'#{number}' for number in each.on)}"
        for each in order.waiting
    ]
    lines += [
        f"- {', '.join(f'#{number}' for number in ring)} wait for each other"
        for ring in order.cycles
    ]
    lines += [f"- {part.reference} is in another repository" for part in order.elsewhere]
    url = await run.ports.publisher.comment("held-up", _COMMENT.format(lines="\n".join(lines)))
    run.summary = "held up"
    return Outcome(kind="comment", text="None of the sub-issues can be worked on now.", url=url)
