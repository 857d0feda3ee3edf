"""Databases with runs in them, made through the real stores, for those that look at them."""

from __future__ import annotations

import asyncio
import json

from sqlalchemy import text

from agents.ports import Turn, Usage
from agents.run import Outcome
from app.store.database import Database
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.app.commands.answering_scene import make_asking
from tests.app.github.approvals.test_action_text import REQUEST

STEPS = (
    "CREATE TABLE operation_outputs (workflow_uuid TEXT, function_id INTEGER, function_name TEXT,"
    " output TEXT, started_at_epoch_ms INTEGER, completed_at_epoch_ms INTEGER)"
)
STEP = "INSERT INTO operation_outputs VALUES (:run, :number, :name, :output, :start, :end)"


def prompt(words, stage="implement/1"):
    return Turn("prompt", stage, [{"type": "text", "text": words}])


def answer(*blocks, stage="implement/1", **more):
    usage = Usage(input=100, output=50, cache_write_5m=100, cache_read=600)
    told = {"stop_reason": "tool_use", "usage": usage, "cost_usd": 0.25, "seconds": 1.5, **more}
    return Turn("answer", stage, list(blocks), **told)


def call(name="bash", **arguments):
    return {"type": "tool_use", "id": "c1", "name": name, "input": arguments}


def results(words, *, tree=None, error=False, stage="implement/1", ruling=None):
    block = {"type": "tool_result", "tool_use_id": "c1", "content": words}
    rulings = {"c1": ruling} if ruling else {}
    content = [block | ({"is_error": True} if error else {})]
    return Turn("results", stage, content, tree=tree, rulings=rulings)


class RunStore:
    """A database with runs in it."""

    def __init__(self, url):
        self.url = url

    def execute(self, work):
        async def run_work():
            database = Database(self.url)
            try:
                await asyncio.to_thread(database.migrate)
                return await work(database)
            finally:
                database.close()

        return asyncio.run(run_work())

    def run(self, ident, *, state="done", session="implement/1", turns=(), **changes):
        """Store a run in that state, with these turns."""
        kind = {"done": "comment", "refused": "refused", "failed": "failed"}.get(state)
        words = changes.pop("outcome", f"It {state}.")

        async def work(database):
            runs = Runs(database)
            await runs.create(ident, REQUEST.model_copy(update=changes))
            if state != "queued":
                await runs.record_stage(ident, "stage/implement/1")
            if state == "parked":
                await runs.record_parked(ident, "approval")
            for number, turn in enumerate(turns):
                await StoredJournal(database, ident).append(session, number, turn)
            if kind is not None:
                await runs.record_end(ident, Outcome(kind=kind, text=words))

        self.execute(work)

    def ask(self, ident, **changes):
        """Have the run ask; return the approval's id."""

        async def work(database):
            return (await StoredApprovals(database).ask_once(ident, make_asking(**changes))).id

        return self.execute(work)

    def decide(self, approval, **more):
        async def work(database):
            await StoredApprovals(database).decide(approval, **more)

        self.execute(work)

    def use(self, approval):
        async def work(database):
            await StoredApprovals(database).claim([approval])

        self.execute(work)

    def steps(self, ident, *steps):
        """Store what the engine records: name, start and end in seconds, what was returned."""
        rows = [
            {
                "run": ident,
                "number": number,
                "name": name,
                "start": int(start * 1000),
                "end": int(end * 1000),
                "output": json.dumps({"value": value}),
            }
            for number, (name, start, end, value) in enumerate(steps)
        ]

        async def work(database):
            await database.write(lambda c: c.execute(text(STEPS)))
            await database.write(lambda c: c.execute(text(STEP), rows))

        self.execute(work)

    def sql(self, statement):
        async def work(database):
            await database.write(lambda c: c.execute(text(statement)))

        self.execute(work)
