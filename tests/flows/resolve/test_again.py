"""An issue that was worked on before: its open pull request is brought up to date, once."""

from __future__ import annotations

import asyncio

from tests.flows.conftest import CHECKED
from tests.flows.scripted import SHORT, evaluation, plan, step, triage, usual

MORE = usual(
    triage("action_direct", kind="feature"),
    plan("Say what it does"),
    step({"edit": {"path": "calc.py", "old": "return a + b", "new": "return a + b  # the sum"}}),
    evaluation("pass"),
)


async def test_an_issue_is_worked_on_again_when_it_is_asked_for_and_not_otherwise(make_place):
    async with make_place(CHECKED) as place:
        await one_delivery_is_one_run(place)
        [pull] = place.pulls()
        first, branch = pull.head_sha, pull.head
        place.model.play(MORE)
        await place.label()
        await place.all_done(2)

        assert place.pulls() == [pull]
        assert await place.branches() == [branch]
        assert pull.head_sha != first
        assert "# the sum" in await place.show(branch, "calc.py")
        subjects = [message.splitlines()[0] for _, message in await place.commits(pull)]
        assert subjects[-1] == "Say what it does"
        assert len(subjects) == 2
        assert f"pull request #{pull.issue.number} for this issue" in await place.read_prompts(
            "triage/1"
        )

        place.model.play(SHORT)
        await place.github.close_issue(place.repository, pull.issue.number, place.people["mara"])
        await place.label_again("mara")
        await place.all_done(3)

        [_, opened] = place.pulls()
        assert opened.head != pull.head
        assert pull.issue.state == "closed"
        assert "Resolves #1" in opened.issue.body


async def one_delivery_is_one_run(place):
    """Deliver a label several times at once, and once more when it is off and all is done."""
    [delivery] = await place.label()
    again = await asyncio.gather(*(place.redeliver(delivery) for _ in range(3)))
    assert all(each.ok for each in again)
    await place.ends("pull_request")
    mara = place.people["mara"]
    await place.github.unlabel_issue(place.repository, 1, "bot:resolve", mara)
    assert (await place.redeliver(delivery)).ok

    assert len(await place.runs()) == 1
    assert len(place.pulls()) == 1
    assert len([body for body in place.comments() if "key=progress" in body]) == 1
