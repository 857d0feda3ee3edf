"""SIGTERM in the middle of a run: the server drains and exits well, and the next one goes on.

A newer version had the run meanwhile, as while an update rolls: what it added hinders nobody.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing

from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.conftest import SCRIPT


def in_a_model_call(place, stop):
    async def hook(asked):
        if asked.number == 5:
            stop()
            await asyncio.sleep(1.0)  # the answer comes while the server drains

    place.model.on_request(hook)


def in_a_command(place, stop):
    async def watch():
        await place.wait_until(lambda: any(place.server.data.glob("runs/*/*/notes.txt")))
        stop()

    return asyncio.create_task(watch())


def in_the_push(place, stop):
    async def hook(_request):
        stop()
        await asyncio.sleep(0.5)

    place.github.faults.call_before("POST", "git-receive-pack", hook)


MOMENTS = [in_a_model_call, in_a_command, in_the_push]
"""In the order in which a run comes to them."""


ADDED = {"of_a_newer_version": {"a": [1]}}


def add_to_record(value):
    """Return what a step returned with something unknown in it, and in what it is made of."""
    record = value.get("value")
    if not isinstance(record, dict):
        return value
    inner = {name: record[name] | ADDED for name in ("standing", "output") if record.get(name)}
    return {"value": record | inner | ADDED}


def add_to_request(value):
    """Return what a run was asked for with something unknown in it."""
    return value | ADDED | {"repository": value["repository"] | ADDED}


def add_to_inputs(value):
    """Return what the engine was given for a run with something unknown in the request."""
    ident, request, *rest = value["args"]
    return value | {"args": [ident, add_to_request(request), *rest]}


STORED = {
    ("operation_outputs", "output", "function_name LIKE 'stage/%' OR function_name LIKE 'acc%'"): (
        add_to_record
    ),
    ("runs", "request", "true"): add_to_request,
    ("workflow_input", "inputs", "inputs LIKE '%resolve_issue%'"): add_to_inputs,
}


def add_everywhere(path):
    """Put something unknown into what is stored; return how many texts were changed, by table."""
    changed = {}
    with closing(sqlite3.connect(path)) as connection, connection:
        for (table, column, which), add in STORED.items():
            query = f"SELECT rowid, {column} FROM {table} WHERE {which}"
            found = connection.execute(query).fetchall()
            for number, stored in found:
                more = json.dumps(add(json.loads(stored)))
                update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                connection.execute(update, (more, number))
            changed[table] = len(found)
    return changed


def leave_as_newer(place):
    """Have what is stored look as if a newer version had worked on the run."""
    for database in place.opened.values():
        database.close()
    place.opened.clear()
    changed = add_everywhere(place.server.data / "fettle.db")
    assert changed.pop("operation_outputs") >= 5
    assert changed == {"runs": 1, "workflow_input": 1}


async def test_a_server_that_is_stopped_goes_on_after_its_restart(make_place):
    async with make_place(script=SCRIPT) as place:
        for number, moment in enumerate(MOMENTS):
            stopping = []
            watching = moment(
                place, lambda to=stopping: to.append(asyncio.create_task(place.server.stop()))
            )
            if number:
                await place.server.start(place.app)
            else:
                await place.label()
            await place.wait_until(lambda to=stopping: to)
            await stopping[0]

            assert place.server.process.returncode == 0
            assert watching is None or watching.done()
            log = place.server.log.read_text()
            assert log.count("draining") == number + 1
            assert "Traceback" not in log
            assert "run ended" not in log
            done_since = log.rpartition("draining")[2].count("step done")
            assert done_since <= 1, "the step at work came to its end, and another one began"
            if number == 1:
                leave_as_newer(place)

        await place.server.start(place.app)
        outcome = await place.wait_for_end()
        assert outcome.kind == "pull_request"
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 2
        [comment] = place.comments()
        assert "**Done.**" in comment
        assert await answers(place) == len(place.model.requests), "an answer was paid twice"


async def answers(place):
    """Return how many answers the run's journal holds."""
    database = place.database()
    run_id, _ = await Runs(database).latest()
    return (await StoredJournal(database, run_id).sum_usage())[2]
