"""Alerts in the dispatcher: many at once become one run for each place, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest
from sqlalchemy import update

from agents.ports import Batch
from agents.requests import Command
from agents.run import Outcome
from app.store.alerts.remediations import Remediations
from app.store.alerts.runs import AlertRuns
from app.store.handled_feedback import Batches
from app.store.runs.runs import Runs
from app.store.tables import runs
from app.webhooks.dispatcher import ATTEMPTS, COVERED, NOBODY, UNDER_WAY
from app.webhooks.receiver import Delivery
from handlers.notifications import AlertClosed, PullClosed
from tests.app.store.alerts.test_runs import request
from tests.fakes.requests import build_fix_checks, build_repository
from tests.handlers.test_dependabot_alert import ALERT, PAYLOAD

ROOT = Path(__file__).parents[4]
KILLED = """
import asyncio, os, signal, sys
from app.webhooks.dispatcher import Dispatcher
from app.webhooks.inbox import Inbox
from app.store.database import Database
from app.store.runs.runs import Runs

class Engine:
    def __init__(self, runs):
        self.runs = runs
    async def submit(self, run_id, request):
        await self.runs.create(run_id, request)

class Dies(Dispatcher):
    async def _settle(self, marks):
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    database = Database(sys.argv[1])
    inbox = Inbox(database, limit=1000)
    await Dies(database, inbox, Engine(Runs(database))).dispatch_batch()

asyncio.run(main())
"""


class StoringEngine:
    """Takes requests as the real one does: a run is in the store before it is queued."""

    def __init__(self, database):
        self.runs, self.taken = Runs(database), []

    async def submit(self, run_id, request):
        if not isinstance(request, AlertClosed | Command | PullClosed):
            await self.runs.create(run_id, request)
        self.taken.append((run_id, request))


@pytest.fixture
def engine(database):
    return StoringEngine(database)


@pytest.fixture
def arrives(inbox):
    async def insert_alert(number, *, action="created", state="open", package="minimist", **more):
        dependency = {
            "package": {"ecosystem": "npm", "name": package},
            "manifest_path": more.get("manifest", "package-lock.json"),
        }
        alert = {**ALERT, "number": number, "state": state, "dependency": dependency}
        body = orjson.dumps({**PAYLOAD, "action": action, "alert": alert})
        ident = more.get("ident", f"{action}-{number}")
        return await inbox.store(Delivery(ident, "dependabot_alert", action, 1, f"h-{ident}", body))

    return insert_alert


async def states(database):
    query = "SELECT state, note FROM deliveries ORDER BY run_id"
    return await database.read(lambda c: [tuple(row) for row in c.exec_driver_sql(query)])


async def test_forty_at_once_become_one_run_for_each_package_and_folder(
    dispatcher, database, engine, arrives
):
    places = [
        ("lodash", "a/package-lock.json"),
        ("lodash", "b/package-lock.json"),
        ("minimist", "a/package-lock.json"),
        ("minimist", "package-lock.json"),
    ]
    for number in range(1, 41):
        package, manifest = places[number % 4]
        await arrives(number, package=package, manifest=manifest)
    assert not await dispatcher.dispatch_batch()
    assert len(engine.taken) == len({request.lane for _, request in engine.taken}) == 4
    marked = Counter(state for state, _ in await states(database))
    assert marked == {"dispatched": 4, "ignored": 36}
    reasons = {note for state, note in await states(database) if state == "ignored"}
    assert reasons == {COVERED.format(run=run_id) for run_id, _ in engine.taken}
    told = [await AlertRuns(database).list_told_alerts(run_id) for run_id, _ in engine.taken]
    assert sum(map(len, told)) == 36


async def test_an_alert_that_the_run_did_not_read_gets_a_run_of_its_own(
    dispatcher, database, engine, arrives
):
    await arrives(1)
    await dispatcher.dispatch_batch()
    [(first, _)] = engine.taken
    await Runs(database).record_stage(first, "stage/scan/1")
    await arrives(2)
    await arrives(3)
    await dispatcher.dispatch_batch()
    assert [told.told[0].alert for _, told in engine.taken] == [1, 2]
    await Runs(database).record_end(first, Outcome(kind="comment", text="Done."))
    await arrives(4)
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 2


async def test_a_run_that_cannot_be_read_does_not_stop_the_dispatcher(
    dispatcher, database, engine, arrives
):
    await arrives(1)
    await dispatcher.dispatch_batch()
    await database.write(lambda c: c.execute(update(runs).values(request="{broken")))
    await arrives(2)
    await arrives(3, package="lodash")
    for _ in range(ATTEMPTS):
        await dispatcher.dispatch_batch()
        await asyncio.sleep(0.2)
    assert [request.package for _, request in engine.taken] == ["minimist", "lodash"]
    [_, (state, note), _] = await states(database)
    assert state == "failed"
    assert "JSONDecodeError" in note


async def test_a_redelivery_changes_nothing(dispatcher, engine, arrives):
    assert await arrives(1) == "stored"
    assert await arrives(1) == "duplicate"
    await dispatcher.dispatch_batch()
    assert await arrives(1) == "duplicate"
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 1


async def test_a_kill_between_leaving_it_to_a_run_and_marking_loses_and_doubles_nothing(
    dispatcher, database, engine, arrives
):
    for number in range(1, 6):
        await arrives(number)
    url = str(database.engine.url)
    died = subprocess.run([sys.executable, "-c", KILLED, url], cwd=ROOT, check=False)
    assert died.returncode == -signal.SIGKILL
    [run_id] = await Runs(database).list_unfinished()
    assert {state for state, _ in await states(database)} == {"received"}
    assert len(await AlertRuns(database).list_told_alerts(run_id)) == 4

    await Runs(database).record_stage(
        run_id, "stage/scan/1"
    )  # it went on, and has read all of them
    await dispatcher.dispatch_batch()
    assert [each for each, _ in engine.taken] == [run_id]
    assert await Runs(database).list_unfinished() == [run_id]
    assert Counter(s for s, _ in await states(database)) == {"dispatched": 1, "ignored": 4}


async def test_what_the_engine_did_not_take_at_once_is_offered_again_though_others_found_it(
    dispatcher, database, engine, arrives
):
    taken, engine.submit = engine.submit, None

    async def refuses(run_id, request):
        await engine.runs.create(run_id, request)
        raise RuntimeError("not now")

    engine.submit = refuses
    await arrives(1)
    await arrives(2)
    await dispatcher.dispatch_batch()
    assert [state for state, _ in await states(database)] == ["received", "ignored"]
    engine.submit = taken
    dispatcher._retries.clear()
    await dispatcher.dispatch_batch()
    assert len(engine.taken) == 1


@pytest.mark.parametrize("stage", ["access/1", "stage/fix/1"])
async def test_the_clock_asks_for_nothing_while_a_run_is_under_way(
    dispatcher, database, engine, inbox, stage
):
    about = request(1)
    await Runs(database).create("0001", about)
    await Runs(database).record_stage("0001", stage)
    due = request(1, via="schedule").model_dump(mode="json")
    body = orjson.dumps({"request": due})
    await inbox.store(Delivery("fettle.alerts-1", "fettle.schedule", "due", 1, "h1", body))
    await dispatcher.dispatch_batch()
    assert engine.taken == []
    assert await states(database) == [("ignored", UNDER_WAY.format(run="0001"))]


async def test_closed_alerts_are_told(dispatcher, engine, arrives):
    await arrives(1, action="fixed", state="fixed")
    await dispatcher.dispatch_batch()
    [(_, told)] = engine.taken
    assert isinstance(told, AlertClosed)


async def closes(inbox, number, ident):
    pull = {"number": number, "title": "x", "html_url": "https://example.org", "merged": True}
    payload = {**PAYLOAD, "action": "closed", "pull_request": pull}
    body = orjson.dumps({**payload, "sender": {"id": 8, "login": "mara"}})
    await inbox.store(Delivery(ident, "pull_request", "closed", 1, ident, body))


async def test_of_closed_pull_requests_only_those_are_told_that_somebody_waits_for(
    dispatcher, database, engine, inbox
):
    about = request(1)
    here = about.repository.model_copy(update={"id": 99})
    about = about.model_copy(update={"repository": here})
    await Runs(database).create("0001", about)
    await Runs(database).record_end("0001", Outcome(kind="comment", text="Done."))
    kept = {"cancelled": False, "commit": "c" * 40, "found": {1: "m"}}
    await Remediations(database).remember("0001", about, number=31, **kept)
    await closes(inbox, 30, "p30")
    await closes(inbox, 31, "p31")
    await dispatcher.dispatch_batch()
    assert [type(told).__name__ for _, told in engine.taken] == ["Command", "PullClosed"]
    assert await states(database) == [("ignored", NOBODY), ("dispatched", None)]


async def test_closed_pull_requests_are_told_where_something_may_stand_on_them(
    dispatcher, database, engine, inbox
):
    about = build_fix_checks(repository=build_repository(id=99), number=30)
    await Runs(database).create("0001", about)
    await Runs(database).record_end("0001", Outcome(kind="comment", text="Done."))
    done = Batch(kind="checks", head="a" * 40, pushed="b" * 40)
    await Batches(database).remember("0001", about, done)
    await closes(inbox, 30, "p30")
    await dispatcher.dispatch_batch()
    assert [type(told).__name__ for _, told in engine.taken] == ["Command", "PullClosed"]


@pytest.mark.parametrize(
    "names",
    [
        {"package": "../../etc"},
        {"manifest": "../package.json"},
        {"package": "n" * 301},
        {"manifest": "a\0b/package.json"},
    ],
)
async def test_hostile_names_ask_for_nothing(dispatcher, database, engine, arrives, names):
    await arrives(1, **names)
    await arrives(2, **names, action="fixed", state="fixed")
    await dispatcher.dispatch_batch()
    assert engine.taken == []
    assert {state for state, _ in await states(database)} == {"ignored"}


@pytest.mark.parametrize(
    ("package", "manifest"),
    [("n" * 300, "package.json"), ("minimist", "пакет #1/" + "x" * 300 + "/package.json")],
)
async def test_odd_names_have_runs_of_their_own(dispatcher, engine, arrives, package, manifest):
    await arrives(1, package=package, manifest=manifest)
    await arrives(2, package=package, manifest=manifest)
    await arrives(3)
    await dispatcher.dispatch_batch()
    assert [told.told[0].alert for _, told in engine.taken] == [1, 3]
