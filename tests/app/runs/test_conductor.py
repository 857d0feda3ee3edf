"""The conductor: every run has one visible end, whatever happens to it on the way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import structlog
from sqlalchemy import text

from agents.errors import ConfigError, Parked, RunError, TransientError, Unanswered
from agents.loop.budget import RunLimits
from agents.pipelines import PIPELINES, Pipeline
from agents.policy import PinnedPolicy
from agents.ports import Asking
from agents.requests import Command, Person, Repository, ResolveIssue
from agents.run import Outcome, Ports, stage
from app.runs.admission import Admission
from app.runs.conductor import MOST_STARTS, RunConductor
from app.runs.engine import Engine
from app.runs.queue import RunQueue
from app.runs.reaper import Reaper
from app.runs.steering import Bells, RunSteering
from app.runs.wakeup import Waking
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs, count_by_state
from app.store.runs.steers import StoredSteers
from handlers.access.issues import Refusal
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[3]


@dataclass
class KeepingReporter:
    """The port Reporter: keeps what was told."""

    told: list = field(default_factory=list)

    def stage_started(self, stage, title):
        self.told.append(("started", stage))

    def stage_finished(self, stage, summary):
        self.told.append(("finished", stage))

    def report_parked(self, stage, approvals):
        self.told.append(("parked", stage))

    def report_pause(self, stage, why):
        self.told.append(("paused", stage))


class Journal:
    """The port Journal: nobody has said anything."""

    async def turns(self, session):
        return []


@dataclass
class Approvals:
    """The port Approvals of one run, over the real store."""

    stored: StoredApprovals
    run_id: str

    async def ask(self, asking):
        return (await self.stored.ask_once(self.run_id, asking)).approval

    async def all_decided(self, ids):
        return await self.stored.all_decided(ids)

    async def claim(self, ids):
        return await self.stored.claim(ids)


@dataclass
class FailingEquipment:
    """What a run is given here; errors in `finishing` are raised, one for each finish."""

    ports: Ports
    admission: object = None
    finishing: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    closed: int = 0
    rested: int = 0

    def wrap(self, steps, reporter):
        return steps

    async def admit(self):
        if isinstance(self.admission, Exception):
            raise self.admission
        if isinstance(self.admission, Admission):
            return self.admission
        return Admission(refusal=self.admission, policy=PinnedPolicy(text=None), tainted=False)

    async def rest(self):
        self.rested += 1

    async def finish(self, outcome):
        if self.finishing:
            raise self.finishing.pop(0)
        self.ends.append(outcome)

    async def close(self):
        self.closed += 1


@dataclass
class GatedMachine:
    """A conductor on a real engine, with a pipeline of one stage that does as it is told."""

    url: str
    monkeypatch: object
    works: list = field(default_factory=list)
    """What the stage of the first run does, one for each time: an error is raised, an asking
    asked, anything else returned."""
    equipping: list = field(default_factory=list)
    admission: object = None
    finishing: list = field(default_factory=list)
    given: list = field(default_factory=list)
    obeyed: list = field(default_factory=list)
    disobeying: list = field(default_factory=list)
    between: object = None
    """An error of the pipeline outside of its stages."""

    async def open(self):
        self.database = Database(self.url)
        self.runs = Runs(self.database)
        self.approvals = StoredApprovals(self.database)
        self.steers, self.bells = StoredSteers(self.database), Bells()
        self.monkeypatch.setitem(PIPELINES, ResolveIssue, Pipeline(self.pipeline, ()))
        await self.restart()
        return self

    async def restart(self):
        """Begin as a fresh process does."""
        limits = RunLimits(usd=1, turns=1, minutes=1)
        self.conductor = RunConductor(
            self.runs,
            self.equip,
            models={},
            limits=limits,
            noreply="localhost",
            obey=self.obey,
        )
        self.engine = Engine(self.url, executor="one", stages_at_once=4, retry_seconds=0.01)
        self.queue = RunQueue(self.runs, self.engine)
        await self.engine.launch(self.conduct)

    async def close(self):
        await self.engine.drain(0)
        self.database.close()

    async def conduct(self, *run):
        return await self.conductor.conduct(*run)

    def replace(self, **parts):
        """Have runs conducted by another one of the same parts but for these."""
        self.conductor = replace(self.conductor, **parts)

    async def equip(self, run_id, request):
        if self.equipping:
            raise self.equipping.pop(0)
        approvals = Approvals(self.approvals, run_id)
        steering = RunSteering(self.steers, self.bells, run_id)
        ports = Ports(None, Journal(), None, None, KeepingReporter(), approvals, steering=steering)
        self.given.append(FailingEquipment(ports, self.admission, self.finishing))
        return self.given[-1]

    async def pipeline(self, run, request):
        @stage
        async def work(run) -> str:
            """Do as told."""
            told = self.works.pop(0) if self.works and run.id == "0001-run" else "done"
            if isinstance(told, BaseException):
                raise told
            if isinstance(told, Asking):
                return await self.ask(run, told)
            if callable(told):
                return await told()
            return told

        said = await run.stage(work)
        if self.between:
            raise self.between
        return Outcome(kind="comment", text=said)

    async def ask(self, run, asking):
        """Do what a session does with a call that waits for people."""
        approval = await run.ports.approvals.ask(asking)
        if approval.state == "waiting":
            self.works.insert(0, asking)
            raise Parked([approval.id])
        if approval.state == "expired":
            raise Unanswered("Nobody answered.")
        return f"{approval.state} by {approval.decided_by}"

    async def obey(self, command, ident):
        """Carry a command out, or raise what stands in its way."""
        self.obeyed.append(command)
        if self.disobeying:
            raise self.disobeying.pop(0)
        return {"decided": command.verb}

    async def wait_for_parked(self, run_id="0001-run"):
        """Wait until the run waits for people; return its one question."""
        async with asyncio.timeout(PATIENCE):
            while not (
                await self.runs.is_parked(run_id)
                and run_id in self.engine.pool.waiting
                and (asked := await self._list_questions(run_id))
            ):
                await asyncio.sleep(0.02)
        [waiting] = asked
        return waiting

    async def _list_questions(self, run_id):
        return [each for each in await self.approvals.list_waiting() if each.run_id == run_id]

    async def decide(self, waiting, verdict="approved"):
        """Answer as a person does, and wake the run as `Waking` does."""
        await self.approvals.decide(waiting.id, verdict=verdict, by="mara", by_id=3, via="comment")
        await self.look()

    async def look(self):
        """Do what a server does each second."""
        wake = self.engine.wake
        waking = Waking(self.approvals, wake, steers=self.steers, ring=self.bells.ring)
        await waking.look_once()

    async def end(self, run_id="0001-run"):
        """Return the outcome in the store, once it is there."""
        async with asyncio.timeout(PATIENCE):
            while (outcome := await self.runs.outcome(run_id)) is None:
                await asyncio.sleep(0.02)
        return outcome

    async def sql(self, statement):
        await self.database.write(lambda connection: connection.execute(text(statement)))

    @property
    def ends(self):
        """What people were shown at the end, over all processes."""
        return [outcome for given in self.given for outcome in given.ends]


@pytest.fixture
async def machine(sqlite_url, monkeypatch):
    made = await GatedMachine(sqlite_url, monkeypatch).open()
    yield made
    await made.close()


@pytest.fixture
def wish():
    return ResolveIssue(
        installation_id=1,
        repository=Repository(id=9, owner="octo", name="lib", default_branch="main"),
        number=7,
        title="It adds wrong",
        body="`add(1, 1)` gives 3.",
        author=Person(id=2, login="jonas"),
        asked_by=Person(id=3, login="mara"),
        label="bot:resolve",
        url="https://example.org/7",
    )


async def state(machine, run_id="0001-run"):
    query = f"SELECT state FROM runs WHERE id = '{run_id}'"
    return await machine.database.read(lambda c: c.exec_driver_sql(query).scalar())


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


@dataclass
class KeepingPublisher:
    """The port Publisher: keeps what was pushed."""

    pushed: dict = field(default_factory=dict)

    async def push(self, branch, commit):
        self.pushed[branch] = commit
        return f"url/{branch}"


@pytest.mark.parametrize("trouble", [TransientError("GitHub answers 502"), KeyError("a slip")])
async def test_what_was_committed_until_then_is_kept_whoever_failed(machine, wish, trouble):
    publisher = KeepingPublisher()

    async def pipeline(run, request):
        @stage
        async def implement(run) -> None:
            """Commit something."""
            run.stands(trunk="a", base="a", start="a", head="b")

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
    assert (outcome.kind, commit) == ("failed", "b")
    assert f"is kept on [`{branch}`](url/{branch})" in outcome.text
    assert await state(machine) == "failed"


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


# --- restarts -----------------------------------------------------------------------------------


async def test_a_history_that_newer_code_cannot_follow_is_shown_as_failed(machine, wish):
    asked = asyncio.Event()

    async def hang():
        asked.set()
        await asyncio.sleep(60)

    machine.works = [hang]
    await machine.queue.submit("0001-run", wish)
    await machine.queue.submit("0002-run", wish)
    await asyncio.wait_for(asked.wait(), PATIENCE)
    await machine.engine.drain(0)
    await machine.sql(
        "UPDATE operation_outputs SET function_name = 'access/0' WHERE function_name = 'access/1'"
    )
    await machine.restart()
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert machine.ends[0] == outcome
    assert (await machine.end("0002-run")).text == "done"


async def test_a_run_that_ended_just_before_the_kill_stays_as_it_ended(machine, wish):
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    await machine.engine.result("0001-run")
    await machine.engine.drain(0)
    await machine.sql("UPDATE workflow_status SET status = 'PENDING', completed_at = NULL")
    await machine.restart()
    async with asyncio.timeout(PATIENCE):
        again = await machine.engine.result("0001-run")
    assert Outcome.model_validate(again) == outcome
    assert len(machine.given) == 1, "the report was touched again"


async def lose(machine, wish, spoil):
    """Have the engine give up a run that it does not hand to anybody any more."""
    begun, over = asyncio.Event(), asyncio.Event()

    async def hold():
        begun.set()
        await over.wait()
        return "held"

    machine.works = [hold]
    await machine.queue.submit("0001-run", wish)
    await asyncio.wait_for(begun.wait(), PATIENCE)
    await machine.queue.submit("0002-run", wish)
    await machine.sql(spoil)
    over.set()
    await machine.end("0001-run")
    async with asyncio.timeout(PATIENCE):
        while not await machine.engine.find_ended(["0002-run"]):
            await asyncio.sleep(0.02)
    assert await machine.runs.outcome("0002-run") is None


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (
            "UPDATE workflow_status SET status = 'CANCELLED' WHERE workflow_uuid = '0002-run'",
            "cancelled by the operator",
        ),
        ("UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '0002-run'", "`0002-run`"),
    ],
    ids=["cancelled", "a request that cannot be read"],
)
async def test_what_the_engine_gave_up_is_shown_as_failed(machine, wish, spoil, says):
    await lose(machine, wish, spoil)
    await machine.conductor.end_lost(machine.engine.find_ended)
    outcome = await machine.end("0002-run")
    assert outcome.kind == "failed"
    assert says in outcome.text
    assert machine.ends[-1] == outcome
    before = len(machine.given)
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert len(machine.given) == before


async def test_a_lost_run_whose_report_fails_is_ended_all_the_same(machine, wish):
    await lose(machine, wish, "UPDATE workflow_input SET inputs = '{' WHERE inputs LIKE '%0002%'")
    await machine.sql("UPDATE runs SET request = '{' WHERE id = '0002-run'")
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert (await machine.end("0002-run")).kind == "failed"


async def test_upkeep_finds_what_was_lost_by_itself(machine, wish):
    keeping = asyncio.create_task(Reaper(machine.conductor, machine.engine, look_seconds=0.1).run())
    begun, over = asyncio.Event(), asyncio.Event()

    async def hold():
        begun.set()
        await over.wait()
        return "held"

    machine.works = [hold]
    await machine.queue.submit("0001-run", wish)
    await asyncio.wait_for(begun.wait(), PATIENCE)
    await machine.queue.submit("0002-run", wish)
    await machine.sql("UPDATE workflow_input SET inputs = '{' WHERE workflow_uuid = '0002-run'")
    over.set()
    assert (await machine.end("0002-run")).kind == "failed"
    keeping.cancel()


async def test_a_run_that_brings_the_process_down_again_and_again_is_put_aside(machine, wish):
    await machine.runs.create("0001-run", wish)
    for _ in range(MOST_STARTS):
        await machine.runs.record_start("0001-run")
    await machine.queue.submit("0001-run", wish)
    outcome = await machine.end()
    assert outcome.kind == "failed"
    assert "stopped again and again" in outcome.text
    assert machine.ends == [outcome]
    assert all(given.rested == 0 for given in machine.given)
    await machine.queue.submit("0002-run", wish)
    assert (await machine.end("0002-run")).text == "done"


# --- waiting for people -------------------------------------------------------------------------


def make_asking(**changes):
    about = {
        "call_id": "1.0/toolu_1",
        "session": "work/1",
        "stage": "work/1",
        "tool": "bash",
        "arguments": {"command": "deploy"},
        "rule": "policy/ask/1",
        "reason": "It deploys.",
        "head": "a" * 40,
    }
    return Asking(**{**about, **changes})


async def test_a_run_waits_for_a_yes_and_ends(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    assert await state(machine) == "parked"
    [given] = machine.given
    assert (given.rested, given.closed) == (1, 0)
    assert given.ports.reporter.told == [("started", "work/1"), ("parked", "work/1")]
    await machine.decide(waiting)
    assert (await machine.end()).text == "approved by mara"
    assert given.ports.reporter.told[2:] == [
        ("started", "work/1"),
        ("finished", "work/1"),
    ]
    assert await state(machine) == "done"


async def test_a_request_that_was_called_back_while_it_waited_does_not_go_on(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    [given] = machine.given
    given.admission = Refusal(rule="label-on", text="Nothing was done: it was taken off before.")
    await machine.decide(waiting)
    outcome = await machine.end()

    assert outcome.kind == "cancelled"  # what it committed stays
    assert "the label was taken off. What waited was not done" in outcome.text
    assert machine.works == [make_asking()]
    assert machine.ends == [outcome]
    assert await state(machine) == "cancelled"


async def test_a_request_that_may_no_longer_be_made_has_failed(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    machine.given[0].admission = Refusal(rule="asker-may-write", text="Nothing was done.")
    await machine.decide(waiting)
    outcome = await machine.end()

    assert outcome.kind == "failed"
    assert "may no longer write" in outcome.text


# --- cancelled ----------------------------------------------------------------------------------


async def cancel(machine, run_id="0001-run", via="comment"):
    assert await machine.steers.insert(run_id, "key", kind="cancel", via=via, by="mara", by_id=3)
    await machine.look()


async def test_a_run_that_is_cancelled_in_the_queue_never_begins(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.queue.submit("0002-run", wish)
    await cancel(machine, "0002-run", via="label")
    machine.admission = Refusal(rule="label-on", text="It was taken off.")
    await machine.decide(waiting)

    outcome = await machine.end("0002-run")
    assert outcome.kind == "cancelled"
    assert outcome.text == "`mara` took the label off before the work began."
    assert await state(machine, "0002-run") == "cancelled"


async def test_a_run_that_is_cancelled_while_it_works_stops_at_once(machine, wish):
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            stopped.set()

    machine.works = [work]
    await machine.queue.submit("0001-run", wish)
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        await cancel(machine)
        await stopped.wait()
    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` cancelled the run")
    assert machine.ends == [outcome]


async def test_a_run_that_is_cancelled_while_it_waits_ends_as_cancelled(machine, wish):
    """Also when the label, which was taken off for it, makes the request stand no longer."""
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    machine.given[0].admission = Refusal(rule="label-on", text="It was taken off.")
    await cancel(machine, via="label")

    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` took the label off")
    assert (await machine.approvals.get(waiting.id)).state == "void"


async def test_a_cancel_between_two_processes_does_not_mix_up_the_history(machine, wish):
    """The access check of the first process is on record, and stays what it was."""
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await machine.engine.drain(0)
    await cancel(machine)
    await machine.restart()

    outcome = await machine.end()
    assert outcome.kind == "cancelled"
    assert outcome.text.startswith("`mara` cancelled the run")


async def test_a_run_that_was_cancelled_stays_so(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await cancel(machine)
    outcome = await machine.end()
    await machine.queue.submit("0001-run", wish)  # its label's delivery comes once more

    assert Outcome.model_validate(await machine.engine.result("0001-run")) == outcome
    assert (
        await machine.steers.insert("0001-run", "late", kind="go", via="comment", by="x") is False
    )


async def test_a_command_may_ask_for_a_run(machine, wish):
    async def retry(command, ident):
        await machine.queue.submit(f"{ident}-again", wish)
        await machine.queue.submit(f"{ident}-again", wish)
        return {"asked": f"{ident}-again"}

    machine.replace(obey=retry)
    await machine.queue.submit("0001-c", command())
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-c") == {"asked": "0001-c-again"}
    assert (await machine.end("0001-c-again")).text == "done"
    assert await machine.database.read(count_by_state) == {"done": 1}


async def test_nothing_goes_on_while_nobody_can_say_whether_it_may(machine, wish, monkeypatch):
    monkeypatch.setattr("app.runs.lifecycle.LONGEST_PAUSE", 0.0)
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    [given] = machine.given
    admit, faults = given.admit, [TransientError("GitHub answers 502")] * 8

    async def fail_or_admit():
        if faults:
            raise faults.pop()
        return await admit()

    given.admit = fail_or_admit
    await machine.decide(waiting)

    assert (await machine.end()).text == "approved by mara"
    assert not faults


async def test_a_waiting_run_is_neither_lost_nor_forgotten(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.conductor.end_lost(machine.engine.find_ended)
    assert await state(machine) == "parked"
    await machine.decide(waiting, "denied")
    assert (await machine.end()).text == "denied by mara"


async def test_a_restart_asks_nobody_anew_and_tells_nobody_what_they_know(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    for _ in range(3):
        await machine.engine.drain(0)
        await machine.restart()
        assert await machine.wait_for_parked() == waiting
        assert machine.given[-1].ports.reporter.told == []
    await machine.decide(waiting)
    assert (await machine.end()).text == "approved by mara"
    assert machine.given[-1].ports.reporter.told == [
        ("started", "work/1"),
        ("parked", "work/1"),
        ("started", "work/1"),
        ("finished", "work/1"),
    ]


async def test_a_decision_made_while_no_process_ran_is_found(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.engine.drain(0)
    await machine.approvals.decide(
        waiting.id, verdict="approved", by="ada", by_id=None, via="terminal"
    )
    await machine.restart()
    assert (await machine.end()).text == "approved by ada"


async def test_another_process_decides_and_the_run_is_woken(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waking = asyncio.create_task(
        Waking(machine.approvals, machine.engine.wake, look_seconds=0.05).run()
    )
    waiting = await machine.wait_for_parked()
    other = Database(machine.url)
    await StoredApprovals(other).decide(
        waiting.id, verdict="approved", by="ada", by_id=None, via="terminal"
    )
    other.close()
    assert (await machine.end()).text == "approved by ada"
    waking.cancel()


async def test_what_nobody_answers_ends_the_run_with_a_report(machine, wish):
    machine.works = [make_asking(days=0.5 / 86_400)]
    await machine.queue.submit("0001-run", wish)
    waking = asyncio.create_task(
        Waking(machine.approvals, machine.engine.wake, look_seconds=0.05).run()
    )
    outcome = await machine.end()
    assert (outcome.kind, outcome.text) == ("failed", "Nobody answered.")
    assert machine.ends == [outcome]
    waking.cancel()


async def test_a_file_that_cannot_be_put_away_stops_no_run(machine, wish):
    async def refuse():
        raise OSError("busy")

    equip = machine.equip

    async def stubborn(*args):
        given = await equip(*args)
        given.rest = refuse
        return given

    machine.replace(equip=stubborn)
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.decide(await machine.wait_for_parked())
    assert (await machine.end()).text == "approved by mara"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        ("UPDATE approvals SET arguments = '{'", "is damaged"),
        ("UPDATE approvals SET binding = 'x'", "is damaged"),
        ("DELETE FROM approvals", None),
        ("UPDATE workflow_input SET inputs = '{' WHERE true", "mistake of its own"),
        ("UPDATE operation_outputs SET output = '{' WHERE function_id = 1", "mistake of its own"),
        ("UPDATE operation_outputs SET output = '{' WHERE function_id = 2", "mistake of its own"),
        ("UPDATE operation_outputs SET function_name = 'a/1' WHERE true", "mistake of its own"),
    ],
    ids=[
        "the call of the approval",
        "the binding of the approval",
        "no approval at all",
        "the request",
        "the admission",
        "the record of the stage",
        "the order of steps",
    ],
)
async def test_a_history_that_broke_while_waiting_ends_the_run_and_frees_the_lane(
    machine, wish, spoil, says
):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    waiting = await machine.wait_for_parked()
    await machine.queue.submit("0002-run", wish)
    await machine.engine.drain(0)
    await machine.approvals.decide(
        waiting.id, verdict="approved", by="mara", by_id=3, via="comment"
    )
    await machine.sql(f"{spoil} AND workflow_uuid = '0001-run'" if "WHERE" in spoil else spoil)
    await machine.restart()
    if says is None:  # it is asked anew, and waits: nobody's yes is on record
        assert (await machine.wait_for_parked()).asking == make_asking()
        await machine.decide(await machine.wait_for_parked(), "denied")
        assert (await machine.end()).text == "denied by mara"
        return
    async with asyncio.timeout(PATIENCE):
        while (outcome := await machine.runs.outcome("0001-run")) is None:
            await machine.conductor.end_lost(machine.engine.find_ended)
            await asyncio.sleep(0.02)
    assert outcome.kind == "failed"
    assert says in outcome.text
    assert outcome in machine.ends
    assert (await machine.end("0002-run")).text == "done"
    assert await machine.approvals.list_waiting() == []


# --- commands -----------------------------------------------------------------------------------


def command():
    return Command(
        installation_id=1,
        repository=Repository(id=9, owner="octo", name="lib", default_branch="main"),
        number=7,
        verb="approve",
        approval="k3f9x2",
        asked_by=Person(id=3, login="mara"),
        via="comment",
        url="https://example.org/7#1",
    )


async def test_a_command_is_carried_out_once_and_is_no_run(machine):
    await machine.queue.submit("0001-run", command())
    await machine.queue.submit("0001-run", command())
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-run") == {"decided": "approve"}
    assert machine.obeyed == [command()]
    assert await machine.database.read(count_by_state) == {}


async def test_a_command_does_not_wait_for_the_run_it_is_about(machine, wish):
    machine.works = [make_asking()]
    await machine.queue.submit("0001-run", wish)
    await machine.wait_for_parked()
    await machine.queue.submit("0002-run", command())
    async with asyncio.timeout(PATIENCE):
        await machine.engine.result("0002-run")


async def test_a_command_outlives_a_github_that_is_away_for_long(machine, monkeypatch):
    monkeypatch.setattr("app.runs.conductor.LONGEST_PAUSE", 0.01)
    machine.disobeying = [TransientError("GitHub answers 502")] * 13
    await machine.queue.submit("0001-run", command())
    async with asyncio.timeout(PATIENCE):
        assert await machine.engine.result("0001-run") == {"decided": "approve"}
    assert len(machine.obeyed) == 14


# --- the way from a pipeline to its stage -------------------------------------------------------

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


async def test_a_stage_is_reached_through_few_functions(machine, wish):
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
