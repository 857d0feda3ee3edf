"""A run waits for people: over a power cut, an upgrade, silence, and damage to what was stored."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from app.simulator.github.gitdir import GitDir
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from app.store.runs.turns import StoredJournal
from tests.flows.approvals.test_approval_commands import RESET, progress, questions, say, script
from tests.flows.conftest import CHECK, CHECKED, PATIENCE
from tests.flows.keeping import ONE_LOOP

pytestmark = ONE_LOOP

PATH = "docs/CODEOWNERS"
OWNERS = {"write": {"path": PATH, "content": "* @mara\n"}}
FILES = CHECKED | {PATH: "* @jonas\n"}
SHORT = FILES | {".github/fettle.yml": f"{CHECK}approvals: {{days: 0.00002}}\n"}


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request):
    """The settings of a server, in turn on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return {}
    return {"FETTLE_DATABASE_URL": request.getfixturevalue("postgresql").database()}


class ServerDatabase:
    """The server's database, seen from the side."""

    def __init__(self, place):
        self.database = place.database()
        self.runs = Runs(self.database)
        self.approvals = StoredApprovals(self.database)
        self.asked = ""

    async def wait_until_parked(self, place):
        """Wait until the run is parked and its files are gone; return its id."""
        async with asyncio.timeout(PATIENCE):
            run_id = await place.wait_for_parked()
        await place.wait_until(lambda: not (place.server.data / "runs" / run_id).exists())
        self.asked = f"WHERE session = 'implement/1' AND run_id = '{run_id}'"
        return run_id

    async def turns(self):
        """Return the turns of the session that asked, as they are stored, byte for byte."""
        query = text(f"SELECT number, kind, content FROM turns {self.asked} ORDER BY number")
        return await self.database.read(lambda c: [tuple(row) for row in c.execute(query)])

    async def sql(self, statement):
        await self.database.write(lambda c: c.execute(text(statement)))


async def test_power_cuts_while_it_waits_cost_nothing_nor_an_answer_in_one(share_place, settings):
    async with share_place(files=FILES, script=script(OWNERS, RESET), **settings) as place:
        await place.label()
        _, [write, reset] = await questions(place, 2)
        store = ServerDatabase(place)
        run_id, before = await store.wait_until_parked(place), await store.turns()
        assert 'fettle_runs{state="parked"} 1.0' in await place.server.metrics()

        await place.kill_and_restart()
        await store.approvals.decide(
            write, verdict="approved", by="ada", by_id=None, via="terminal", reason=""
        )
        await place.server.kill()
        await say(place, "mara", f"/bot deny {reset} keep it")
        lost = place.github.webhooks.log[-1]
        assert not lost.ok
        await place.server.start(place.app)
        assert (await place.redeliver(lost)).ok
        assert (await place.wait_for_end()).kind == "pull_request"

        after = await store.turns()
        assert after[: len(before)] == before
        assert before[-1][1] == "answer"
        answers = (await StoredJournal(store.database, run_id).sum_usage())[2]
        assert len(place.model.requests) == answers, "an answer was asked for twice"
        assert "mara denied this: keep it" in await place.read_results("implement/1")
        [pull] = place.pulls()
        shown = await GitDir(place.repository.gitdir).text("show", f"{pull.head_sha}:{PATH}")
        assert shown.strip() == "* @mara"
        assert len([body for body in place.comments() if "key=approval" in body]) == 2
        assert "**Done.**" in progress(place)
        decided = {each.id: each for each in await store.approvals.of_run(run_id)}
        assert (decided[write].state, decided[write].decided_by) == ("approved", "ada")
        assert (decided[reset].state, decided[reset].decided_by) == ("denied", "mara")


async def test_when_nobody_answers_the_run_ends_and_says_so(share_place):
    async with share_place(files=SHORT, script=script(RESET)) as place:
        await place.label()
        outcome = await place.wait_for_end()
        assert outcome.kind == "failed"
        assert "within 1.7 seconds" in outcome.text
        await place.wait_until(lambda: "Nobody answered approval" in progress(place))
        store = ServerDatabase(place)
        [asked] = await store.approvals.of_run((await store.runs.latest())[0])
        said = await say(place, "mara", f"/bot approve {asked.id}")
        await place.wait_until(lambda: said.reactions)
        assert (await store.approvals.get(asked.id)).state == "expired"
        assert not place.pulls()


async def test_a_conversation_that_was_damaged_while_it_waited_ends_the_run(share_place):
    async with share_place(files=FILES, script=script(RESET)) as place:
        await place.label()
        _, [ident] = await questions(place)
        store = ServerDatabase(place)
        await store.wait_until_parked(place)
        await store.sql(f"UPDATE turns SET content = '[{{' {store.asked}")
        await say(place, "mara", f"/bot approve {ident}")
        outcome = await place.wait_for_end()
        assert outcome.kind == "failed"
        assert "mistake of its own" in outcome.text
        await place.wait_until(lambda: "**Stopped.**" in progress(place))
        assert not place.pulls()
