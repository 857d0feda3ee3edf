"""Overrides whose day has come: asked for once, quietly, and never lost, whoever dies meanwhile."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import lz4.frame
import orjson
import pytest
from sqlalchemy import update

import handlers
from agents.errors import TransientError
from agents.policy import InvalidPolicy, MissingPolicy, Policy, PolicyOrigin, ValidPolicy
from agents.requests import Overruled, RemediateAlert, Repository
from agents.run import Outcome
from app.alerts.recheck_overrides import DAY, WEEK, OverrideRecheck
from app.records.installations import KnownInstallation, KnownRepository
from app.store.alerts.overrides import Overrides
from app.store.alerts.remediations import Remediations
from app.store.alerts.runs import AlertRuns
from app.store.installations.installations import StoredInstallations
from app.store.runs.runs import Runs
from app.store.schedule_leases import Sweeps
from app.store.tables import installations, repositories
from app.store.tables import remediations as rows
from app.webhooks.inbox import Inbox
from tests.app.store.alerts.test_runs import request

MADE = Overruled(versions=(("0.0.8", "0.2.4"),), reason="GHSA-x: why", until=date(2027, 2, 18))
DUE = datetime(2027, 2, 18, tzinfo=UTC).timestamp()
ABOUT = request(7)
REPOSITORY = ABOUT.repository.id
WEB = "https://github.example"


def valid_policy(**parts):
    return ValidPolicy(Policy.model_validate(parts), "", PolicyOrigin())


class OverrideScene:
    def __init__(self, database):
        self.database = database
        self.remediations, self.overrides = Remediations(database), Overrides(database)
        self.policy: object = MissingPolicy()
        self.now = DUE + 60

    async def make_fix(self, run_id="0001", about=ABOUT, *, merged=True, number=31, **more):
        await Runs(self.database).create(run_id, about)
        kept = {"cancelled": False, "commit": "c" * 40, "found": {7: "m"}, "overruled": MADE}
        await self.remediations.remember(run_id, about, number=number, **(kept | more))
        await Runs(self.database).record_end(run_id, Outcome(kind="comment", text="x"))
        if merged:
            await self.remediations.pull_closed(REPOSITORY, number, merged=True)

    async def look(self, after=0.0, worker="one"):
        """Let time pass, make a pass, and return all that was asked for so far."""
        self.now += after
        await OverrideRecheck(
            self.read_policy,
            overrides=self.overrides,
            alert_runs=AlertRuns(self.database),
            runs=Runs(self.database),
            inbox=Inbox(self.database, limit=1000),
            sweeps=Sweeps(self.database, worker),
            web=WEB,
            clock=lambda: self.now,
        ).run()
        query = "SELECT event, body FROM deliveries ORDER BY run_id"
        found = await self.database.read(lambda c: [tuple(r) for r in c.exec_driver_sql(query)])
        return [
            handlers.route(event, orjson.loads(lz4.frame.decompress(body))) for event, body in found
        ]

    async def read_policy(self, installation_id, repository):
        assert (installation_id, repository.full_name) == (1, "octo/renamed")
        if isinstance(self.policy, Exception):
            raise self.policy
        return self.policy

    async def read_until(self, run_id="0001"):
        return (await self.remediations.find(run_id)).override_until

    async def change(self, table, **values):
        await self.database.write(lambda c: c.execute(update(table).values(**values)))


@pytest.fixture
async def scene(database):
    stored, granted = StoredInstallations(database), {"vulnerability_alerts": "read"}
    account = {"account_id": 3, "account": "octo", "url": ""}
    await stored.keep(KnownInstallation(1, **account, permissions=granted, since=1.0))
    place = {"owner": "octo", "name": "renamed", "default_branch": "main"}
    await stored.keep_repositories(1, [KnownRepository(REPOSITORY, 1, **place)], whole=True)
    return OverrideScene(database)


async def test_once_its_day_has_come_it_is_asked_for_once(scene):
    await scene.make_fix()
    scene.now = DUE - 1
    assert await scene.look() == []
    [asked] = await scene.look(after=2)
    assert isinstance(asked, RemediateAlert)
    assert (asked.via, asked.unasked, asked.alerts, asked.told) == ("schedule", True, (7,), ())
    assert asked.title == "Do without the override of minimist in web"
    assert asked.lane == ABOUT.lane
    assert asked.repository == Repository(
        id=REPOSITORY, owner="octo", name="renamed", default_branch="main"
    )
    assert asked.repository_url == f"{WEB}/octo/renamed"
    assert asked.retire.model_dump() == {**MADE.model_dump(), "run_id": "0001", "days": 90}
    assert await scene.look(after=WEEK - 60) == [asked]
    assert await scene.look(after=120) == [asked, asked]  # nothing was heard of its run


async def test_the_policy_says_how_long_one_that_is_needed_is_left_alone(scene):
    scene.policy = valid_policy(remediation={"override_days": 7})
    await scene.make_fix()
    [asked] = await scene.look()
    assert asked.retire.days == 7


async def test_a_pass_that_was_cut_short_asks_for_nothing_twice(scene):
    await scene.make_fix()
    [asked] = await scene.look()
    await scene.change(rows, override_until=DUE)  # as if the second note had been lost
    assert await scene.look() == [asked]


async def test_two_workers_ask_once(scene):
    await scene.make_fix()
    [due] = await scene.overrides.due(scene.now, 10)
    assert await scene.overrides.move(due.run_id, seen=due.until, to=scene.now + DAY)
    assert not await scene.overrides.move(due.run_id, seen=due.until, to=scene.now + DAY)
    assert await scene.look(worker="two") == []


async def test_a_run_that_was_quick_has_the_last_word(scene):
    await scene.make_fix()

    class Quick(Inbox):
        async def store(self, delivery):
            await scene.overrides.settle("0001", None)
            return await super().store(delivery)

    sweep = OverrideRecheck(
        scene.read_policy, overrides=scene.overrides, alert_runs=AlertRuns(scene.database),
        runs=Runs(scene.database), inbox=Quick(scene.database, limit=9),
        sweeps=Sweeps(scene.database, "one"), web=WEB, clock=lambda: scene.now,
    )  # fmt: skip
    await sweep.run()
    assert await scene.read_until() is None


@pytest.mark.parametrize(
    ("table", "values"),
    [
        (repositories, {"archived": True}),
        (repositories, {"removed_at": 1.0}),
        (installations, {"suspended_at": 1.0}),
        (installations, {"removed_at": 1.0}),
        (installations, {"permissions": "{}"}),
        (rows, {"overruled": "{}"}),
        (rows, {"state": "open"}),
        (rows, {"state": "closed"}),
    ],
)
async def test_where_nothing_can_be_done_nothing_is_asked(scene, table, values):
    await scene.make_fix()
    await scene.change(table, **values)
    assert await scene.look() == []
    assert await scene.read_until() is not None  # its turn comes


@pytest.mark.parametrize(
    "policy",
    [
        valid_policy(remediation={"schedule": "never"}),
        valid_policy(triggers={"alerts": False}),
        InvalidPolicy((), PolicyOrigin()),
        TransientError("GitHub did not answer."),
    ],
)
async def test_the_policy_decides_and_is_asked_again_the_next_day(scene, policy):
    await scene.make_fix()
    usual, scene.policy = scene.policy, policy
    assert await scene.look() == []
    scene.policy = usual
    assert await scene.look() == []
    assert len(await scene.look(after=DAY + 1)) == 1


async def test_one_that_breaks_does_not_stop_the_others(scene):
    other = request(8, package="lodash")
    await scene.make_fix()
    await scene.make_fix("0002", other, number=32)
    await scene.database.write(
        lambda c: c.exec_driver_sql("UPDATE runs SET request = '{}' WHERE id = '0001'")
    )
    [asked] = await scene.look()
    assert asked.package == "lodash"


async def test_a_live_run_or_an_open_pull_request_of_the_lane_comes_first(scene):
    await scene.make_fix()
    await Runs(scene.database).create("0002", ABOUT)
    assert await scene.look() == []
    await scene.database.write(
        lambda c: c.exec_driver_sql("UPDATE runs SET state = 'failed' WHERE id = '0002'")
    )
    await scene.make_fix("0003", number=33, merged=False, overruled=None)
    assert await scene.look(after=DAY + 1) == []
    await scene.remediations.pull_closed(REPOSITORY, 33, merged=False)
    assert len(await scene.look(after=DAY + 1)) == 1


async def test_what_came_before_overrides_were_remembered_is_left_alone(scene):
    await scene.make_fix(overruled=None)
    assert await scene.look(after=time.time()) == []
