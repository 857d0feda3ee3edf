"""The audit log: nothing in it can be changed, put in or taken out unseen."""

from __future__ import annotations

import asyncio
import json

import pytest
from sqlalchemy import delete, insert, select, update

from app.store.audit import (
    PrivilegedAct,
    append_act,
    append_settings,
    forget_acts,
    read_entries,
    read_newest,
)
from app.store.database import Database
from app.store.tables import audit

ACTS = [
    PrivilegedAct("run.asked", "mara", run_id="run-1", repository_id=7, repository="octo/lib"),
    PrivilegedAct("token.minted", "fettle", repository_id=7, details={"permissions": {}}),
    PrivilegedAct("approval.decided", "jonas", repository_id=8, details={"decision": "denied"}),
    PrivilegedAct("push", "mara", repository_id=7, details={"branch": "bot/1", "commit": "a1"}),
]


@pytest.fixture
def database(store_url):
    made = Database(store_url)
    yield made
    made.close()


async def fill(database):
    for act in ACTS:
        await database.write(lambda c, act=act: append_act(c, act))


async def find_faults(database):
    entries = await database.read(lambda c: list(read_entries(c)))
    pairs = zip([None, *entries], entries, strict=False)
    return [fault for before, each in pairs if (fault := each.find_fault(before))]


async def test_what_was_done_is_there_in_order_and_holds(database):
    await fill(database)
    entries = await database.read(lambda c: list(read_entries(c)))
    assert [each.number for each in entries] == [1, 2, 3, 4]
    assert [each.act["actor"] for each in entries] == ["mara", "fettle", "jonas", "mara"]
    assert entries[3].act["details"] == {"branch": "bot/1", "commit": "a1"}
    assert await find_faults(database) == []
    assert await database.read(read_newest) == (4, entries[3].hash)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"content": '{"kind": "token.minted"}'}, "entry 2 was changed: its content"),
        ({"kind": "push"}, "entry 2 was changed: its content is of another kind"),
        ({"at": 1.5}, "entry 2 was changed: its hash"),
        ({"digest": "0" * 64}, "entry 2 was changed: its content"),
        ({"previous": "0" * 64}, "entry 2 does not follow entry 1"),
        ({"hash": "0" * 64}, "entry 2 was changed: its hash"),
        ({"number": 12}, "entry 2 is missing"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_an_entry_that_was_changed_is_named(database, values, said):
    await fill(database)
    await database.write(lambda c: c.execute(update(audit).where(audit.c.number == 2), values))
    assert (await find_faults(database))[0].startswith(said)


async def test_whoever_makes_a_changed_entry_fit_breaks_the_next(database):
    await fill(database)

    def forge(connection):
        """Chain another act in the place of the third, as whoever can write may do."""
        row = connection.execute(select(audit).where(audit.c.number == 4)).one()
        connection.execute(delete(audit).where(audit.c.number >= 3))
        append_act(connection, PrivilegedAct("approval.decided", "jonas", repository_id=8))
        connection.execute(insert(audit).values(row._asdict()))

    await database.write(forge)
    assert await find_faults(database) == [
        "entry 4 does not follow entry 3: one of them was replaced"
    ]


async def test_an_entry_that_was_taken_out_is_missed(database):
    await fill(database)
    await database.write(lambda c: c.execute(delete(audit).where(audit.c.number == 3)))
    assert (await find_faults(database))[0] == "entry 3 is missing"


async def test_what_is_forgotten_leaves_a_chain_that_holds(database):
    await fill(database)
    await database.write(lambda c: forget_acts(c, [7]))
    entries = await database.read(lambda c: list(read_entries(c)))
    assert await find_faults(database) == []
    forgotten = {"kind": "run.asked", "forgotten": True}
    assert entries[0].act == forgotten
    assert "octo/lib" not in str(entries)
    assert entries[2].act["actor"] == "jonas"


async def test_whoever_guesses_what_was_forgotten_cannot_check_it(database):
    """The same act twice has two digests, so that none of them can be looked up."""
    for _ in range(2):
        await database.write(lambda c: append_act(c, ACTS[0]))
    first, second = await database.read(lambda c: list(read_entries(c)))
    assert first.act == second.act
    assert first.digest != second.digest


async def test_several_workers_at_once_leave_no_gap(store_url, database):
    other = Database(store_url)
    try:
        each = [
            place.write(lambda c: append_act(c, ACTS[0]))
            for _ in range(10)
            for place in (database, other)
        ]
        await asyncio.gather(*each)
    finally:
        other.close()
    assert await find_faults(database) == []
    assert (await database.read(read_newest))[0] == 20


async def test_settings_are_noted_where_they_differ_and_never_their_values(database):
    async def start(settings, version="1"):
        await database.write(lambda c: append_settings(c, settings, version))
        entries = await database.read(lambda c: list(read_entries(c)))
        return [each.act["details"]["changed"] for each in entries]

    both = {"model": "opus", "host": "10.1.2.3"}
    assert await start(both) == [["host", "model"]]
    assert await start(both) == [["host", "model"]]
    assert await start({"model": "haiku", "host": "10.1.2.3"}) == [["host", "model"], ["model"]]
    assert len(await start({"model": "haiku"}, "2")) == 3
    assert (await start({"model": "haiku"}, "3"))[3] == []
    stored = await database.read(lambda c: c.execute(select(audit.c.content)).all())
    assert "10.1.2.3" not in json.dumps([row.content for row in stored])
