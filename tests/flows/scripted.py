"""Scripts for the local model: the usual one, with parts that a test wants otherwise."""

from __future__ import annotations

from pathlib import Path

import yaml

from app.simulator.model import Script

SCRIPT = Path(__file__).with_name("calc.yml")
KNOWN = {each["when"]: each for each in yaml.safe_load(SCRIPT.read_text())}


def part(when, *answers):
    """Return what answers a prompt: each answer is one call, or a list of calls at once."""
    every = [answer if isinstance(answer, list) else [answer] for answer in answers]
    return {"when": when, "turns": [{"call": calls} for calls in every]}


def usual(*parts):
    """Return the usual script with these parts, instead of those for the same prompts."""
    return Script.model_validate(list((KNOWN | {each["when"]: each for each in parts}).values()))


def triage(decision, *calls, when="# Triage", **more):
    """Return a triage that makes these calls and then decides."""
    submitted = {
        "decision": decision,
        "kind": "bug",
        "reasoning": "I ran it.",
        "detail": "See add.",
    }
    return part(when, *calls, {"submit_triage": submitted | more})


def bash(command, **more):
    """Return a call of bash."""
    return {"bash": {"command": command, **more}}


def step(*calls, number=1, count=1, **more):
    """Return a step of the plan that makes these calls and is done."""
    submitted = {"summary": "Did it.", "tried": "Ran it."} | more
    return part(f"# Implement step {number} of {count}", *calls, {"submit_step": submitted})


def plan(*titles):
    """Return a plan with these steps."""
    brief = "In calc.py, and nothing else."
    steps = [{"title": title, "brief": brief} for title in titles]
    return part("# Plan the steps", {"submit_plan": {"steps": steps}})


def evaluation(verdict, *calls, **more):
    """Return a judgement of the change."""
    submitted = {"verdict": verdict, "reasoning": "I ran it."} | more
    return part("# Evaluate", *calls, {"submit_evaluation": submitted})


def pull_request(*, draft=False):
    """Return the words of a pull request."""
    when = "# Write the draft pull request" if draft else "# Write the pull request"
    words = {
        "branch": "add-without-one",
        "title": "Add without one too many",
        "why": "The sum was one too large.",
        "rejected": "",
        "notes": "",
    }
    return part(when, {"submit_pull_request": words})


CURE = {"edit": {"path": "calc.py", "old": "a + b + 1", "new": "a + b"}}
SHORT_PARTS = (
    triage("action_direct", kind="feature"),
    plan("Add without one too many"),
    step(CURE),
)
SHORT = usual(*SHORT_PARTS)
"""One step, and no test that shows a bug: a third less to do where the run is not the point."""
