"""Runs about alerts have no issue: where they speak to people, and what people call them."""

from __future__ import annotations

import time

import pytest

from agents.run import Outcome
from app.store.runs.history import History
from app.store.runs.lanes import Lanes
from app.store.runs.places import RunPlaces
from app.store.runs.runs import Runs
from app.store.schedule_leases import Sweeps
from tests.fakes.requests import (
    build_command,
    build_remediate_alert,
    build_repository,
    build_resolve_issue,
)

LIB = build_repository()


@pytest.fixture
def runs(database):
    return Runs(database)


async def test_the_place_of_the_newest_run_about_the_package_is_known(runs):
    await runs.create("0001", build_remediate_alert())
    assert await runs.find_last_issue(build_remediate_alert()) == 0
    await runs.record_number("0001", 12)
    await runs.create("0002", build_remediate_alert())
    assert await runs.find_last_issue(build_remediate_alert()) == 12
    for other in (
        build_remediate_alert(package="flask"),
        build_remediate_alert(directory="api"),
        build_remediate_alert(ecosystem="npm"),
    ):
        assert await runs.find_last_issue(other) == 0
    other = build_repository(id=10)
    assert await runs.find_last_issue(build_remediate_alert(repository=other)) == 0


async def test_the_lane_of_an_earlier_run_is_known(runs):
    await runs.create("0001", build_remediate_alert(directory="api"))
    assert await runs.lane_of("0001") == build_remediate_alert(directory="api").lane
    assert await runs.lane_of("0002") is None


async def test_what_is_said_on_its_issue_is_meant_for_it_and_nothing_else(runs, database):
    lanes = Lanes(database)
    await runs.create("0001", build_remediate_alert())
    await runs.create("0002", build_resolve_issue(number=12))
    assert [each.id for each in await lanes.live(build_command(number=12))] == ["0002"]
    await runs.record_number("0001", 12)
    assert {each.id for each in await lanes.live(build_command(number=12))} == {"0001", "0002"}
    assert [each.id for each in await lanes.live(build_command(number=12, via="label"))] == ["0002"]
    assert not await lanes.busy(build_command(number=13))
    assert not await lanes.busy(build_command(number=0))  # a button that stands nowhere
    elsewhere = build_command(number=12, repository=build_repository(id=10))
    assert not await lanes.busy(elsewhere)
    await runs.record_end("0001", Outcome(kind="failed", text="None."))
    ended = await lanes.find_ended(build_command(number=12))
    assert ended is not None
    assert ended.id == "0001"


async def test_it_is_not_taken_for_a_run_of_the_issue_by_who_looks_for_missed_labels(
    runs, database
):
    sweeps = Sweeps(database, "a")
    await runs.create("0001", build_remediate_alert())
    await runs.record_number("0001", 12)
    assert await sweeps.run_since(LIB.id, 12, time.time() - 60) is None
    assert not await sweeps.busy("octo/lib", 12)
    await runs.create("0002", build_resolve_issue(number=12))
    assert await sweeps.run_since(LIB.id, 12, time.time() - 60) == "0002"
    assert await sweeps.busy("octo/lib", 12)


async def test_people_call_it_by_its_package_and_never_by_a_number_that_is_none(runs, database):
    await runs.create("0001", build_remediate_alert())
    await runs.create("0002", build_remediate_alert(directory="api"))
    await runs.create("0003", build_resolve_issue(number=7))
    found = {each.id: each.reference for each in await History(database).newest(9)}
    assert found == {
        "0001": "jinja2 in octo/lib",
        "0002": "jinja2 in octo/lib/api",
        "0003": "octo/lib#7",
    }


async def test_runs_about_one_folder_follow_each_other_unless_one_waits_for_people(runs, database):
    """They would change the same lock file."""
    alert = {"via": "alert"}
    await runs.create("0001", build_remediate_alert(**alert))
    await runs.create("0002", build_remediate_alert(package="flask", **alert))
    await runs.create("0003", build_remediate_alert(package="flask", directory="api", **alert))
    await runs.create("0004", build_remediate_alert(package="click", via="terminal"))
    places = RunPlaces(database, "one", places=9)
    assert set(await places.take()) == {"0001", "0003", "0004"}
    assert await places.take() == {}

    await runs.record_parked("0001", "approval")
    assert set(await places.take()) == {"0002"}
