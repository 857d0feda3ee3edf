"""What an earlier version left behind goes on under this one, to the end that it would have had.

Fettle 0.1.0 was killed with four runs under way: one waits for an approval, one for an answer, two
are in the middle of a stage. What it stored under a name (steps and stages, conversations, tables,
fields) is looked for under that name: whoever changes one has to read the old one as well.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from app.simulator.github import LocalGitHub
from app.simulator.github.gitdir import GitDir
from app.simulator.model import LocalModel
from tests.flows import used
from tests.flows.conftest import LABEL, Place
from tests.flows.forked import ForkedServer
from tests.flows.upgrade import story
from tests.flows.upgrade.left_behind import DATA, DOWN, GITHUB, Replay, adapt, unpack

APPROVE = re.compile(r"/bot approve [a-z0-9]+")
OURS = re.compile(r"<!-- fettle run=(\S+) key=(\S+) -->")
ISSUES = range(1, len(story.ISSUES) + 1)
APPROVAL, ANSWER, WORDS, STEP = ISSUES


@pytest.fixture
def left_behind(request):
    """Return a context manager that puts everything back; the server is not started yet."""

    @asynccontextmanager
    async def make():
        root = Path(tempfile.mkdtemp(prefix="fettle-flow-"))
        root.chmod(0o711)  # sandboxes are another user and must get through; pytest's may not
        unpack(root)
        github = await LocalGitHub.start(root / "github")
        model = await LocalModel.start(story.script_after())
        server = ForkedServer(root / DATA, github.url, model.url)
        try:
            yield await put_back(root, github, model, server)
        finally:
            await server.stop()
            await model.stop()
            await github.stop()
            used.tell(request.node, github.tokens.used)
            shutil.rmtree(root, ignore_errors=True)

    return make


async def put_back(root, github, model, server):
    """Have GitHub and the database as they were, but here and now; return the place."""
    text = (root / GITHUB).read_text()
    old = json.loads(text)["url"]
    told = json.loads(text.replace(old, github.url))
    later = time.time() - DOWN - told["killed_at"]
    replay = Replay(github, root, later)
    await replay.play(told)
    adapt(server.data / "fettle.db", later, old, github.url)
    people = {name: github.world.account(name) for name in ("mara", "jonas", "eve")}
    issue = replay.repository.issues[APPROVAL]
    return Place(github, model, server, replay.app, replay.repository, issue, people)


async def test_runs_of_an_earlier_version_come_to_their_end(left_behind):
    async with left_behind() as place:
        stored, said = Stored(place), comments(place)
        [approve] = [found[0] for text in said[APPROVAL] if (found := APPROVE.search(text))]
        await upgrade(place)
        await place.say("mara", approve, place.repository.issues[APPROVAL])
        await place.say("mara", "It is exact.", place.repository.issues[ANSWER])
        over = await place.all_over(*["done"] * len(ISSUES))

        assert [run.id for run in over] == stored.runs
        await each_has_one_pull_request(place)
        nothing_is_said_twice(place, said)
        conversations_go_on(place, stored)
        nothing_is_done_twice(place, stored, Stored(place))
        await nothing_is_left_on_disk(place, stored)


async def upgrade(place):
    """Start this version on what is there, and have GitHub know where it is."""
    await place.server.start(place.app)
    hook = (f"{place.server.url}/webhook", place.server.webhook_secret)
    await place.github.set_webhook(place.app.app_id, *hook)


async def each_has_one_pull_request(place):
    assert not [pull.issue.body for pull in place.pulls() if pull.draft]
    pulls = {int(re.search(r"Resolves #(\d+)", p.issue.body)[1]): p for p in place.pulls()}
    assert (sorted(pulls), len(place.pulls())) == ([*ISSUES], len(ISSUES))
    assert len(await place.branches()) == len(ISSUES)
    made = {number: len(await place.commits(pull)) for number, pull in pulls.items()}
    assert made == {APPROVAL: 1, ANSWER: 2, WORDS: 1, STEP: 2}
    for number, pull in pulls.items():
        assert pull.head.startswith(f"bot/{number}-{story.WORDS['branch']}-")
        assert (pull.issue.title, pull.draft) == (story.WORDS["title"], False)
        assert "return a + b\n" in await place.show(pull.head_sha, "calc.py")


def nothing_is_said_twice(place, before):
    """The bot's comments are those that were there, brought up to date."""
    for number, bodies in comments(place).items():
        assert parse_marks(bodies) == parse_marks(before[number])
        assert sum("**Done.**" in body for body in bodies) == 1, bodies
        issue = place.repository.issues[number]
        assert [face.content for face in issue.reactions] == ["eyes"]
        assert [label.name for label in issue.labels] == [LABEL]
    assert sum("**Approved** by `mara`" in body for body in comments(place)[APPROVAL]) == 1


def conversations_go_on(place, before):
    """Each went on behind its last turn; the model takes none whose earlier turns were changed."""
    asked = place.model.requests
    begun = Counter(each.part for each in asked if each.turn == 1)
    assert {when: begun[when] for when in BEGUN} == BEGUN
    places = {(each.part, each.turn, each.messages) for each in asked}
    turns = [len(before.turns[run, name]) for run, name in zip(before.runs, OPEN, strict=True)]
    assert turns == [4, 6, 16, 3]
    results, remark_and_prompt = 1, 2
    assert (story.RISKY["when"], 3, turns[0] + results) in places
    assert (story.AGAIN["when"], 1, turns[1] + remark_and_prompt) in places
    assert (story.DESCRIBED["when"], 2, turns[2]) in places
    assert (story.SECOND["when"], 2, turns[3]) in places


OPEN = ("implement/1", "triage/1", "implement/1", "implement/2")
"""The conversation that each run was in the middle of."""
BEGUN = {
    "# Triage": 0,
    story.RISKY["when"]: 0,
    story.AGAIN["when"]: 1,
    story.FIRST["when"]: 1,
    story.SECOND["when"]: 1,
    story.DESCRIBED["when"]: 3,
}
"""How often each part of the script is begun: only where its run had not come to it."""


def nothing_is_done_twice(place, before, after):
    """What was stored is as it was; what the model was asked is what had no answer yet."""
    asked = place.model.requests
    assert {(each.status, each.answered) for each in asked} == {(200, True)}
    assert after.answers == before.answers + len(asked), "an answer was asked for again"
    assert max(Counter(each.prefix for each in asked).values()) == 1
    for old, new in ((before.turns, after.turns), (before.steps, after.steps)):
        for name, rows in old.items():
            assert new[name][: len(rows)] == rows, name
    for run, steps in after.steps.items():
        names = Counter(name for _, name, _ in steps)
        assert max(names.values()) == 1, f"{run} did a step twice: {names}"


async def nothing_is_left_on_disk(place, before):
    """Work trees and commits were found where they were, so they are put away now."""
    data = place.server.data
    await place.wait_until(
        lambda: not [each for run in before.runs for each in data.glob(f"*/{run}")]
    )
    [mirror] = data.glob("*/*.git")
    refs = await GitDir(mirror).refs("refs/")
    there = {f"refs/remotes/origin/{branch}" for branch in await place.branches()}
    assert refs.keys() - there == {"refs/remotes/origin/main", "refs/notes/fettle"}


class Stored:
    """What the database holds of the runs: turns by conversation, steps by run, byte for byte."""

    def __init__(self, place):
        with closing(sqlite3.connect(place.server.data / "fettle.db")) as database:
            self.runs = [run for (run,) in database.execute(RUNS)]
            self.turns = group(database.execute(TURNS), 2)
            self.steps = group(database.execute(STEPS), 1)
        kinds = [kind for rows in self.turns.values() for _, kind, *_ in rows]
        self.answers = kinds.count("answer")


RUNS = "SELECT id FROM runs ORDER BY created_at"
TURNS = "SELECT run_id, session, number, kind, content, tree FROM turns ORDER BY number"
STEPS = (
    "SELECT workflow_uuid, function_id, function_name, output FROM operation_outputs"
    " WHERE workflow_uuid IN (SELECT id FROM runs) ORDER BY function_id"
)


def group(rows, by):
    """Return the rows by their first so many columns."""
    groups = {}
    for row in rows:
        groups.setdefault(row[:by], []).append(row[by:])
    return groups


def comments(place):
    """Return the bodies of the comments, by the number of their issue."""
    issues = place.repository.issues
    return {number: [each.body for each in issues[number].comments] for number in ISSUES}


def parse_marks(bodies):
    """Return of each comment of the bot for which run it is, and what."""
    return [found.groups() for body in bodies if (found := OURS.match(body))]
