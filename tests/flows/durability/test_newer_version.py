"""A newer version had the run first, as while an update rolls: what it added hinders nobody."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

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


async def test_a_run_goes_on_after_a_newer_version_had_it(make_place):
    async with make_place() as place:
        await place.label_and_kill(6)
        for database in place.opened.values():
            database.close()
        place.opened.clear()
        changed = add_everywhere(place.server.data / "fettle.db")
        assert changed.pop("operation_outputs") >= 5
        assert changed == {"runs": 1, "workflow_input": 1}
        await place.server.start(place.app)

        await place.ends("pull_request")
        [pull] = place.pulls()
        assert len(await place.commits(pull)) == 1
        assert len(place.comments()) == 1
