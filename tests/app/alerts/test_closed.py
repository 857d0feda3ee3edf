"""Alerts that were closed end the run that nobody needs any more, and nothing else."""

from __future__ import annotations

import pytest

from agents.requests import AlertSummary
from app.alerts.closed import takers_of
from app.simulator.github.state.alerts import Affected
from app.store.alerts.remediations import Remediations
from app.store.alerts.runs import AlertRuns
from app.store.runs.steers import StoredSteers
from handlers.notifications import AlertClosed, PullClosed
from tests.app.github.conftest import alerted, key, scene, signer

__all__ = ["alerted", "key", "scene", "signer"]  # fixtures
LATER = "ffff-later"
OTHER = ("GHSA-aaaa-bbbb-cccc", Affected("pip", "jinja2", "< 3.1.5", "3.1.5"))


class Watching:
    """The alerts; once they were read, something may happen before anybody acts on it."""

    def __init__(self, alerts, take):
        self._alerts = alerts
        self._take = take

    async def open(self, *package):
        found = await self._alerts.open(*package)
        meanwhile, self._take.meanwhile = self._take.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return found


@pytest.fixture
def closed(alerted):
    """Return who takes the notices, as a server has it."""
    asked = {}

    async def alerts_of(run_id):
        stored = await alerted.runs.request(run_id)
        asked[run_id] = stored is not None
        return Watching(alerted.alerts(run_id, alerted.request), take) if stored else None

    takers = takers_of(alerted.database, alerts_of)

    async def take(notice, ident=LATER):
        return await takers[type(notice)].take(notice, ident)

    take.asked, take.meanwhile = asked, None
    return take


def notice(alerted, number=1, state="dismissed", **changes):
    about = {
        "installation_id": alerted.request.installation_id,
        "repository": alerted.request.repository,
        "ecosystem": "pip",
        "package": "jinja2",
    }
    return AlertClosed(**about | {"alert": number, "state": state} | changes)


async def cancel_of(alerted, run_id):
    return await StoredSteers(alerted.database).cancel_of(run_id)


async def test_without_alerts_a_run_ends_in_words(alerted, closed):
    alert = await alerted.alert()
    run_id, _ = await alerted.create_run()
    await alerted.server.dismiss_alert(alert, alerted.scene.people["ada"])
    assert await closed(notice(alerted)) == {"cancelled": [run_id]}
    steer = await cancel_of(alerted, run_id)
    assert (steer.via, steer.by, steer.words) == ("alert", "GitHub", "somebody dismissed them.")
    assert await closed(notice(alerted)) == {"cancelled": [run_id]}  # told again after a crash
    assert len(await StoredSteers(alerted.database).list_after(run_id)) == 1


async def test_a_run_that_waits_for_people_ends_as_well(alerted, closed):
    alert = await alerted.alert()
    run_id, _ = await alerted.create_run()
    await alerted.runs.record_parked(run_id, "approval")
    await alerted.server.fix_alert(alert)
    await closed(notice(alerted, state="fixed"))
    assert (await cancel_of(alerted, run_id)).words == "they are fixed."


async def test_with_alerts_left_the_run_goes_on(alerted, closed):
    alert = await alerted.alert()
    await alerted.alert(ghsa=OTHER[0], affected=OTHER[1])
    await alerted.alert("web/requirements.txt", ghsa="GHSA-aaaa-bbbb-dddd")
    run_id, _ = await alerted.create_run()
    await alerted.server.fix_alert(alert)
    assert await closed(notice(alerted, state="fixed")) == {"goes on": [run_id], "left": 1}
    assert await cancel_of(alerted, run_id) is None


async def test_a_late_notice_about_an_alert_that_is_open_again_ends_nothing(alerted, closed):
    await alerted.alert()
    run_id, _ = await alerted.create_run()
    assert (await closed(notice(alerted)))["left"] == 1
    assert await cancel_of(alerted, run_id) is None


@pytest.mark.parametrize(
    "changes", [{"package": "flask"}, {"directory": "web"}, {"ecosystem": "npm"}]
)
async def test_runs_about_something_else_are_left_alone(alerted, closed, changes):
    run_id, _ = await alerted.create_run()
    assert await closed(notice(alerted, **changes)) == {"dropped": "no run is under way"}
    assert await cancel_of(alerted, run_id) is None
    assert closed.asked == {}


async def test_runs_that_came_after_it_and_what_people_asked_for_are_left_alone(alerted, closed):
    run_id, _ = await alerted.create_run()
    assert "dropped" in await closed(notice(alerted), ident="0000-before")
    theirs, _ = await alerted.create_run("hand", via="terminal")
    became = await closed(notice(alerted))
    assert became == {"cancelled": [run_id]}
    assert await cancel_of(alerted, theirs) is None


async def test_an_alert_that_is_opened_again_is_not_left_to_the_run_that_ends(alerted, closed):
    alert = await alerted.alert()
    _, request = await alerted.create_run()
    again = request.model_copy(
        update={"told": (AlertSummary(alert=1, severity="high"),), "via": "alert"}
    )
    await alerted.server.fix_alert(alert)
    await closed(notice(alerted, state="fixed"))
    await alerted.server.reintroduce_alert(alert)
    assert await AlertRuns(alerted.database).cover("later", again) == ""


async def test_an_alert_that_is_left_to_the_run_just_then_keeps_it_going(alerted, closed):
    alert = await alerted.alert()
    run_id, request = await alerted.create_run()
    again = request.model_copy(
        update={"told": (AlertSummary(alert=1, severity="high"),), "via": "alert"}
    )
    await alerted.server.fix_alert(alert)

    async def reopen_alert():
        await alerted.server.reintroduce_alert(alert)
        assert await AlertRuns(alerted.database).cover("later", again) == run_id

    closed.meanwhile = reopen_alert
    assert (await closed(notice(alerted, state="fixed")))["left"] == 1
    assert await cancel_of(alerted, run_id) is None


@pytest.mark.parametrize("first", ["merge", "alert"])
async def test_the_loop_closes_in_any_order(alerted, closed, first):
    run_id, request = await alerted.create_run()
    kept = {"cancelled": False, "commit": "c" * 40, "found": {1: "m"}}
    remediations = Remediations(alerted.database)
    await remediations.remember(run_id, request, number=31, **kept)
    place = {"installation_id": 1, "repository": request.repository, "number": 31}
    merge, fixed = PullClosed(**place, merged=True), notice(alerted, state="fixed")
    for each in (merge, fixed) if first == "merge" else (fixed, merge):
        await closed(each)
    assert (await remediations.find(run_id)).state == "fixed"


async def test_a_pull_request_that_people_closed_is_remembered_as_a_no(alerted, closed):
    run_id, request = await alerted.create_run()
    kept = {"cancelled": False, "commit": "c" * 40, "found": {1: "m"}}
    await Remediations(alerted.database).remember(run_id, request, number=31, **kept)
    place = {"installation_id": 1, "repository": request.repository, "number": 31}
    assert await closed(PullClosed(**place, merged=False)) == {"declined": [run_id]}
    assert (await Remediations(alerted.database).find(run_id)).declined
