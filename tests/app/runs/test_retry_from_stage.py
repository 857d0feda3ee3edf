"""A run that takes up an earlier one: what it keeps, what it does anew, what it pays for."""

from __future__ import annotations

import asyncio
import subprocess
import time
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from agents.errors import TransientError
from agents.loop.turns import make_remarks
from agents.ports import Steer, Turn, Usage
from agents.requests import Again
from app.git.mirror.mirror import Mirror
from app.git.run_objects import RunObjects
from app.runs.durable_steps import StepGivenUp
from app.runs.engine import Engine
from app.runs.retry_from_stage import RetryFromStage, kept_of
from app.store.database import Database
from app.store.expire_rows import empty_runs
from app.store.runs.history import History, KeptStep
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.app.operator.test_submit import REQUEST
from tests.fakes.reporter import RecordingReporter
from tests.patience import PATIENCE

STAGES = ("prepare/1", "triage/1", "implement/1", "implement/2", "docs_review/1")


@dataclass
class RetriedSteps:
    """Steps as `RunLifecycle` has them done."""

    steps: object
    retry: RetryFromStage

    async def step(self, name, work):
        return await self.steps.step(name, await self.retry.replace_work(name, work))

    async def wait(self, name, over):
        await self.steps.wait(name, await self.retry.replace_wait(name, over))


class Conductor:
    """Conducts runs of some stages; a request that names an earlier run takes it up."""

    def __init__(self, database, mirror, head):
        self.database = database
        self.mirror = mirror
        self.head = head
        self.done = []
        self.fail = ""
        self.fail_kind = "RunError"
        self.gives_up = False
        self.leaves = None
        """The tree that the work on implement/1 leaves."""
        self.reporter = RecordingReporter()

    async def __call__(self, run_id, request, steps):
        if again := request.get("again"):
            retry = RetryFromStage(
                steps,
                Again(**again),
                run_id,
                database=self.database,
                objects=RunObjects(self.mirror, run_id),
                recover=self.recover,
                reporter=self.reporter,
            )
            steps = RetriedSteps(steps, retry)
        await steps.step("access/1", lambda: self.work(run_id, "access/1"))
        for stage in STAGES:
            try:
                record = await steps.step(f"stage/{stage}", lambda s=stage: self.work(run_id, s))
            except StepGivenUp:
                break
            if stage == "triage/1":
                await steps.wait("answer/1", lambda: self.record_answer(run_id))
            if record["error"]:
                break
        await steps.step("finish/1", lambda: self.work(run_id, "finish/1"))
        return run_id

    async def recover(self):
        """The earlier run was on this machine."""

    async def record_answer(self, run_id):
        self.done.append((run_id, "answer/1"))
        return True

    async def work(self, run_id, name):
        self.done.append((run_id, name))
        if name == "implement/1" and not await self.journal(run_id).turns(name):
            await self.say(run_id, name)
        standing = {"trunk": self.head, "base": self.head, "head": self.head}
        error = "it broke" if name == self.fail else None
        if error and self.gives_up:
            raise TransientError("nobody answers")
        output = f"{name} of {run_id}"
        kind = self.fail_kind if error else None
        return {"output": output, "standing": standing, "error": error, "error_kind": kind}

    def journal(self, run_id):
        return StoredJournal(self.database, run_id)

    async def say(self, run_id, stage):
        journal = self.journal(run_id)
        usage = Usage(input=5, output=7)
        await journal.append(stage, 0, Turn("prompt", stage, [{"type": "text", "text": "do"}]))
        await journal.append(
            stage,
            1,
            Turn("answer", stage, [{"type": "text", "text": "ok"}], usage=usage, cost_usd=0.5),
        )
        if self.leaves:
            await journal.append(stage, 2, Turn("results", stage, [], tree=self.leaves))
            return
        await journal.append(stage, 2, Turn("prompt", "docs_review/1", [{"type": "text"}]))

    def steps_of(self, run_id):
        return [name for run, name in self.done if run == run_id]


@pytest.fixture
def mirror(tmp_path):
    gitdir = tmp_path / "mirrors" / "99.git"
    gitdir.parent.mkdir()
    subprocess.run(["git", "init", "-q", "--bare", str(gitdir)], check=True)
    return Mirror(gitdir)


@pytest.fixture
def head(mirror):
    """A commit that no ref holds."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    git = ["git", *who, f"--git-dir={mirror.gitdir}"]
    made = subprocess.run([*git, "mktree"], input=b"", check=True, capture_output=True)
    tree = made.stdout.decode().strip()
    commit = [*git, "commit-tree", "-m", "x", tree]
    return subprocess.run(commit, check=True, capture_output=True).stdout.decode().strip()


@pytest.fixture
def tree(mirror):
    """A tree that no commit holds."""
    git = ["git", f"--git-dir={mirror.gitdir}"]
    write = [*git, "hash-object", "-w", "--stdin"]
    blob = subprocess.run(write, input=b"half done\n", check=True, capture_output=True)
    line = b"100644 blob " + blob.stdout.strip() + b"\tnotes.txt\n"
    made = subprocess.run([*git, "mktree"], input=line, check=True, capture_output=True)
    return made.stdout.decode().strip()


@pytest.fixture
async def work(sqlite_url, mirror, head):
    database = Database(sqlite_url)
    conductor = Conductor(database, mirror, head)
    engine = Engine(sqlite_url, executor="one", retry_seconds=0.01)
    await engine.launch(conductor)

    async def run_work(run_id, again=None):
        await Runs(database).create(run_id, REQUEST)
        request = {"lane": run_id, "again": again and again.model_dump()}
        await engine.enqueue(run_id, run_id, request)
        async with asyncio.timeout(PATIENCE):
            await engine.result(run_id)
        return conductor.steps_of(run_id)

    conductor.do, conductor.engine = run_work, engine
    yield conductor
    await engine.drain(0)
    database.close()


async def outputs(work, run_id):
    steps = await History(work.database).steps(run_id)
    return {step.name: step.record["output"] for step in steps if step.name.startswith("stage/")}


async def test_what_came_before_the_stage_is_kept_and_the_rest_done_anew(work, mirror, head):
    await work.do("old")
    assert await work.do("new", Again(run_id="old", stage="implement")) == [
        "access/1",
        "implement/1",
        "implement/2",
        "docs_review/1",
        "finish/1",
    ]
    kept = await outputs(work, "new")
    assert kept["stage/prepare/1"] == "prepare/1 of old"
    assert kept["stage/triage/1"] == "triage/1 of old"
    assert kept["stage/implement/1"] == "implement/1 of new"
    assert work.reporter.calls_of("stage_finished") == [("again/1", "kept 2 stages of it")]
    [(_, title)] = work.reporter.calls_of("stage_started")
    assert title
    refs = subprocess.run(
        ["git", f"--git-dir={mirror.gitdir}", "for-each-ref", "--points-at", head],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "refs/fettle/runs/new/commits/" in refs.stdout, "nobody may collect it meanwhile"


async def test_its_conversations_go_along_and_are_not_paid_twice(work):
    await work.do("old")
    await work.do("new", Again(run_id="old", stage="docs_review"))
    old, new = (StoredJournal(work.database, run) for run in ("old", "new"))
    turns = await new.turns("implement/1")
    assert [turn.content for turn in turns] == [
        turn.content for turn in (await old.turns("implement/1"))[:2]
    ], "and not what was said in the stage that is done anew"
    assert await new.sum_usage() == (Usage(), 0.0, 0)
    assert (await old.sum_usage())[1:] == (0.5, 1)


async def test_what_people_said_to_the_earlier_run_does_not_stand_for_what_they_say_to_this_one(
    work,
):
    await work.do("old")
    heard = [{"type": "text", "text": "Mind the names."}]
    turn = Turn("remark", "implement/1", heard)
    await StoredJournal(work.database, "old").append("implement/2", 0, turn)
    await work.do("new", Again(run_id="old", stage="docs_review"))

    turns = await StoredJournal(work.database, "new").turns("implement/2")
    assert [turn.content for turn in turns] == [heard], "the cached prefix has changed"
    steer = Steer(number=1, kind="remark", words="Use tabs.", by="mara", via="comment", at=0.0)
    assert len(await make_remarks([steer], turns, str)) == 1


def test_the_time_of_the_earlier_run_is_not_counted_again():
    kept = kept_of(
        [
            step("stage/prepare/1", standing={"worked": 7_000.0, "head": "c"}),
            step("stage/triage/1"),
        ],
        "triage",
    )
    assert kept.steps["stage/prepare/1"]["standing"] == {"worked": 0.0, "head": "c"}


async def test_it_needs_the_earlier_run_no_more_once_it_has_begun(work):
    await work.do("old")
    await work.do("new", Again(run_id="old", stage="docs_review"))
    await work.database.write(lambda c: c.execute(text("DELETE FROM turns WHERE run_id = 'old'")))
    await work.database.write(
        lambda c: c.execute(text("DELETE FROM operation_outputs WHERE workflow_uuid = 'old'"))
    )
    anew = await work.do("third", Again(run_id="new", stage="docs_review"))
    assert anew == ["access/1", "docs_review/1", "finish/1"]
    assert (await outputs(work, "third"))["stage/prepare/1"] == "prepare/1 of old"


async def test_a_stage_that_failed_is_done_anew_though_the_one_asked_for_comes_later(work):
    work.fail = "implement/2"
    await work.do("old")
    work.fail = ""
    assert await work.do("new", Again(run_id="old", stage="docs_review")) == [
        "access/1",
        "implement/2",
        "docs_review/1",
        "finish/1",
    ]


@pytest.mark.parametrize(("kind", "goes_on"), [("ConfigError", True), ("ModelRefused", False)])
async def test_what_was_said_in_a_stage_goes_on_unless_it_failed_for_that(
    work, mirror, tree, kind, goes_on
):
    work.fail, work.fail_kind, work.leaves = "implement/1", kind, tree
    await work.do("old")
    work.fail = ""
    done = await work.do("new", Again(run_id="old", stage="docs_review"))

    assert done == ["access/1", "implement/1", "implement/2", "docs_review/1", "finish/1"]
    paid = (await work.journal("new").sum_usage())[2]
    assert paid == (0 if goes_on else 1)
    [(_, told)] = work.reporter.calls_of("stage_finished")
    assert told.endswith(", and goes on in implement/1") == goes_on
    kept = await mirror.list_refs("refs/fettle/runs/new/trees")
    assert list(kept.values()) == ([tree] if goes_on else []), "nobody may collect its files"


async def test_it_goes_on_in_a_stage_that_something_outside_made_impossible(work):
    work.fail, work.gives_up, work.leaves = "implement/1", True, None
    await work.do("old")
    work.gives_up, work.fail = False, ""
    await work.do("new", Again(run_id="old", stage="implement"))
    assert (await work.journal("new").sum_usage())[2] == 0


async def test_a_stage_whose_files_are_gone_is_done_anew(work):
    work.fail, work.fail_kind, work.leaves = "implement/1", "ConfigError", "e" * 40
    await work.do("old")
    work.fail, work.leaves = "", None
    await work.do("new", Again(run_id="old", stage="implement"))
    assert (await work.journal("new").sum_usage())[2] == 1
    [(_, told)] = work.reporter.calls_of("stage_finished")
    assert told == "kept 2 stages of it"


async def test_it_can_begin_at_one_of_the_stages_of_a_name(work):
    await work.do("old")
    done = await work.do("new", Again(run_id="old", stage="implement/2"))
    assert done == ["access/1", "implement/2", "docs_review/1", "finish/1"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        ("forgotten", "nobody remembers what it did, so all is done anew"),
        ("emptied", "what was said in it was deleted after its time, so all is done anew"),
        ("unknown", "it is not known here any more, so all is done anew"),
        ("no such stage", "it never came to the stage craft_pr, so all is done anew"),
        ("no commits", " is not here any more, so all is done anew"),
    ],
)
async def test_where_it_cannot_be_kept_all_is_done_anew_and_people_are_told(work, spoil, told):
    await work.do("old")
    again = Again(run_id="old", stage="docs_review")
    if spoil == "forgotten":
        forget = text("DELETE FROM operation_outputs WHERE workflow_uuid = 'old'")
        await work.database.write(lambda c: c.execute(forget))
    elif spoil == "emptied":  # the engine forgets at another hour
        await work.database.write(lambda c: c.execute(text("UPDATE runs SET state = 'done'")))
        assert await work.database.write(lambda c: empty_runs(c, time.time() + 1, 1.0)) == ["old"]
    elif spoil == "unknown":
        again = Again(run_id="never", stage="docs_review")
    elif spoil == "no such stage":
        again = Again(run_id="old", stage="craft_pr")
    else:
        prune = ["git", f"--git-dir={work.mirror.gitdir}", "gc", "-q", "--prune=now"]
        subprocess.run(prune, check=True)
    done = await work.do("new", again)
    assert done == ["access/1", *STAGES[:2], "answer/1", *STAGES[2:], "finish/1"]
    [(stage, summary)] = work.reporter.calls_of("stage_finished")
    assert stage == "again/1"
    assert summary.endswith(told)
    assert await StoredJournal(work.database, "new").sum_usage() == (
        Usage(input=5, output=7),
        0.5,
        1,
    )


def step(name, **record):
    return KeptStep(name, 1.0, 2.0, {"standing": {}, **record})


def test_a_stage_done_once_more_counts_as_it_ended_and_one_that_waited_does_not_count():
    kept = kept_of(
        [
            step("access/1"),
            step("stage/prepare/1"),
            step("stage/triage/1", parked=["k3"]),
            step("approval/triage/1/1"),
            step("stage/triage/1~1", output="yes"),
            step("stage/gather/1", paused_until=9.0),
        ],
        "implement",
    )
    assert kept.stages == ("prepare/1", "triage/1")
    assert kept.steps["stage/triage/1"]["output"] == "yes"
    assert "access/1" not in kept.steps
    assert "approval/triage/1/1" in kept.steps


@pytest.mark.parametrize("stage", ["implement", "implement/2", "docs_review"])
@pytest.mark.parametrize(
    ("kind", "goes_on"),
    [
        ("ConfigError", True),
        ("BudgetExceeded", True),
        ("DayOver", True),
        ("NoRoom", True),
        ("Unanswered", True),
        ("StepGivenUp", True),
        ("ModelRefused", False),
        ("ContextFull", False),
        ("PrefixChanged", False),
        ("RunError", False),
        ("Cancelled", False),
        (None, False),
    ],
)
def test_a_conversation_goes_on_that_ended_by_no_fault_of_its_own(kind, goes_on, stage):
    first = step("stage/implement/1", output="done")
    last = step("stage/implement/2", error="it broke", error_kind=kind)
    kept = kept_of([step("stage/triage/1"), first, last], stage)
    if stage == "implement":
        assert (kept.stages, kept.unfinished) == (("triage/1",), ""), "which is asked for anew"
        return
    assert kept.stages == ("triage/1", "implement/1")
    assert kept.unfinished == ("implement/2" if goes_on else "")
