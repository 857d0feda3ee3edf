"""What reviewers say, as the port gives it: threads with comments, built from a few words."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from agents.ports import Feedback, Thread, ThreadComment
from agents.requests import Person
from tests.agents.pipelines.address.pull_scene import BRANCH, FILES, POLICY, AddressActs
from tests.fakes.pull_requests import build_pull_snapshot
from tests.fakes.requests import build_address_review

PULL = "https://example.org/octo/lib/pull/31"
BEGAN = datetime(2026, 3, 1, 9, tzinfo=UTC)
PEOPLE = {"mara": 3, "jonas": 2, "noor": 5}


class Words:
    """Builds threads; each comment comes a minute after the one before."""

    def __init__(self):
        self._ids = itertools.count(1)

    def say(self, body, by="mara", role="maintain", **more):
        ident = next(self._ids)
        return ThreadComment(
            id=ident,
            author=Person(id=PEOPLE.get(by, 90), login=by),
            role=role,
            own=False,
            body=body,
            edited=False,
            at=BEGAN + timedelta(minutes=ident),
            url=f"{PULL}#discussion_r{ident}",
            **more,
        )

    def answer(self, body="Done.", verdict="fixed"):
        comment = self.say(body, by="fettle[bot]", role="")
        return comment.model_copy(update={"own": True, "verdict": verdict})

    def thread(self, *said, path="calc.py", line=2, start=None, shown=(), **more):
        """Return a thread under a hunk that shows these lines last."""
        words = [self.say(each) if isinstance(each, str) else each for each in said]
        root = words[0].id
        defaults = {
            "id": f"PRRT_{root}",
            "root": root,
            "outdated": False,
            "url": f"{PULL}#discussion_r{root}",
            "hunk": "\n".join(["@@ -1,2 +1,9 @@ def add():", *(f"+{line}" for line in shown)]),
        }
        return Thread(path=path, line=line, start=start, said=tuple(words), **{**defaults, **more})

    def feedback(self, *threads, **more):
        return Feedback(threads=threads, **more)


@pytest.fixture
def words():
    return Words()


@pytest.fixture
def suggest():
    """Write a suggestion block."""

    def write(*lines, fence="```", info="suggestion"):
        return "\n".join([f"{fence}{info}", *lines, fence])

    return write


@pytest.fixture
def wish():
    return build_address_review(review_id=1)


@pytest.fixture
def make(make_world, talk):
    """A pull request whose head has these files, and what was said on it."""

    def make(answers, told, *, files=FILES, trunk=(), check=(0, "ok"), **more):
        trunk = {".github/fettle.yml": POLICY, **dict(trunk)}
        world = make_world(trunk, answers, commands={"check": check})
        head = world.history.commit(world.history.tree(files), world.base, "Add\n")
        pull = build_pull_snapshot(branch=BRANCH, head=head, **more)
        world.head = head
        world.source.branches.update({BRANCH: head, "main": world.base})
        world.source.pulls[31] = head
        world.reviewing = talk.Reviewing(pull, told, branches=world.source.branches)
        world.publisher.branches = world.source.branches
        world.publisher.history = world.history
        return world

    return make


@pytest.fixture
def acts(talk):
    return AddressActs(talk.use)
