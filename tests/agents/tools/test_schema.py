"""Definitions of tools and submissions: what the Messages API and the model get."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from anthropic import transform_schema
from pydantic import BaseModel, ConfigDict, Field

from agents.errors import ToolError
from agents.loop.conversation import Submission
from agents.tools.base import Tool
from agents.tools.registry import TOOLS


class Part(BaseModel):
    """One part of a plan."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    title: str = Field(max_length=20)
    """What it does."""
    files: list[str] = Field(default_factory=list, max_length=3)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class WholePlan(Submission, tool="submit_whole_plan"):
    """Deliver the plan.

    It is made of parts.
    """

    decision: Literal["act", "ask"]
    """What happens
    next."""
    parts: list[Part] = Field(min_length=1, max_length=5)
    """The parts, in order."""
    first: Part
    """The part to begin with."""
    colour: Colour = Colour.RED
    score: Annotated[int, Field(ge=0, le=10)] | None = None
    branch: str = Field(pattern="^[a-z]+$")
    title: str = ""


PLAN = {
    "decision": "act",
    "parts": [{"title": "a"}],
    "first": {"title": "b", "files": ["x"]},
    "branch": "fix",
}


def walk(schema):
    yield schema
    for part in schema.get("properties", {}).values():
        yield from walk(part)
    for part in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        yield from walk(part)


def test_a_submission_is_a_strict_tool():
    definition = WholePlan.definition()
    assert definition["name"] == "submit_whole_plan"
    assert definition["strict"] is True
    assert definition["description"] == "Deliver the plan.\n\nIt is made of parts."
    schema = definition["input_schema"]
    assert schema["required"] == ["decision", "parts", "first", "branch"]
    assert list(schema["properties"]) == list(WholePlan.model_fields)


def test_strict_schemas_hold_only_what_strict_mode_knows():
    known = {"type", "enum", "const", "anyOf", "properties", "required", "items", "minItems"}
    known |= {"additionalProperties", "description", "format"}
    parts = list(walk(WholePlan.definition()["input_schema"]))
    assert set().union(*parts) <= known
    assert [p["additionalProperties"] for p in parts if p.get("type") == "object"] == [False] * 3


def test_what_strict_mode_lacks_is_said_in_words():
    properties = WholePlan.definition()["input_schema"]["properties"]
    assert properties["parts"]["description"] == "The parts, in order. (at most 5 entries)"
    assert properties["parts"]["minItems"] == 1
    title = properties["parts"]["items"]["properties"]["title"]
    assert title["description"] == "What it does. (at most 20 characters)"
    assert properties["branch"]["description"] == "(matching the regular expression ^[a-z]+$)"
    assert properties["score"]["anyOf"][0]["description"] == "(at most 10)"
    assert properties["decision"] == {"enum": ["act", "ask"], "description": "What happens next."}
    assert properties["first"]["description"] == "The part to begin with."
    assert properties["colour"]["enum"] == ["red", "blue"]


def test_the_sdk_finds_nothing_to_change():
    schema = WholePlan.definition()["input_schema"]
    assert transform_schema(schema) == schema


def test_nested_definitions_are_the_same_every_time():
    assert WholePlan.definition() == WholePlan.definition()


def test_shapes_that_strict_mode_cannot_promise_are_our_mistake():
    class FreeForm(Submission, tool="submit_free_form"):
        """Free."""

        anything: dict[str, int]

    class Tree(BaseModel):
        children: list[Tree]

    class Recursive(Submission, tool="submit_recursive"):
        """Recursive."""

        root: Tree

    class Untyped(Submission, tool="submit_untyped"):
        """Untyped."""

        value: Any

    Tree.model_rebuild(_types_namespace={"Tree": Tree})
    for submission, words in [(FreeForm, "free-form"), (Recursive, "itself"), (Untyped, "no type")]:
        with pytest.raises(TypeError, match=words):
            submission.definition()


# --- values -------------------------------------------------------------------------------------


def test_a_valid_submission_is_returned():
    plan = WholePlan.parse(PLAN)
    assert plan.parts[0].title == "a"
    assert plan.colour is Colour.RED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"parts": [{"title": "x" * 21}]},
            r"`parts\.0\.title`: .*at most 20 characters \(sent: 'xxx",
        ),
        ({"branch": "Fix It"}, "`branch`: .*pattern"),
        ({"score": 11}, "`score`: .*less than or equal to 10"),
        ({"more": 1}, "`more`: Extra inputs"),
        ({"parts": []}, "`parts`: .*at least 1"),
    ],
)
def test_a_faulty_submission_is_sent_back_with_its_faults(change, words):
    with pytest.raises(ToolError, match=words) as caught:
        WholePlan.parse(PLAN | change)
    assert str(caught.value).startswith("submit_whole_plan was not accepted:")
    assert "call submit_whole_plan again" in str(caught.value)


@pytest.mark.parametrize("character", ["\0", "\udc80"])
def test_text_that_no_commit_can_hold_is_sent_back(character):
    with pytest.raises(ToolError, match="submit_whole_plan was not accepted: a text in it holds"):
        WholePlan.parse(PLAN | {"parts": [{"title": character}]})


@pytest.mark.parametrize("nonsense", [None, "plan", [], 3])
def test_nonsense_is_sent_back(nonsense):
    with pytest.raises(ToolError, match="submit_whole_plan was not accepted"):
        WholePlan.parse(nonsense)


# --- tools --------------------------------------------------------------------------------------


SPEAKING = {"path", "pattern", "ignore_case", "max_results", "url"}
"""Names of arguments that need no word: each is paid for in every session."""


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_describes_itself(tool: type[Tool]):
    definition = tool.definition()
    schema = definition["input_schema"]
    assert definition["name"] == tool.name
    assert len(definition["description"]) > 60
    assert "title" not in str(schema)
    assert "null" not in str(schema)
    for name, argument in schema["properties"].items():
        told = "description" in argument or "enum" in argument or name in definition["description"]
        assert told or name in SPEAKING
    assert "$ref" not in str(schema)


def test_wrapped_lines_are_joined_and_paragraphs_kept():
    description = TOOLS[0].definition()["description"]
    assert "environment" not in description
    assert "\n" not in description.split("\n\n")[0]
