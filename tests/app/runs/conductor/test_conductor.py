"""The conductor: every run has one visible end, whatever happens to it on the way."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from agents.errors import ConfigError, RunError, TransientError
from agents.pipelines.pipeline import Pipeline
from agents.pipelines.registry import PIPELINES
from agents.requests import Again, ResolveIssue
from agents.run import Outcome, stage
from app.git.mirror.mirror import Mirror
from app.git.run_objects import RunObjects
from app.runs.retry_from_stage import RetryFromStage
from handlers.access.issues import Refusal
from tests.app.runs.conductor.conftest import state
from tests.fakes.publishing import MemoryPublisher

ROOT = Path(__file__).parents[4]


async def test_a_run_ends_once_for_people_and_in_the_store(machine, wish):
    await machine.queue.submit("0001-run", wish)
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert (outcome.kind, outcome.text) == ("comment", "done")
    assert machine.ends == [outcome]
    assert await state(machine) == "done"
    assert Outcome.model_validate(await machine.engine.result("0001-run")) == outcome
    assert [given.closed for given in machine.given] == [1]


async def test_who_is_refused_is_told_the_rule(machine, wish):
    machine.admission = Refusal(rule="asker-may-write", text="No.")
    await machine.queue.submit("0001-run", wish)
    assert await machine.end() == Outcome(kind="refused", text="No.", rule="asker-may-write")
    assert await state(machine) == "refused"


@pytest.mark.parametrize(
    ("error", "says"),
    [(RunError("The issue is gone."), "The issue is gone."), (ConfigError("No key."), "operator")],
    ids=["for a person", "for the operator"],
)
async def test_a_check_that_cannot_be_made_says_who_must_act(machine, wish, error, says):
    machine.admission = error
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert (outcome.kind, outcome.rule) == ("refused", "could-not-check")
    assert says in outcome.text
    assert str(error) in outcome.text


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RunError("Nobody can do this."), "Nobody can do this."),
        (ConfigError("The key is wrong."), "operator has to act: The key is wrong."),
        (KeyError("a slip"), "run `0001-run`"),
    ],
    ids=["for a person", "for the operator", "our own mistake"],
)
async def test_an_error_in_a_stage_becomes_words(machine, wish, error, says):
    machine.works = [error]
    with structlog.testing.capture_logs() as lines:
        await machine.queue.submit("0001-run", wish)
        outcome = await machine.end()
    assert outcome.kind == "failed"
    assert says in outcome.text
    assert "a slip" not in outcome.text
    assert machine.ends == [outcome]
    broke = [line for line in lines if line["event"] == "step broke"]
    assert len(broke) == isinstance(error, KeyError)


async def test_what_stays_away_is_named_when_it_is_given_up(machine, wish):
    machine.works = [TransientError("GitHub answers 502")] * 6
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert "kept failing: GitHub answers 502" in outcome.text
    assert not machine.works


@pytest.mark.parametrize("trouble", [TransientError("GitHub answers 502"), KeyError("a slip")])
async def test_what_was_committed_until_then_is_kept_whoever_failed(machine, wish, trouble):
    publisher = MemoryPublisher()

    async def pipeline(run, request):
        @stage
        async def implement(run) -> None:
            """Commit something."""
            run.update_state(trunk="a", base="a", start="a", head="b")

        @stage
        async def evaluation(run) -> None:
            """Fail."""
            raise trouble

        run.context.ports = replace(run.context.ports, publisher=publisher)
        await run.stage(implement)
        await run.stage(evaluation)

    machine.monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(pipeline, ()))
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()

    [(branch, commit)] = publisher.pushed.items()
    pull = outcome.pull_request
    assert (pull.branch, pull.head, pull.draft, commit) == (branch, "b", True, "b")
    assert "Opened an unfinished draft." in outcome.text
    assert "`evaluation/1`" in pull.body


async def test_a_database_that_is_away_while_a_run_begins_only_delays_it(machine, wish):
    machine.equipping = [TransientError("The database is away")]
    await machine.queue.submit("0001-run", wish)
    assert (await machine.end()).text == "done"


async def test_a_mistake_outside_of_a_stage_is_shown_and_frees_the_lane(machine, wish):
    machine.between = RuntimeError("a slip of the pipeline")
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert "mistake of its own" in outcome.text
    assert machine.ends == [outcome]
    machine.between = None
    await machine.queue.submit("0002-run", wish)
    assert (await machine.end("0002-run")).text == "done"


async def test_a_report_that_fails_does_not_hide_the_end(machine, wish):
    machine.finishing = [KeyError("a slip of the reporter")]
    await machine.queue.submit("0001-run", wish)
    assert (await machine.end()).text == "done"
    assert machine.ends == []


MOST_FRAMES = 8
"""From `Run.stage` to the stage's function, both counted: the engine's own frames are not ours."""


def frames_of(task):
    """Return our own functions on a task's stack, outermost first."""
    coroutine, found = task.get_coro(), []
    while (code := getattr(coroutine, "cr_code", None)) is not None:
        if Path(code.co_filename).is_relative_to(ROOT / "app") or code.co_filename == str(
            ROOT / "agents/run/run.py"
        ):
            found.append(code.co_qualname)
        coroutine = coroutine.cr_await
    return found


@pytest.mark.parametrize("retried", [False, True])
async def test_a_stage_is_reached_through_few_functions(machine, wish, tmp_path, retried):
    def retry(steps, reporter):
        return RetryFromStage(
            steps,
            Again(run_id="0000-run", stage="work"),
            "0001-run",
            database=machine.database,
            objects=RunObjects(Mirror(tmp_path), "0001-run"),
            recover=None,
            reporter=reporter,
        )

    machine.retry = retry if retried else None
    stacks = []

    async def look():
        stacks.extend(map(frames_of, asyncio.all_tasks()))
        return "seen"

    machine.works = [look]
    await machine.queue.submit("0001-run", wish)
    assert (await machine.end()).text == "seen"
    [stack] = [each for each in stacks if "Run.stage" in each]
    way = stack[stack.index("Run.stage") :]
    # The last one has the function in a task of its own, which a cancel ends.
    assert way[-1] == "Run._unless_called_back"
    assert len(way) + 1 <= MOST_FRAMES, way
