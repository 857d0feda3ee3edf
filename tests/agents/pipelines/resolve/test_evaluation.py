"""What the judge finds is mended once, becomes a draft, or is asked of people."""

import json

import pytest

from agents.pipelines.stages.evaluation import EVALUATION, HARD, SHORT, choose_length
from tests.agents.pipelines.resolve.conftest import messages_of


async def test_what_the_judge_finds_is_mended_once_and_judged_anew(make, acts, request_, talk):
    flaw = {"where": "lib.py: add", "what": "It forgets negative numbers."}
    world = make(
        [
            *(acts.triage(), acts.plan(), acts.change(), acts.step(), acts.docs()),
            acts.verdict("revise", flaws=[flaw]),
            acts.change(content="BETTER"),
            [talk.use("submit_fix", summary="Negative numbers, too.")],
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
            [talk.use("submit_fix", summary="I do not think so.")],
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


async def test_the_judge_is_told_what_was_measured_of_the_very_change(make, acts, request_, talk):
    flaw = {"where": "lib.py: add", "what": "It forgets negative numbers."}
    made = (acts.triage(), acts.plan(), acts.change(content="BAD"), acts.step(), acts.docs())
    better = [acts.change(content="BETTER"), [talk.use("submit_fix", summary="Too.")]]
    fixes = [[talk.use("submit_fix", summary=f"No idea, {n}.")] for n in range(3)]
    judged = [acts.verdict("revise", flaws=[flaw]), *better, acts.verdict()]
    world = make([*made, *fixes, *judged, acts.text()], commands={"check": run_check})

    outcome = await world.resolve(request_)

    first, second = (messages_of(world, n) for n in (8, 11))
    assert "check passed before the change and failed (exit code 1) with it: worse" in first
    assert "1 failed, 1 passed" in first
    assert "check passed before the change and passed with it: no worse" in second
    assert not outcome.pull_request.draft
    assert [name for name in world.steps.names if "check_quality" in name] == [
        f"stage/check_quality/{n}" for n in range(1, 6)
    ]


def run_check(files):
    said = "=== short test summary info ===\nFAILED t.py::a - x\n=== 1 failed, 1 passed in 0.1s ==="
    return (1, said) if files["lib.py"] == "BAD" else (0, "2 passed in 0.1s")


@pytest.mark.parametrize(
    ("lines", "risk", "chosen"),
    [(10, "", SHORT), (200, "", EVALUATION), (900, "", HARD), (10, "Data may be lost.", HARD)],
)
def test_the_judge_looks_longer_and_harder_the_more_there_is_to_lose(lines, risk, chosen):
    assert choose_length("@@ -1 +1 @@\n" + "+x\n" * lines, risk) is chosen
    assert chosen.tier == "judge"
    assert (SHORT.max_turns, EVALUATION.max_turns, HARD.effort) == (16, 40, "high")


async def test_what_triage_says_may_break_has_it_made_and_judged_harder(make, acts, request_):
    world = make([acts.triage(risk="Stored sums could change."), *acts.straight()])
    await world.resolve(request_)

    efforts = [each["effort"] for each in world.model.asked]
    assert efforts == ["medium", "medium", "high", "high", "high", "high", "low"]
    assert "Stored sums could change." in messages_of(world, 5)


async def test_a_run_that_an_older_version_began_is_judged_before_it_is_measured(
    make, acts, request_, talk
):
    """What its engine has a record of stands in that order: another one would end it."""
    world = make([acts.triage(), acts.plan(), talk.Killed(), *acts.straight()[1:]])
    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    measured = json.loads(world.steps.kept["stage/measure_base/1"])
    measured["output"] |= {"form": 2, "divides": False}
    world.steps.kept["stage/measure_base/1"] = json.dumps(measured)

    assert (await world.resolve(request_)).kind == "pull_request"

    order = [name.split("/")[1] for name in world.steps.names]
    ended = order[order.index("docs_review") :]
    assert ended == [
        *("docs_review", "evaluation", "prove", "check_quality", "inspect", "craft_pr", "publish")
    ]
