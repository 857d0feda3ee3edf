"""The table of stages and sessions: who starts afresh, who goes on, and that the cache holds."""

import json
from itertools import pairwise

import pytest

from agents.loop.conversation import root_of
from agents.pipelines.address import pipeline as address
from agents.pipelines.resolve.pipeline import CONVERSATIONS

TABLE = """
triage             new
decompose          resume:triage
comment_draft      resume:triage
record_decision    resume:triage
craft_decision_pr  resume:record_decision
implementation     new
infeasible_comment resume:implementation
evaluation         new
eval_comment       resume:evaluation
docs_review        resume:implementation
quality_fix        resume:implementation
craft_pr           resume:implementation
craft_draft_pr     resume:implementation
"""
"""As the specification has it."""
OURS = {
    "triage_again": "triage",
    "revise": "implement",
    "prove_again": "implement",
    "put_back": "implement",
    "second_look": None,
}
"""What we add to it."""
NAMES = {"implementation": "implement", "new": None}
FILES = {"lib.py": "wrong"}
BY_NAME = {conversation.name: conversation for conversation in CONVERSATIONS}


def read_table():
    for line in TABLE.strip().splitlines():
        name, session = line.split()
        resumed = session.removeprefix("resume:")
        yield NAMES.get(name, name), NAMES.get(resumed, resumed)


@pytest.mark.parametrize(("name", "resumes"), [*read_table(), *OURS.items()])
def test_each_conversation_goes_on_where_the_table_says(name, resumes):
    assert BY_NAME[name].resumes == resumes


def test_the_table_is_complete():
    assert {name for name, _ in read_table()} | set(OURS) == set(BY_NAME)


def test_a_stage_that_only_reads_is_declared_so():
    changing = {name for name, each in BY_NAME.items() if each.capability.value == "change"}

    assert changing == {
        *("implement", "docs_review", "quality_fix", "revise", "prove_again", "put_back"),
        "record_decision",
    }


def test_whoever_judges_is_never_who_made():
    made = {
        name for name, each in BY_NAME.items() if root_of(each, CONVERSATIONS).name == "implement"
    }

    assert "evaluation" not in made
    assert root_of(BY_NAME["eval_comment"], CONVERSATIONS).tier == "judge"


def test_the_sessions_of_address_are_those_of_its_specification():
    """Sorting and changing start afresh; whoever changed mends it, and answers for it."""
    resumed = {each.name: each.resumes for each in address.CONVERSATIONS}

    assert resumed == {
        "second_look": None,
        "analyze_feedback": None,
        "implement": None,
        "evaluation": None,
        "revise": "implement",
        "quality_fix": "implement",
        "put_back": "implement",
        "craft_update": "implement",
    }


async def test_a_session_only_grows_byte_by_byte_so_the_cache_holds(make_world, request_, talk):
    use = talk.use
    step = {"title": "Right", "brief": "Make it right, please."}
    flaw = {"where": "lib.py", "what": "It is not right yet."}
    text = {"branch": "right", "title": "Make it right", "rejected": "", "notes": ""}
    answers = [
        [use("read", path="lib.py"), use("glob", pattern="*")],
        [use("submit_triage", decision="action_direct", kind="feature", reasoning="r", detail="d")],
        [use("submit_plan", steps=[step])],
        [use("write", path="lib.py", content="BROKEN")],
        [use("submit_step", summary="Made.", tried="ran")],
        [use("submit_docs", changed=False, summary="none")],
        [use("write", path="lib.py", content="right")],
        [use("submit_fix", summary="Mended.")],
        [use("submit_evaluation", verdict="revise", reasoning="r", flaws=[flaw])],
        [use("submit_fix", summary="I looked.")],
        [use("submit_evaluation", verdict="pass", reasoning="r")],
        [use("submit_pull_request", why="Because it was wrong.", **text)],
    ]

    def check(files):
        return (1, "broken") if "BROKEN" in files["lib.py"] else (0, "fine")

    policy = {".github/fettle.yml": "quality: [{name: a, run: check}]"}
    world = make_world(FILES | policy, answers, commands={"check": check}, steering=talk.Steering())
    counted = iter(range(len(answers)))

    async def answer(query):
        if next(counted) == 4:
            world.steering.say("remark", "Mind the tests.")
        return await type(world.model).answer(world.model, query)

    world.model.answer = answer
    outcome = await world.resolve(request_)

    assert outcome.kind == "pull_request", outcome.text
    grown = 0
    for asked in sessions(world.model.asked):
        for before, after in pairwise(asked):
            assert after["messages"].startswith(before["messages"].removesuffix("]") + ", ")
            assert after["system"] == before["system"]
            words = "# Write the pull request" in after["messages"]
            assert (after["tools"] == before["tools"]) == (not words)
            assert after["model"] == ("small" if words else before["model"])
            grown += 1
    assert grown == len(answers) - 4, "triage, implement and two evaluations begin afresh"


def sessions(asked):
    """Return the calls of each session, which are known by their first prompt."""
    found = {}
    for call in asked:
        found.setdefault(json.dumps(json.loads(call["messages"])[0]), []).append(call)
    return found.values()
