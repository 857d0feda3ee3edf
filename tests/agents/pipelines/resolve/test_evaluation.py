"""What the judge finds is mended once, becomes a draft, or is asked of people."""

from tests.agents.pipelines.resolve.conftest import messages_of


async def test_what_the_judge_finds_is_mended_once_and_judged_anew(make, acts, request_, talk):
    flaw = {"where": "lib.py: add", "what": "It forgets negative numbers."}
    world = make(
        [
            *(acts.triage(), acts.plan(), acts.change(), acts.step(), acts.docs()),
            acts.verdict("revise", flaws=[flaw]),
            acts.change(content="BETTER"),
            [talk.use("submit_revision", summary="Negative numbers, too.")],
            acts.verdict(),
            acts.text(),
        ]
    )

    outcome = await world.resolve(request_)

    assert world.history.files(outcome.pull_request.head)["lib.py"] == "BETTER"
    assert not outcome.pull_request.draft
    assert "It forgets negative numbers." in messages_of(world, 6)
    stages = {s: {t.stage for t, _ in turns} for s, turns in world.journal.sessions.items()}
    assert stages["evaluation/2"] == {"evaluation/2"}, "the second look needs fresh eyes, too"
    assert "revise/1" in stages["implement/1"]


async def test_what_is_still_wrong_then_becomes_a_draft(make, acts, request_, talk):
    flaw = {"where": "lib.py: add", "what": "It forgets negative numbers."}
    world = make(
        [
            *(acts.triage(), acts.plan(), acts.change(), acts.step(), acts.docs()),
            acts.verdict("revise", flaws=[flaw]),
            [talk.use("submit_revision", summary="I do not think so.")],
            acts.verdict("revise", flaws=[flaw]),
            acts.text(),
        ]
    )

    outcome = await world.resolve(request_)

    assert outcome.pull_request.draft
    assert "It forgets negative numbers." in outcome.pull_request.body


async def test_what_only_people_can_say_ends_in_a_comment_and_a_branch(make, acts, request_, talk):
    comment = "Is a negative number an error, or is it allowed?"
    world = make(
        [
            *(acts.triage(), acts.plan(), acts.change(), acts.step(), acts.docs()),
            acts.verdict("needs_context", missing="Whether negative numbers count."),
            [talk.use("submit_eval_comment", comment=comment)],
        ]
    )

    outcome = await world.resolve(request_)

    assert outcome.kind == "comment"
    assert not world.publisher.pulls
    [branch] = world.publisher.pushed
    assert branch.startswith("bot/7-unfinished-")
    assert comment in world.publisher.comments["evaluation"]
    assert branch in world.publisher.comments["evaluation"]


async def test_a_judge_cannot_leave_a_criterion_out(make, acts, request_):
    criteria = ["It adds.", "It is quick."]
    met = [{"number": n, "met": True, "commit": 1, "test": ""} for n in (1, 2)]
    world = make(
        [
            *(acts.triage(criteria=criteria), acts.plan(), acts.change(), acts.step(), acts.docs()),
            acts.verdict(criteria=met[:1]),
            acts.verdict(criteria=[met[0], {**met[1], "commit": 2}]),
            acts.verdict(criteria=[met[0], {**met[1], "met": False}]),
            acts.verdict(criteria=met),
            acts.text(),
        ]
    )

    outcome = await world.resolve(request_)

    assert "each of the 2 criteria exactly once" in messages_of(world, 6)
    assert "There are 1 commits" in messages_of(world, 7)
    assert "does not meet all criteria cannot pass" in messages_of(world, 8)
    commit = outcome.pull_request.head[:10]
    assert f"| It is quick. | {commit} | none |" in outcome.pull_request.body
