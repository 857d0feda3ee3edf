"""A run of which a stage makes calls that people have to agree to."""

from __future__ import annotations

import json

from agents.policy import POLICY_PATH

FILES = {
    "calc.py": "one\n",
    "docs/CODEOWNERS": "* @mara\n",
    POLICY_PATH: "ask:\n  - {tool: bash, command: 'deploy*', reason: It deploys.}\n"
    "quality: []\nsetup: {run: []}\n",
}
YES = {"state": "approved", "decided_by": "mara"}
NO = {"state": "denied", "decided_by": "mara", "reason": "not on a Friday"}


def triage(use):
    decision = "action_direct"
    return use("submit_triage", decision=decision, kind="feature", reasoning="r", detail="d")


def plan(use):
    return use(
        "submit_plan", steps=[{"title": "Mend it", "brief": "In calc.py, where it is broken."}]
    )


def step(use):
    return use("submit_step", summary="Done.", tried="Nothing.")


def script(use, *answers):
    """Return a run's answers, these in the stage `implement`."""
    why = "The one was there by mistake."
    pull = {"branch": "mend-it", "title": "Mend the sum", "why": why, "rejected": "", "notes": ""}
    docs = use("submit_docs", changed=False, summary="none")
    passed = use("submit_evaluation", verdict="pass", reasoning="r")
    head = [[triage(use)], [plan(use)]]
    mended = use("write", path="calc.py", content="mended\n")
    tail = [[mended], [step(use)], [docs], [passed], [use("submit_pull_request", **pull)]]
    return [*head, *answers, *tail]


def list_results(world, session="implement/1"):
    """Return the results that the session heard, answer by answer."""
    turns = world.journal.sessions[session]
    return [json.loads(text) for turn, text in turns if turn.kind == "results"]
