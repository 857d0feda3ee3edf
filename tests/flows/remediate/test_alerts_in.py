"""Alerts from GitHub's signed deliveries to what becomes of them: a run, or none, or its end."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
import yaml
from sqlalchemy import select

from app.simulator.github.state.alerts import Affected
from app.store.tables import deliveries, remediations, runs
from tests.app.github.conftest import MANIFEST
from tests.flows.conftest import CALC, PATIENCE, UNFINISHED

ASKED = yaml.safe_load(MANIFEST.read_text())
LOCKED = "jinja2==3.1.6\nflask==3.0.3\nclick==8.1.7\n"
SAFE = {"requirements.txt": LOCKED, "web/requirements.txt": "flask==3.0.3\n"}
JINJA = Affected("pip", "jinja2", "< 3.1.4", "3.1.4")
FLASK = Affected("pip", "flask", "< 2.3.2", "2.3.2")


class Alerts:
    """A place whose App hears of alerts."""

    def __init__(self, place):
        self.place, self.github, self.repository = place, place.github, place.repository
        self.numbers = iter(range(100, 1000))

    def advisory(self, affected=JINJA, severity="high"):
        ghsa = f"GHSA-aaaa-bbbb-c{next(self.numbers)}"
        return self.github.publish_advisory(ghsa, [affected], severity=severity)

    async def opens(self, affected=JINJA, *, manifest="requirements.txt", severity="high"):
        advisory = self.advisory(affected, severity)
        return await self.github.raise_alert(self.repository, advisory, manifest_path=manifest)

    async def read(self, query):
        """Return what the database has of this repository: others have the same server."""
        for table in query.get_final_froms():
            if "repository_id" in table.c:
                query = query.where(table.c.repository_id == self.repository.id)
        return await self.place.database().read(lambda c: c.execute(query).all())

    async def runs(self):
        query = select(runs.c.id, runs.c.lane, runs.c.state, runs.c.stage, runs.c.request)
        return await self.read(query.order_by(runs.c.created_at))

    async def wait_for_states(self, *states):
        """Wait until so many runs are over, and in these states; return them."""
        found = await self.wait_for_ends(len(states))
        assert [run.state for run in found] == list(states), found
        return found

    async def wait_for_ends(self, least=1):
        """Wait until so many runs are over, and none is to come; return them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                waits, found = await self.list_waiting(), await self.runs()
                busy = waits or {run.state for run in found} & UNFINISHED
                if len(found) >= least and not busy:
                    return found
                await asyncio.sleep(0.05)

    async def reaches(self, stage):
        """Wait until the first run is at this step."""
        async with asyncio.timeout(PATIENCE):
            while not (found := await self.runs()) or found[0].stage != stage:
                assert not found or found[0].state in UNFINISHED, found
                await asyncio.sleep(0.05)

    async def list_waiting(self):
        query = select(deliveries.c.id).where(deliveries.c.state == "received")
        return await self.read(query)

    async def list_marked(self):
        query = select(deliveries.c.state, deliveries.c.note, deliveries.c.event)
        return await self.read(query.order_by(deliveries.c.run_id))

    async def wait_until_dispatched(self):
        """Wait until every delivery is looked at; return what was noted of those about alerts."""
        async with asyncio.timeout(PATIENCE):
            while await self.list_waiting():
                await asyncio.sleep(0.02)
        return [(row.state, row.note) for row in await self.list_marked() if "alert" in row.event]

    def list_asked_packages(self):
        """Return where runs asked for one package's alerts; the schedule asks for all."""
        asked = [each.path for each in self.github.requests if "/dependabot/alerts?" in each.path]
        return [path for path in asked if "package=" in path]

    def quiet(self):
        """Return whether nobody can see on GitHub that anything was done."""
        issues = [each for each in self.repository.issues.values() if each is not self.place.issue]
        return not issues and self.place.comments() == [] and self.place.issue.reactions == []


@pytest.fixture
def alerts(make_place):
    """Return a context manager that sets up a place whose App hears of alerts."""

    @asynccontextmanager
    async def make(files=None, *, unheard=False, **more):
        async with make_place({**CALC, **SAFE, **(files or {})}, **more) as place:
            made, github = Alerts(place), place.github
            if unheard:
                github.world.apps[place.app.app_id].events.remove("dependabot_alert")
                await made.opens()
            rights, events = ASKED["default_permissions"], ASKED["default_events"]
            github.ask_permissions(place.app.app_id, rights, events)
            [made.installation] = github.world.installations.values()
            await github.accept_permissions(made.installation)
            if unheard:
                await place.server.stop()
                await place.server.start(place.app)
            yield made

    return make


async def test_forty_alerts_at_once_become_one_run_for_each_place(alerts):
    async with alerts() as at:
        places = [
            (JINJA, "requirements.txt"),
            (FLASK, "requirements.txt"),
            (FLASK, "web/requirements.txt"),
            (Affected("pip", "click", "< 8", "8.0.0"), "requirements.txt"),
        ]
        advisories = [(at.advisory(places[n % 4][0]), places[n % 4][1]) for n in range(40)]
        told = asyncio.Event()
        at.github.faults.call_before(
            "GET", "/dependabot/alerts$", lambda _: told.wait(), times=len(advisories)
        )
        raised = [
            at.github.raise_alert(at.repository, advisory, manifest_path=manifest)
            for advisory, manifest in advisories
        ]
        await asyncio.gather(*raised)
        noted = await at.wait_until_dispatched()
        told.set()  # now runs may scan
        found = await at.wait_for_ends()

        assert len(noted) == 40
        assert {run.state for run in found} == {"covered"}
        assert len({run.lane for run in found}) == len(found) == 4
        assert at.quiet()
        assert at.place.model.requests == []


async def test_what_is_read_before_the_scan_is_one_run_even_through_a_kill(alerts):
    async with alerts() as at:
        for _ in range(3):
            await at.opens()
        await at.place.kill_and_restart()
        await at.opens()
        noted, found = await at.wait_until_dispatched(), await at.wait_for_ends()
        assert {(run.lane, run.state) for run in found} == {(found[0].lane, "covered")}
        assert len(noted) == 4
        assert {state for state, _ in noted} <= {"dispatched", "ignored"}


async def test_hostile_paths_ask_for_nothing_and_what_is_left_alone_or_safe_ends_without_a_word(
    alerts,
):
    async with alerts() as at:
        for manifest in ("../requirements.txt", "a\nb/requirements.txt"):
            await at.opens(manifest=manifest)
        for state, note in await at.wait_until_dispatched():
            assert state == "ignored"
            assert "manifest" in note
        assert await at.runs() == []

        await at.opens(severity="low")  # the policy leaves it alone
        [run] = await at.wait_for_states("covered")
        assert run.stage == "finish/1"
        assert not at.list_asked_packages()
        assert at.quiet()
        kept = await at.read(select(remediations))

        await at.opens()  # what is safe already is looked at
        *_, run = await at.wait_for_states("covered", "covered")
        [kept] = [each for each in await at.read(select(remediations)) if each not in kept]
        assert at.list_asked_packages()
        assert (kept.run_id, kept.state, kept.number) == (run.id, "over", 0)
        assert at.quiet()

        before = await at.wait_until_dispatched()
        await at.place.redeliver(at.github.webhooks.log[-1])  # which changes nothing
        await at.wait_for_states("covered", "covered")
        assert len(await at.wait_until_dispatched()) == len(before) == 4


async def test_nothing_begins_while_the_installation_is_suspended(alerts):
    async with alerts() as at:
        await at.place.server.kill()
        await at.opens()
        [lost] = [each for each in at.github.webhooks.log if each.event == "dependabot_alert"]
        await at.place.server.start(at.place.app)
        await at.github.suspend(at.installation, at.place.people["mara"])
        await at.place.redeliver(lost)
        [run] = await at.wait_for_ends()
        assert run.state in ("covered", "cancelled")  # by whichever has heard of it first
        [text] = await at.read(select(runs.c.outcome))
        assert "suspended" in text.outcome
        assert at.quiet()


async def test_dismissed_while_a_run_is_at_work_it_ends_where_it_is(alerts):
    slow = "quality: [{name: slow, run: sleep 600}]\nsetup: {run: []}\n"
    files = {"requirements.txt": "jinja2==3.1.3\n", ".github/fettle.yml": slow}
    async with alerts(files) as at:
        alert = await at.opens()
        other = await at.opens(Affected("pip", "jinja2", "< 3.1.5", "3.1.5"))
        await at.reaches("stage/measure_base/1")
        await at.github.dismiss_alert(alert, at.place.people["mara"])
        await at.wait_until_dispatched()
        assert (await at.runs())[0].state == "running"

        await at.github.dismiss_alert(other, at.place.people["mara"])
        found = await at.wait_for_ends()
        assert found[0].state == "cancelled"
        [said] = await at.read(select(runs.c.outcome).where(runs.c.id == found[0].id))
        assert "Its alerts were closed: somebody dismissed them." in said.outcome
        assert at.quiet()
        assert at.place.model.requests == []


async def test_alerts_from_before_the_app_came_are_found_by_looking(alerts):
    often = {"FETTLE_SWEEP_SECONDS": "10"}
    async with alerts(unheard=True, **often) as at:
        [run] = await at.wait_for_states("covered")
        assert '"via":"schedule"' in run.request
        assert await at.wait_until_dispatched() == []
        [kept] = await at.read(select(remediations))
        assert kept.run_id == run.id
