"""The demo's scripts fit the pipelines they are written for: prompts, tools and submissions."""

from pathlib import Path

import jsonschema_rs
import pytest

import app.simulator.model
from agents.pipelines.address import pipeline as addressing
from agents.pipelines.resolve import pipeline as resolving
from agents.tools.registry import TOOLS
from app.simulator.model import load_script

SCRIPTS = Path(app.simulator.model.__file__).with_name("scripts")
SCRIPT = load_script(SCRIPTS / "parse.yml")
REVIEW = load_script(SCRIPTS / "parse-review.yml")
PLAYED = [
    *((part, resolving.CONVERSATIONS) for part in SCRIPT.root),
    *((part, addressing.CONVERSATIONS) for part in REVIEW.root),
]
WAY = {
    *("triage", "decompose", "implement", "evaluation", "docs_review", "craft_pr"),
    *("quality_fix", "craft_draft_pr"),  # should its tests fail on somebody's machine
}


def definitions(conversations):
    """Return the tools and submissions of a pipeline, by name."""
    submissions = {c.output.definition()["name"]: c.output for c in conversations}
    kinds = (*TOOLS, *submissions.values())
    return submissions, {kind.definition()["name"]: kind.definition() for kind in kinds}


def answers(part, conversation):
    """Tell whether this part of the script answers the conversation's prompt."""
    prompt = conversation.prompt.read_text(encoding="utf-8")
    sources = ("The issue, a/b#1", "What reviewers of the pull request a/b#2 ask for")
    told = [
        prompt.replace("{{ heading }}", f"step {n} of 2").replace("{{ source }}", source)
        for n in "12"
        for source in sources
    ]
    return any(part.place_in(text) is not None for text in told)


def test_every_stage_on_the_way_of_the_demo_is_answered():
    answered = {part.name for part in SCRIPT.root}
    conversations = resolving.CONVERSATIONS
    found = {c.name for c in conversations for part in SCRIPT.root if answers(part, c)}
    assert found == WAY
    steps = sum(when.startswith("# Implement step") for when in answered)
    [plan] = [p.turns[-1].call[0]["submit_plan"] for p in SCRIPT.root if "Plan" in p.name]
    assert len(plan["steps"]) == steps == 2


def test_every_stage_on_the_way_of_the_review_is_answered():
    both, conversations = (*SCRIPT.root, *REVIEW.root), addressing.CONVERSATIONS
    found = {c.name for c in conversations for part in both if answers(part, c)}
    assert found == {"analyze_feedback", "implement", "quality_fix", "evaluation", "craft_update"}
    assert len({part.name for part in both}) == len(both), "both are played as one"


@pytest.mark.parametrize(("part", "conversations"), PLAYED, ids=[part.name for part, _ in PLAYED])
def test_its_calls_fit_the_tools_and_end_with_the_stages_submission(part, conversations):
    submissions, known = definitions(conversations)
    calls = [pair for turn in part.turns for call in turn.call for pair in call.items()]
    for tool, arguments in calls:
        schema = known[tool]["input_schema"]
        assert list(jsonschema_rs.validator_for(schema).iter_errors(arguments)) == [], tool
        if tool in submissions:
            submissions[tool].model_validate(arguments)
    assert [tool in submissions for tool, _ in calls] == [False] * (len(calls) - 1) + [True]
    [conversation] = [c for c in conversations if answers(part, c)]
    assert submissions[calls[-1][0]] is conversation.output
