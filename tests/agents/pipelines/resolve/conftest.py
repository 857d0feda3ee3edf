"""What the tests of resolve share: a small repository, and what a model does in each stage."""

import pytest

from agents.policy import POLICY_PATH
from agents.ports import SubIssue

FILES = {"lib.py": "def add(a, b):\n    return a + b + 1\n"}
NOON = 1_767_225_600.0


class ResolveActs:
    """What a model does in each stage, in one word."""

    def __init__(self, use):
        self.use = use

    def triage(self, decision="action_direct", **more):
        words = {"kind": "feature", "reasoning": "I read it.", "detail": "Change add()."}
        return [self.use("submit_triage", decision=decision, **(words | more))]

    def plan(self):
        step = {"title": "Add right", "brief": "Take the one away in add()."}
        return [self.use("submit_plan", steps=[step])]

    def change(self, path="lib.py", content="RIGHT"):
        return [self.use("write", path=path, content=content)]

    def step(self, summary="Done so.", **more):
        return [self.use("submit_step", summary=summary, tried="ran it", **more)]

    def verdict(self, verdict="pass", **more):
        return [self.use("submit_evaluation", verdict=verdict, reasoning="I tried it.", **more)]

    def docs(self):
        return [self.use("submit_docs", changed=False, summary="nothing to say")]

    def text(self):
        words = {"branch": "add-right", "title": "Add right, always", "rejected": ""}
        why = "The one was there by mistake."
        return [self.use("submit_pull_request", **words, why=why, notes="")]

    def end(self):
        return [self.docs(), self.text()]

    def straight(self):
        made = [self.plan(), self.change(), self.step(), self.docs()]
        return [*made, self.verdict(), self.text()]

    def ask(self):
        asked = {"question": "Which one is meant?", "why": "All.", "otherwise": "The first."}
        nothing = {"approaches": [], "recommendation": "", "reason": ""}
        return [self.use("submit_comment", questions=[asked], **nothing)]

    def propose(self):
        ways = [
            {
                "name": name,
                "what": "It changes add().",
                "pros": "small",
                "cons": "none",
                "complexity": "small",
            }
            for name in ("One way", "Other way")
        ]
        chosen = {"recommendation": "One way", "reason": "It is small."}
        return [self.use("submit_comment", questions=[], approaches=ways, **chosen)]


@pytest.fixture
def acts(talk):
    return ResolveActs(talk.use)


@pytest.fixture
def make(make_world, talk):
    def world(answers, files=FILES, **more):
        files = {POLICY_PATH: "quality: [{name: tests, run: check}]", **files}
        more.setdefault("tracker", talk.Tracker())
        more.setdefault("steering", talk.Steering())
        more.setdefault("approvals", talk.Approvals())
        return make_world(files, answers, **more)

    return world


def messages_of(world, number):
    """Return the messages of one call of the model, as text."""
    return world.model.asked[number]["messages"]


def sub(number, *, title="A part", blocked_by=(), **more):
    fields = {"state": "open", "author": "mara", "author_may_write": True} | more
    return SubIssue(number=number, title=title, body="Do it.", blocked_by=blocked_by, **fields)
