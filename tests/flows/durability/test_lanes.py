"""Lanes: issues of one repository are worked on side by side, one issue by one run at a time."""

import asyncio

from app.simulator.github.gitdir import GitDir
from tests.flows.conftest import PATIENCE
from tests.flows.keeping import ONE_LOOP
from tests.flows.scripted import CURE, SHORT_PARTS, plan, step, usual

pytestmark = ONE_LOOP

NOTE = {"write": {"path": "NOTES.md", "content": "It adds.\n"}}
TWO_STEPS = usual(
    SHORT_PARTS[0],
    plan("Add without one too many", "Note the sum"),
    step(CURE, number=1, count=2),
    step(NOTE, number=2, count=2),
)


async def test_two_issues_of_one_repository_are_resolved_at_the_same_time(share_place):
    async with share_place(script=TWO_STEPS) as place:
        other = await place.file("Sums are off", "`calc.add(2, 2)` gives 5.")
        met = asyncio.Event()

        async def meet(asked):
            if asked.number == 1:  # its run cannot go on, so the next question is another run's
                async with asyncio.timeout(PATIENCE):
                    await met.wait()
            met.set()

        place.model.on_request(meet)
        await asyncio.gather(place.label(), place.label(issue=other))
        done = await place.all_done(2)

        assert sorted(run.number for run in done) == [1, other.number]
        assert max(run[3] for run in done) < min(run[4] for run in done), "they did not overlap"
        pulls = place.pulls()
        assert len({pull.head for pull in pulls}) == len(pulls) == 2
        closed = {n for p in pulls for n in (1, other.number) if f"Resolves #{n}\n" in p.issue.body}
        assert closed == {1, other.number}
        for pull in pulls:
            commits = await place.commits(pull)
            titles = [message.splitlines()[0] for _, message in commits]
            assert titles == ["Step 1/2: Add without one too many", "Step 2/2: Note the sum"]
            git = GitDir(place.repository.gitdir)
            assert b"return a + b\n" in await git.run("show", f"{pull.head_sha}:calc.py")
        for issue in (place.issue, other):
            assert ["**Done.**" in comment.body for comment in issue.comments] == [True]


async def test_two_labels_on_one_issue_never_run_at_the_same_time(share_place):
    """Whoever may write and puts the label on again ends the run before."""
    async with share_place() as place:
        place.github.set_role(place.repository, place.people["eve"], "write")
        asked, early = [], []

        async def hold(question):
            asked.append(question.number)
            if question.number == 1:
                async with asyncio.timeout(PATIENCE):
                    while len(await place.runs()) < 2:
                        await asyncio.sleep(0.05)
                early.extend(asked)

        place.model.on_request(hold)
        await place.label()
        await place.wait_until(lambda: asked)
        await place.label_again(by="eve")
        first, second = await place.all_over("cancelled", "done")

        assert {first.number, second.number} == {1}
        assert first[4] <= second[3], "the second began before the first had ended"
        assert early == [1]
        assert len(place.pulls()) == 1
        ended = (
            "`eve` put the label on again, and another run does the work",
            "`eve` took the",  # where that is looked at before the label is back
        )
        assert any(each in place.comments()[0] for each in ended)
