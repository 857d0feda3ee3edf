"""The fast path: whoever understood an issue makes a change of one step; all stages are kept."""

import json

import pytest

from tests.agents.pipelines.resolve.conftest import FILES, messages_of

FAST = {".github/fettle.yml": "path: fast\nquality: [{name: tests, run: check}]"}
STEP = {"title": "Add right, always", "brief": "Take the one away in add()."}
WORDS = {"documentation": "Nothing describes it.", "rejected": "Rounding.", "notes": "Look twice."}


@pytest.fixture
def quick(make, acts):
    """Return a world whose model makes a change of one step on the fast path."""

    def world(*answers, triage=None, files=FILES, **more):
        decided = acts.triage(steps=[STEP], **(triage or {}))
        return make([decided, *answers], files | FAST, **more)

    return world


def sessions_of(world):
    return {
        session: list(dict.fromkeys(turn.stage for turn, _ in entries))
        for session, entries in world.journal.sessions.items()
    }


async def test_one_step_goes_on_in_triages_conversation_and_each_stage_is_recorded(
    quick, acts, request_
):
    made = "Add right, always: the one was there by mistake."
    world = quick(acts.change(), acts.step(made, **WORDS), acts.verdict())

    outcome = await world.resolve(request_)

    assert sessions_of(world) == {
        "triage/1": ["triage/1", "implement/1"],
        "evaluation/1": ["evaluation/1"],
    }
    stages = [name.split("/")[1] for name in world.steps.names]
    assert stages == [
        *("prepare", "set_up", "gather", "triage", "divide", "measure_base", "decompose"),
        *("implement", "docs_review", "prove", "check_quality", "evaluation", "inspect"),
        *("plan_layers", "craft_pr", "publish"),
    ]
    pull = outcome.pull_request
    assert pull.branch.startswith("bot/7-add-right-always-")
    for words in (made, "Rounding.", "Look twice.", "Made on the fast path: whoever understood"):
        assert words in pull.body
    summaries = dict(world.reporter.calls_of("stage_finished"))
    assert summaries["decompose/1"] == "1 step, on the fast path"
    assert summaries["docs_review/1"] == "with the change"
    assert [each["model"] for each in world.model.asked] == ["big"] * 3 + ["wise"]
    told = [block["text"] for m in json.loads(messages_of(world, 1))[-1:] for block in m["content"]]
    assert "# Make the planned change" in told[-1]
    assert "check: passed" in told[-1], "the checks as they ended"


@pytest.mark.parametrize(
    ("triage", "why"),
    [
        ({"risk": "Stored sums change."}, "triage names a risk: Stored sums change."),
        ({"steps": [STEP, STEP]}, "it takes 2 steps"),
    ],
)
async def test_what_is_more_than_one_easy_step_takes_the_whole_path_and_says_why(
    make, acts, request_, triage, why
):
    steps = triage.get("steps", [STEP])
    answers = []
    for number in range(len(steps)):
        answers += [acts.change(content=f"RIGHT {number}"), acts.step()]
    decided = acts.triage(**({"steps": steps} | triage))
    world = make([decided, *answers, *acts.end()[:1], acts.verdict(), acts.text()], FILES | FAST)

    outcome = await world.resolve(request_)

    assert sessions_of(world)["triage/1"] == ["triage/1"], "its plan is paid for"
    assert sessions_of(world)[f"implement/{len(steps)}"][1:] == ["docs_review/1", "craft_pr/1"]
    assert f"this took the whole one, because {why}." in outcome.pull_request.body
    assert why in dict(world.reporter.calls_of("stage_finished"))["decompose/1"]


async def test_models_of_their_own_keep_the_conversations_apart(quick, acts, request_):
    answers = [acts.change(), acts.step(**WORDS), *acts.end()[:1], acts.verdict(), acts.text()]
    world = quick(*answers, tiers={"triage": "fast"})
    await world.resolve(request_)

    assert [each["model"] for each in world.model.asked][:2] == ["small", "big"]
    assert "of their own" in dict(world.reporter.calls_of("stage_finished"))["decompose/1"]


async def test_a_plan_is_wanted_and_the_words_are_written_anew_once_something_was_added(
    quick, acts, request_, talk
):
    flaw = {"where": "lib.py: add", "what": "It forgets negative numbers."}
    better = [acts.change(content="BETTER"), [talk.use("submit_fix", summary="Too.")]]
    made = [acts.change(), acts.step(**WORDS), acts.verdict("revise", flaws=[flaw])]
    world = quick(*made, *better, acts.verdict(), acts.text())
    world.model.answers.insert(0, acts.triage())

    outcome = await world.resolve(request_)

    assert "`steps` is empty" in messages_of(world, 1)
    assert "craft_pr/1" in sessions_of(world)["triage/1"]
    assert "The one was there by mistake." in outcome.pull_request.body


@pytest.mark.parametrize("moment", range(4))
async def test_a_death_on_the_fast_path_costs_nothing_twice(quick, acts, request_, talk, moment):
    answers = [acts.change(), acts.step(**WORDS), acts.verdict()]
    expected = await quick(*answers).resolve(request_)
    world = quick(*answers)
    world.model.answers.insert(moment, talk.Killed())
    with pytest.raises(talk.Killed):
        await world.resolve(request_)

    assert await world.resolve(request_) == expected
    assert len(world.model.asked) == 5


async def test_the_operator_says_which_path_where_the_policy_does_not(make, acts, request_):
    world = make([acts.triage(steps=[STEP]), acts.change(), acts.step(**WORDS), acts.verdict()])
    run = world.run(request_)
    run.context.path = "fast"
    world.run = lambda _: run
    await world.resolve(request_)
    assert (
        dict(world.reporter.calls_of("stage_finished"))["decompose/1"] == "1 step, on the fast path"
    )
