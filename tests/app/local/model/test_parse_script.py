"""The demo's script fits the pipeline it is written for: its prompts, tools and submissions."""

from pathlib import Path

import jsonschema_rs
import pytest

import app.local.model
from agents.pipelines.resolve.pipeline import CONVERSATIONS
from agents.tools import TOOLS
from app.local.model import load_script

SCRIPT = load_script(Path(app.local.model.__file__).with_name("scripts") / "parse.yml")
SUBMISSIONS = {c.output.definition()["name"]: c.output for c in CONVERSATIONS}
DEFINITIONS = {
    definition["name"]: definition
    for definition in [kind.definition() for kind in (*TOOLS, *SUBMISSIONS.values())]
}


WAY = {
    *("triage", "decompose", "implement", "evaluation", "docs_review", "craft_pr"),
    *("quality_fix", "craft_draft_pr"),  # should its tests fail on somebody's machine
}


def answers(part, conversation):
    """Tell whether this part of the script answers the conversation's prompt."""
    prompt = conversation.prompt.read_text(encoding="utf-8")
    numbered = [prompt.replace("{{ heading }}", f"step {n} of 2") for n in "12"]
    return any(part.place_in(text) is not None for text in numbered)


def test_every_stage_on_the_way_of_the_demo_is_answered():
    answered = {part.when for part in SCRIPT.root}
    found = {c.name for c in CONVERSATIONS for part in SCRIPT.root if answers(part, c)}
    assert found == WAY
    steps = sum(when.startswith("# Implement step") for when in answered)
    [plan] = [p.turns[-1].call[0]["submit_plan"] for p in SCRIPT.root if "Plan" in p.when]
    assert len(plan["steps"]) == steps == 2


@pytest.mark.parametrize("part", SCRIPT.root, ids=lambda part: part.when)
def test_its_calls_fit_the_tools_and_end_with_the_stages_submission(part):
    calls = [pair for turn in part.turns for call in turn.call for pair in call.items()]
    for tool, arguments in calls:
        schema = DEFINITIONS[tool]["input_schema"]
        assert list(jsonschema_rs.validator_for(schema).iter_errors(arguments)) == [], tool
        if tool in SUBMISSIONS:
            SUBMISSIONS[tool].model_validate(arguments)
    assert [tool in SUBMISSIONS for tool, _ in calls] == [False] * (len(calls) - 1) + [True]
    [conversation] = [c for c in CONVERSATIONS if answers(part, c)]
    assert SUBMISSIONS[calls[-1][0]] is conversation.output
