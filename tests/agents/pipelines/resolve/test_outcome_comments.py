"""Work that came to no change: the issue learns what was tried, and what would help."""

from __future__ import annotations

import json

from agents.pipelines.resolve.outcome_comments import INFEASIBLE_COMMENT, infeasible_comment
from agents.pipelines.stages.implement import IMPLEMENT, StepResult
from agents.ports import Turn

MADE = StepResult(title="Add right", summary="It adds right.", tried="ran it: 2", commit=None)


async def write_comment(make_world, request_, answer):
    world = make_world({"lib.py": ""}, [[answer]])
    await world.journal.append(
        "implement/2", 0, Turn("prompt", "implement/2", [{"type": "text", "text": "Look."}])
    )
    run = world.run(request_)
    run.context.conversations = (IMPLEMENT, INFEASIBLE_COMMENT)
    run.context.update_state(
        trunk=world.base,
        base=world.base,
        start=world.base,
        head=world.base,
        sessions={"implement": "implement/2"},
    )
    return world, await run.stage(infeasible_comment, [MADE])


async def test_the_issue_learns_why_from_the_session_that_tried(make_world, request_, talk):
    answer = talk.use(
        "submit_infeasible",
        obstacle="It works already: add(1, 1) gives 2.",
        tried="python -c, on 3.11 and 3.13.",
        needed="An input for which the sum is wrong.",
    )

    world, outcome = await write_comment(make_world, request_, answer)

    said = world.publisher.comments["infeasible"]
    assert "It works already: add(1, 1) gives 2." in said
    assert "**What I tried:**\n\npython -c, on 3.11 and 3.13." in said
    assert "**What would help:**\n\nAn input for which the sum is wrong." in said
    assert (outcome.kind, outcome.url) == ("comment", "url/infeasible")
    assert not world.publisher.pushed
    messages = json.loads(world.model.asked[0]["messages"])
    assert len(messages) == 2, "the session that tried, and this prompt"
    assert "It adds right." in messages[1]["content"][0]["text"]
    assert "<untrusted-" in messages[1]["content"][0]["text"]


async def test_what_the_model_writes_sets_nothing_off(make_world, request_, talk):
    answer = talk.use(
        "submit_infeasible",
        obstacle="```\nno end, and @octocat was here",
        tried="/bot cancel and more",
        needed="closes #7 <script>x</script>",
    )

    world, _ = await write_comment(make_world, request_, answer)

    said = world.publisher.comments["infeasible"]
    assert "```\n\n**What I tried:**" in said
    assert "\n/bot cancel" not in said
    assert "closes #7" not in said
    assert "<script" not in said
