"""The prompts: each renders, says which stage it is first, and what varies last."""

import re
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, meta

import agents.pipelines
from agents.loop.conversation import render, system_prompt, tool_list
from agents.pipelines.registry import PIPELINES
from agents.pipelines.resolve.decision.log import find_log
from agents.pipelines.resolve.sub_issues.order import BlockedPart, Order
from agents.tools.registry import TOOLS
from app.simulator.model.cache import tokens_of
from app.simulator.model.conversation import canonical


def name_of(prompt):
    """Return what a prompt is called here: several pipelines have an engineer of their own."""
    return (
        "implement a review"
        if prompt.parent.name == "address" and prompt.stem == "implement"
        else prompt.stem
    )


CONVERSATIONS = {
    name_of(each.prompt): each for pipeline in PIPELINES.values() for each in pipeline.conversations
}
HEADINGS = {
    "triage": "# Triage",
    "comment_draft": "# Write the comment",
    "triage_again": "# Decide again",
    "record_decision": "# Record the decision",
    "craft_decision_pr": "# Write the decision's pull request",
    "infeasible_comment": "# Say why nothing changed",
    "decompose": "# Plan the steps",
    "implement": "# Implement one step",
    "implement_here": "# Make the planned change",
    "docs_review": "# Review the documentation",
    "quality_fix": "# Fix the checks",
    "craft_pr": "# Write the pull request",
    "craft_draft_pr": "# Write the draft pull request",
    "evaluation": "# Evaluate",
    "eval_comment": "# Say what is missing",
    "revise": "# Revise",
    "prove_again": "# Show the bug by a test",
    "put_back": "# Put back",
    "analyze_feedback": "# Analyze the feedback",
    "implement a review": "# Make the changes of a review",
    "craft_update": "# Write the update",
    "resolve_conflicts": "# Settle a merge",
    "fix_checks": "# Mend the checks of a pull request",
    "find_lessons": "# Find what people say again and again",
    "assess": "# Assess the reach of alerts",
    "engineer": "# Move the vulnerable package",
    "adapt": "# Adapt the code to an update",
    "verify": "# Verify the update",
    "summarize": "# Summarize the update",
    "second_look": "# Set a repository up",
}
CHECK = {"name": "tests", "command": "make test", "exit_code": 1, "output": "1 failed"}
POINT = {
    "key": "t1",
    "author": "mara",
    "where": "in a thread",
    "applied": "It was applied.",
    "argued": True,
    "unshown": "3",
    "code": "lib.py:1\n\n@@ -1 +1 @@",
    "words": "Rename it.",
}
VARIABLES = {
    "setup": "Nothing needed to be installed before you began.",
    "facts": "No check of the repository was found that can run here.",
    "reference": "octo/lib#7",
    "author": "jonas",
    "issue": "It adds wrong.",
    "number": 2,
    "most_lines": 400,
    "count": 3,
    "title": "Add right",
    "brief": "Change add().",
    "plan": "1. Add right",
    "source": "The issue, octo/lib#7",
    "wish": "It adds wrong.",
    "pictured": True,
    "diff": "diff --git a/lib.py",
    "checks": [CHECK],
    "made": "Add right: done.",
    "commits": "- Add right",
    "heading": "step 2 of 3",
    "part": 0,
    "instructions": "# AGENTS.md",
    "decisions": "What the project has decided before: nothing.",
    "linked": ["The issue mentions the issue #3 (open), written by mara:\n\nSo."],
    "parts": Order(waiting=(BlockedPart(number=8, on=(9,)),)),
    "titles": "#8 A part",
    "discussion": "## mara (maintain): so",
    "earlier": {"number": 12, "diff": "diff --git a/lib.py"},
    "left_out": "a.svg: not a picture that can be shown",
    "detail": "Change add().",
    "criteria": "1. It adds right",
    "flaws": "- lib.py: wrong",
    "missing": "Which one?",
    "why": "No test was added.",
    "places": "- test_lib.py: deleted",
    "wrong": {"Checks that still fail": "make test"},
    "rivals": [{"number": 9, "author": "mara", "text": "Add right\n\nlib.py"}],
    "template": "## What does this change?",
    "records": [{"name": "tests", "said": "exit code 0 on 1a2b3c"}],
    "decision": "decline",
    "url": "https://github.example/octo/lib/issues/7",
    "log": find_log(["docs/adr/README.md", "docs/adr/0001-use-floats.md"]),
    "asked": "ask",
    "by_author": "It is 3.11.",
    "unread": 2,
    "tried": "pytest ended with exit code 1",
    "by": "mara",
    "reason": "It is needed.",
    "body": "It adds right.",
    "points": [POINT],
    "items": [POINT | {"change": "Rename it."}],
    "applied": True,
    "failing": [CHECK],
    "keys": "t1",
    "files": "lib.py",
    "names": {"ours": "1a", "theirs": "2b", "fork": "3c"},
    "branches": "The pull request: It adds wrong.",
    "remarks": "mara (maintain): take both.",
    "subjects": "2b Rename add()",
    "conflicts": "lib.py",
    "sides": {"ours": "+ours", "theirs": "+theirs"},
    "head": "1a2b3c",
    "ids": "GHSA-aaaa-bbbb-cccc",
    "alerts": "GHSA-aaaa-bbbb-cccc",
    "package": "jinja2",
    "directory": "the repository's root",
    "majors": False,
    "steps": "Level 0: the bound is in the way.",
    "feedback": "A copy is left.",
    "moves": "- jinja2: 3.1.3 to 3.1.4",
    "results": "tests: exit 0 before, 0 after",
    "words": "It was moved.",
    "measured": "",
    "update": "Bump semver from 7.5.1 to 7.5.2",
    "fast": True,
    "risk": "",
    "file": "AGENTS.md",
    "declined": "- Never use floats.",
    "evidence": [{"key": "e1", "what": "mara asked for a change on #7", "words": "Use tuples."}],
}
PAIRS = [(CHECK, CHECK)]  # before and after
LISTS_OF_DECISIONS = ("triage", "evaluation", "analyze_feedback", "craft_update", "fix_checks")
OWN_CHECKS = {
    "craft_pr": PAIRS,
    "craft_draft_pr": PAIRS,
    "craft_update": PAIRS,
    "quality_fix": [{**CHECK, "red_before": True}],
    "fix_checks": [{"key": "c1", "about": "Name: unit", "log": "1 failed"}],
}


def variables(name):
    own = {"checks": OWN_CHECKS[name]} if name in OWN_CHECKS else {}
    wanted = meta.find_undeclared_variables(Environment(autoescape=True).parse(text(name)))
    return {key: value for key, value in (VARIABLES | own).items() if key in wanted}


def text(name):
    return CONVERSATIONS[name].prompt.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_it_renders_with_its_variables_and_not_without_one_of_them(name):
    given = variables(name)
    rendered = render(CONVERSATIONS[name].prompt, **given)

    assert "{{" not in rendered
    assert "{%" not in rendered
    for missing in given:
        rest = {key: value for key, value in given.items() if key != missing}
        with pytest.raises(UndefinedError):
            render(CONVERSATIONS[name].prompt, **rest)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_it_begins_with_the_heading_by_which_scripts_know_it(name):
    assert render(CONVERSATIONS[name].prompt, **variables(name)).startswith(f"{HEADINGS[name]}\n")


def test_no_heading_is_the_beginning_of_another():
    assert sorted(HEADINGS) == sorted(CONVERSATIONS)
    for one in HEADINGS.values():
        assert sum(other.startswith(one) for other in HEADINGS.values()) == 1


def test_a_step_says_which_it_is_where_scripts_look_for_it():
    rendered = render(CONVERSATIONS["implement"].prompt, **variables("implement"))

    assert "\n# Implement step 2 of 3: Add right\n" in rendered


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_what_varies_comes_after_the_line(name):
    fixed, _, _ = text(name).partition("\n---\n")

    assert not re.search(r"\{[{%#]", fixed)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_it_names_the_submission_that_ends_the_stage(name):
    fixed, _, _ = text(name).partition("\n---\n")

    assert f"Finish with {CONVERSATIONS[name].output.tool_name()}" in fixed


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_fields_it_speaks_of_are_those_of_the_submission(name):
    described = set(re.findall(r"^- `([a-z]+)`:", text(name), re.MULTILINE))
    fields = CONVERSATIONS[name].output.model_fields

    assert described <= fields.keys() or name in LISTS_OF_DECISIONS


def test_every_prompt_beside_a_stage_belongs_to_a_conversation():
    folder = Path(agents.pipelines.__file__).parent
    found = {path for path in folder.rglob("*.md") if path.name != "README.md"}

    assert found == {each.prompt for each in CONVERSATIONS.values()}


def test_the_system_prompt_is_the_same_for_every_session():
    assert "{{" not in system_prompt()
    assert "<untrusted-" in system_prompt()


MOST_TOKENS = 4_000  # of system prompt and tools, as the local model counts


@pytest.mark.parametrize("request_", PIPELINES, ids=lambda request: request.__name__)
def test_what_every_session_of_a_pipeline_begins_with_is_short_and_the_same(request_):
    more = [{"name": "mcp_wiki_find"}]
    tools = tool_list(PIPELINES[request_].conversations, more)

    names = [tool["name"] for tool in tools]
    common = [tool.name for tool in TOOLS]
    assert names[: len(common) + 1] == [*common, "mcp_wiki_find"]
    submissions = names[len(common) + 1 :]
    assert submissions == sorted(submissions)
    sharing = [each for each in PIPELINES[request_].conversations if each.tools is None]
    assert set(submissions) == {each.output.tool_name() for each in sharing}
    begun = [{"type": "text", "text": system_prompt()}, *tools]
    assert sum(tokens_of(canonical(each)) for each in begun) <= MOST_TOKENS
