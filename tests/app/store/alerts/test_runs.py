"""Runs about alerts that are still to look, on SQLite and on PostgreSQL: what is left to them."""

from __future__ import annotations

import asyncio
from datetime import date

import pytest

from agents.requests import AlertSummary, Overruled, Retire
from agents.run import Outcome
from app.store.alerts.runs import AlertRuns
from app.store.database import Database
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.fakes.requests import build_remediate_alert, build_repository


def request(alert=1, *, package="minimist", directory="web", via="alert", severity="high"):
    return build_remediate_alert(
        repository=build_repository(id=2**40),
        title=package,
        url=f"https://example.org/octo/lib/security/dependabot/{alert}",
        ecosystem="npm",
        package=package,
        directory=directory,
        told=(AlertSummary(alert=alert, severity=severity),),
        via=via,
    )


@pytest.fixture
def runs(database):
    return Runs(database)


@pytest.fixture
def alert_runs(database):
    return AlertRuns(database)


async def test_the_first_one_makes_a_run_and_the_others_find_it(runs, alert_runs):
    assert await alert_runs.cover("0001", request(1)) == ""
    await runs.create("0001", request(1))
    assert [await alert_runs.cover(f"000{n}", request(n)) for n in (2, 3)] == ["0001"] * 2
    assert [told.alert for told in await alert_runs.list_told_alerts("0001")] == [2, 3]


@pytest.mark.parametrize(
    "other",
    [
        request(2, package="lodash"),
        request(2, directory="api"),
        request(2).model_copy(update={"ecosystem": "pip"}),
    ],
)
async def test_other_places_have_runs_of_their_own(runs, alert_runs, other):
    await runs.create("0001", request(1))
    assert await alert_runs.cover("0002", other) == ""


@pytest.mark.parametrize(
    ("stage", "covers"),
    [("access/1", True), ("stage/scan/1", False), ("access/2", False), ("finish/1", False)],
)
async def test_a_run_covers_what_it_is_still_to_read(runs, alert_runs, stage, covers):
    await runs.create("0001", request(1))
    await runs.record_stage("0001", stage)
    assert await alert_runs.cover("0002", request(2)) == ("0001" if covers else "")


async def test_a_run_that_waits_for_people_covers_nothing(runs, alert_runs):
    await runs.create("0001", request(1))
    await runs.record_stage("0001", "stage/publish/1")
    await runs.record_parked("0001", "approval")
    assert await alert_runs.cover("0002", request(2)) == ""


async def test_a_run_that_was_called_off_covers_nothing(database, runs, alert_runs):
    await runs.create("0001", request(1))
    await StoredSteers(database).insert("0001", "k", kind="cancel", via="alert", by="GitHub")
    assert await alert_runs.cover("0002", request(2)) == ""


async def test_a_run_that_has_ended_covers_nothing(runs, alert_runs):
    await runs.create("0001", request(1))
    await runs.record_end("0001", Outcome(kind="covered", text="Not wanted."))
    assert await alert_runs.cover("0002", request(2)) == ""


async def test_people_may_have_asked_for_less(runs, alert_runs):
    await runs.create("0001", request(1, via="terminal"))
    assert await alert_runs.cover("0002", request(2)) == ""
    assert await alert_runs.live(request().lane) == []


async def test_of_two_runs_the_one_that_waits_takes_it(runs, alert_runs):
    await runs.create("0001", request(1))
    await runs.record_stage("0001", "stage/fix/1")
    await runs.create("0002", request(2))
    assert await alert_runs.cover("0003", request(3)) == "0002"
    assert await alert_runs.live(request().lane) == ["0002", "0001"]
    assert await alert_runs.live(request().lane, before="0002") == ["0001"]


async def test_what_was_said_once_stands_whatever_happens_after_it(runs, alert_runs):
    """As when the process dies between leaving the alert to a run and marking the delivery."""
    await runs.create("0001", request(1))
    assert await alert_runs.cover("0002", request(2)) == "0001"
    await runs.record_stage("0001", "stage/scan/1")
    assert await alert_runs.cover("0002", request(2)) == "0001"
    await runs.record_end("0001", Outcome(kind="covered", text="x"))
    assert await alert_runs.cover("0002", request(2)) == "0001"
    assert len(await alert_runs.list_told_alerts("0001")) == 1


async def test_a_delivery_whose_run_was_made_before_a_crash_is_not_covered_by_it(runs, alert_runs):
    await runs.create("0001", request(1))
    await runs.create("0002", request(2))
    assert await alert_runs.cover("0001", request(1)) == ""
    assert await alert_runs.cover("0002", request(2)) == ""


async def test_a_run_that_is_not_to_be_takes_no_more(runs, alert_runs):
    await runs.create("0001", request(1))
    await alert_runs.cover("0002", request(2))
    assert not await alert_runs.close("0001", seen=0)
    assert await alert_runs.cover("0003", request(3)) == "0001"
    assert await alert_runs.close("0001", seen=2)
    assert await alert_runs.close("0001", seen=2)
    assert await alert_runs.cover("0004", request(4)) == ""
    assert [told.alert for told in await alert_runs.list_told_alerts("0001")] == [2, 3]


async def test_closing_and_leaving_at_once_loses_no_alert(runs, alert_runs):
    for number in range(12):
        run, ask = f"{number:03}-run", f"{number:03}-tell"
        one = request(number + 1, package=f"p{number}")
        await runs.create(run, one)
        closed, covered = await asyncio.gather(
            alert_runs.close(run, seen=0), alert_runs.cover(ask, one)
        )
        assert closed == (covered == "")


async def test_two_processes_at_the_same_delivery_say_the_same(runs, alert_runs, store_url):
    """Each looks for itself before the other one has said it."""
    other = Database(store_url)
    try:
        await runs.create("0001", request(1))
        both = (alert_runs, AlertRuns(other))
        for number in range(2, 32):
            asks = [each.cover(f"{number:04}", request(number)) for each in both]
            assert await asyncio.gather(*asks) == ["0001"] * 2
        assert len(await alert_runs.list_told_alerts("0001")) == 30
    finally:
        other.close()


async def test_the_clock_waits_for_whatever_is_under_way(runs, alert_runs):
    await runs.create("0001", request(1))
    await runs.record_stage("0001", "stage/fix/1")
    assert await alert_runs.cover("0002", request(1, via="schedule")) == "0001"
    assert await alert_runs.list_told_alerts("0001") == ()


async def test_long_names_fit_into_the_tables(runs, alert_runs):
    odd = request(1, package="n" * 300, directory="пакеты/c#/" + "x" * 900)
    await runs.create("0001", odd)
    assert await alert_runs.cover("0" * 100, odd.model_copy(update={"url": "u"})) == "0001"
    assert await alert_runs.close("0001", seen=1)


async def test_a_run_about_an_override_mends_no_alert_and_is_ended_by_none(runs, alert_runs):
    made = Overruled(versions=(("1", "2"),), reason="x", until=date(2027, 2, 18))
    retire = Retire(**made.model_dump(), run_id="0000", days=30)
    about = request(1, via="schedule").model_copy(update={"retire": retire, "told": ()})
    await runs.create("0001", about)
    assert await alert_runs.cover("0002", request(2)) == ""  # the alert has a run of its own
    assert await alert_runs.cover("0003", request(3, via="schedule")) == "0001"
    assert await alert_runs.live(about.lane) == ["0001"]
    assert await alert_runs.live(about.lane, fixes=True) == []
