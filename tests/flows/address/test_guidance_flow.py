"""What reviewers say again and again is proposed, to be written down, once and for all."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from app.store.tables import runs
from tests.flows.address.reviewed import make_changes, open_reviewed, script, sort, word_update
from tests.flows.conftest import PATIENCE
from tests.flows.resolve.test_stack_flow import read_subject
from tests.flows.resolve.test_undo_flow import wait_for
from tests.flows.scripted import bash, part

LINE = "Loop over values themselves and not over their numbers."
SCRIPT = script(
    sort(["t1"]),
    make_changes(bash("echo 'N = 1' >> calc.py")),
    word_update(("t1", "fixed", 1)),
    part(
        "# Find what people say again and again",
        {"submit_lessons": {"lessons": [{"line": LINE, "evidence": ["e1", "e3"]}]}},
    ),
)


async def list_kinds(place):
    query = select(runs.c.kind, runs.c.state).order_by(runs.c.created_at)
    return await place.database().read(lambda c: [tuple(row) for row in c.execute(query)])


async def wait_for_guidance(place):
    """Wait until the run that the clock began is over; return the kinds and states of all."""
    async with asyncio.timeout(PATIENCE):
        while True:
            kinds = await list_kinds(place)
            if kinds[-1][0] == "propose_guidance" and kinds[-1][1] not in ("queued", "running"):
                return kinds
            await asyncio.sleep(0.1)


async def test_repeated_remarks_become_one_proposal_and_a_closed_one_stays_closed(make_place):
    async with open_reviewed(make_place, SCRIPT, FETTLE_SWEEP_SECONDS="1") as at:
        place = at.place
        await at.review("ola", "", ("calc.py", 11, "Loop over the prices themselves."))
        await at.all_over()
        await at.review("mara", "", ("calc.py", 17, "Say percent."))
        await at.all_over()
        at.repository.app_branches = "refs/heads/"
        at.listen(reviews=False)
        await at.opens("mara")
        await at.review("ola", "", ("words.py", 8, "Loop over the lines themselves."))
        at.listen()
        killed = []

        async def cut_power(_request):
            if not killed:
                killed.append(await place.server.kill())

        place.github.faults.call_after("POST", "/pulls", cut_power)
        await at.label()
        await place.wait_until(lambda: killed)
        await place.server.start(place.app)
        kinds = await wait_for_guidance(place)

        assert kinds == [*[("address_review", "done")] * 3, ("propose_guidance", "done")]
        assert len(place.pulls()) == 3, "a power cut makes it neither twice nor half"
        proposal = place.pulls()[-1]
        assert proposal.head.startswith("bot/guidance-")
        assert proposal.issue.title == "Write down what people said more than once"
        assert f"- {LINE}" in proposal.issue.body
        assert "`ola` asked: calc.py:11" in proposal.issue.body
        made = await place.show(proposal.head_sha, "AGENTS.md")
        assert made == f"## What reviewers ask for\n\n- {LINE}\n"
        spoken = [each for pull in place.pulls() for each in pull.issue.comments]
        assert not [each.body for each in spoken if "guidance" in each.body]

        subject = await read_subject(place, proposal.head_sha)
        assert subject["name"] == f"octo-org/calc#{proposal.issue.number}"

        await place.say("mara", "/bot undo", issue=proposal.issue)
        told = await wait_for(place, proposal.issue, "what the last run did is taken back")
        assert f"#{proposal.issue.number} is closed" in told
        await asyncio.sleep(3)  # as long as several looks by the clock take
        assert await list_kinds(place) == kinds
