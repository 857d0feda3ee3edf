"""Doing an ended run once more: as it was, once for each form, and not beside another one."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select, text

from app.store.runs import Runs
from app.store.tables import deliveries
from tests.app.cli.runs.runs_scene import STEP, STEPS
from tests.app.pages.conftest import TURNS

RUN = "/runs/0001-a"
RETRY = f"{RUN}/retry"


async def store_steps(pages, *names, run="0001-a", **records):
    """Store that the run came to these stages, and what it recorded of some."""

    def write(connection):
        connection.execute(text(STEPS))
        for number, (name, record) in enumerate([*dict.fromkeys(names).items(), *records.items()]):
            output = json.dumps({"value": record}) if record else None
            values = {"run": run, "number": number, "name": name, "output": output}
            times = {"start": 1_000 * number, "end": 1_000 * number + 500}
            connection.execute(text(STEP), values | times)

    await pages.database.write(write)


async def list_waiting(pages):
    """Return the events that wait in the inbox."""
    return await pages.database.read(lambda c: c.scalars(select(deliveries.c.event)).all())


async def test_a_run_is_done_once_more_from_a_stage(pages):
    await pages.run("0001-a", *TURNS, state="failed", title="Add well")
    await store_steps(pages, "access", "stage/triage_issue/1", "stage/implement/1")
    async with pages.logged_in() as browser:
        _, page = await browser.get(RUN)
        sent = [(await browser.post(RETRY, stage="implement", once="1"))[0] for _ in range(2)]
        _, other = await browser.post(RETRY, stage="implement", once="2")
        path = sent[0].headers["Location"]
        _, told = await browser.get(path, Accept="application/json")
    made = await Runs(pages.database).request(path.removeprefix("/runs/"))

    assert "<option>triage_issue</option><option>implement</option>" in page
    assert [(got.status, got.headers["Location"]) for got in sent] == [(303, path)] * 2
    assert "under way there already" in other
    assert json.loads(told)["title"] == "Add well"
    assert made["again"] == {"run_id": "0001-a", "stage": "implement"}
    assert (made["asked_by"]["login"], made["via"]) == ("ada", "terminal")
    assert await list_waiting(pages) == ["fettle.page"]


@pytest.mark.parametrize(
    ("state", "form"),
    [
        ("running", {}),
        ("parked", {}),
        ("failed", {"stage": "publish"}),
        ("failed", {"stage": "../access"}),
        ("failed", {"stage": "access"}),
    ],
)
async def test_what_makes_no_sense_begins_nothing(pages, state, form):
    await pages.run("0001-a", state=state)
    await store_steps(pages, "access", "stage/triage_issue/1")
    async with pages.logged_in() as browser:
        await browser.get("/")
        got, words = await browser.post(RETRY, once="1", **form)

    assert got.status == 409
    assert "has ended" in words
    assert await list_waiting(pages) == []


async def test_runs_that_nobody_asks_for_are_not_asked_for(pages):
    await pages.fix("0001-a")

    def make_unreadable(connection):
        connection.execute(text('UPDATE runs SET request = \'{"kind": "of another version"}\''))

    await pages.database.write(make_unreadable)
    async with pages.logged_in() as browser:
        await browser.get("/")
        got, words = await browser.post(RETRY, once="1")

    assert got.status == 409
    assert "Ask for it afresh" in words
