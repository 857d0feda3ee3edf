"""What runs about alerts came to, on SQLite and on PostgreSQL: pulls, merges, GitHub's answer."""

from __future__ import annotations

import json
import time

import pytest
from sqlalchemy import insert, select

from agents.requests import request_of
from app.maintenance.purge import forget
from app.store.alerts.poll_times import AlertLooks
from app.store.alerts.remediations import Remediations
from app.store.alerts.runs import AlertRuns
from app.store.expire_rows import without_texts
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from app.store.tables import alert_looks, approvals, told_alerts
from app.store.tables import remediations as rows
from tests.app.store.alerts.test_runs import request

FOUND = {1: "mark-1", 2: "mark-2"}
REPOSITORY = 2**40


@pytest.fixture
def remediations(database):
    return Remediations(database)


@pytest.fixture
def ended(database, remediations):
    async def end_run(run_id="0001", about=None, **more):
        about = about or request(1)
        await Runs(database).create(run_id, about)
        given = {"number": 0, "cancelled": False, "commit": "c" * 40, "found": FOUND, **more}
        await remediations.remember(run_id, about, **given)
        return await remediations.find(run_id)

    return end_run


async def test_what_a_run_came_to_is_kept_once(ended, remediations):
    kept = await ended()
    assert (kept.state, kept.found, kept.open_alerts) == ("over", FOUND, (1, 2))
    assert (kept.base, kept.lane, kept.declined) == ("main", request(1).lane, False)
    later = {"number": 5, "cancelled": True, "commit": "", "found": {}}
    await remediations.remember("0001", request(1), **later)
    assert await remediations.find("0001") == kept


async def test_people_may_end_a_run_and_alerts_may(ended, database, remediations):
    steers = StoredSteers(database)
    for run_id, via in (("0001", "terminal"), ("0002", "alert"), ("0003", "installation")):
        await Runs(database).create(run_id, request(1))
        await steers.insert(run_id, f"k{run_id}", kind="cancel", via=via, by="mara")
    assert (await ended("0001", cancelled=True)).declined
    # What they had read says nothing: their alerts may be open again in a moment.
    for run_id in ("0002", "0003", "0004"):
        assert await ended(run_id, cancelled=True) is None
    assert len(await remediations.of_lane(request(1).lane)) == 1


@pytest.mark.parametrize(
    ("said", "number", "declined"),
    [
        ({"rule": "remediate/major", "state": "denied"}, 0, True),
        ({"rule": "remediate/major", "state": "denied"}, 31, False),
        ({"rule": "remediate/major", "state": "expired"}, 0, False),
        ({"rule": "egress", "state": "denied"}, 0, False),
    ],
)
async def test_a_no_to_what_the_fix_takes_is_a_no(ended, database, said, number, declined):
    await Runs(database).create("0001", request(1))
    asked = {
        "id": "k3f9",
        "run_id": "0001",
        "call_id": "c",
        "session": "",
        "stage": "fix/1",
        "tool": "t",
        "arguments": "{}",
        "reason": "",
        "head": "",
        "binding": "",
        "asked_at": 1.0,
        "expires_at": 2.0,
        **said,
    }
    await database.write(lambda c: c.execute(insert(approvals).values(asked)))
    assert (await ended("0001", number=number)).declined is declined


async def test_a_merge_is_waited_for_until_the_last_alert_is_closed(ended, remediations):
    await ended(number=31)
    assert await remediations.awaits(REPOSITORY, 31)
    assert not await remediations.awaits(REPOSITORY, 32)
    assert not await remediations.awaits(7, 31)
    assert await remediations.pull_closed(REPOSITORY, 31, merged=True) == ["0001"]
    assert (await remediations.find("0001")).state == "merged"
    assert await remediations.pull_closed(REPOSITORY, 31, merged=True) == []
    assert await remediations.alerts_closed(REPOSITORY, {1}) == []
    assert await remediations.alerts_closed(7, {2}) == []
    assert (await remediations.find("0001")).open_alerts == (2,)
    assert await remediations.alerts_closed(REPOSITORY, {2, 9}) == ["0001"]
    kept = await remediations.find("0001")
    assert (kept.state, kept.settled_at >= kept.merged_at) == ("fixed", True)
    assert await remediations.alerts_closed(REPOSITORY, {2}) == []


async def test_alerts_may_be_closed_before_the_merge_is_heard_of(ended, remediations):
    await ended(number=31)
    assert await remediations.alerts_closed(REPOSITORY, {1, 2}) == []
    assert (await remediations.find("0001")).state == "open"
    await remediations.pull_closed(REPOSITORY, 31, merged=True)
    assert (await remediations.find("0001")).state == "fixed"


async def test_a_pull_request_that_people_closed_is_a_no(ended, remediations):
    await ended(number=31)
    await remediations.pull_closed(REPOSITORY, 31, merged=False)
    kept = await remediations.find("0001")
    assert (kept.state, kept.declined, kept.merged_at) == ("closed", True, None)


async def test_a_no_to_a_pull_request_is_one_to_the_runs_that_waited_for_it(ended, remediations):
    await ended("0001")
    await ended("0002", number=31)
    await ended("0003")
    await ended("0004", number=32)
    await ended("0005", request(1, package="lodash"), found={9: "a"})
    await remediations.pull_closed(REPOSITORY, 31, merged=False)
    ids = [f"000{n}" for n in range(1, 6)]
    declined = {each: (await remediations.find(each)).declined for each in ids}
    assert declined == dict.fromkeys(ids, False) | {"0002": True, "0003": True}


async def test_alerts_that_went_along_with_another_package_are_known_by_their_numbers(
    ended, database, remediations
):
    lodash = request(9, package="lodash")
    await Runs(database).create("0009", lodash)
    await ended("0001", number=31, found={1: "a", 9: "b"})
    await ended("0002")  # it came to nothing, and says nothing of others
    await ended("0003", request(1, package="flask"), number=32, found={3: "c"})

    assert [each.run_id for each in await remediations.list_later("0009", [9])] == ["0001"]
    assert await remediations.list_later("0009", [4]) == []
    found = await remediations.list_about(REPOSITORY, lodash.lane, [9])
    assert [each.run_id for each in found] == ["0001"]
    assert await remediations.list_about(7, lodash.lane, [9]) == []

    await ended("0004", lodash, found={9: "b"})
    await ended("0005", lodash, found={9: "b", 10: "d"})
    await remediations.pull_closed(REPOSITORY, 31, merged=False)
    declined = {n: (await remediations.find(n)).declined for n in ("0003", "0004", "0005")}
    assert declined == {"0003": False, "0004": True, "0005": False}


async def test_what_another_pull_request_takes_the_place_of_is_over_and_nobodys_no(
    ended, remediations
):
    await ended("0001", number=31)
    await remediations.replace(REPOSITORY, 31)
    assert await remediations.pull_closed(REPOSITORY, 31, merged=False) == []
    kept = await remediations.find("0001")
    assert (kept.state, kept.declined, kept.open_alerts) == ("over", False, ())


async def test_what_nobody_has_heard_of_is_due(ended, remediations):
    await ended("0001", number=31)
    await ended("0002", number=32)
    await ended("0003")
    await remediations.pull_closed(REPOSITORY, 32, merged=True)
    later = time.time() + 10
    due = await remediations.due(before=later, merged_after=0)
    assert sorted(each.run_id for each in due) == ["0001", "0002"]
    assert await remediations.due(before=time.time() - 60, merged_after=0) == []
    given_up = await remediations.due(before=later, merged_after=later)
    assert [each.run_id for each in given_up] == ["0001"]
    await remediations.record_look("0002", told=True)
    assert (await remediations.find("0002")).told_at is not None


async def test_others_of_the_lane_are_known_newest_first(ended, database, remediations):
    await ended("0001")
    await Runs(database).create("0009", request(1))
    assert await remediations.list_later("0009") == []
    await ended("0002")
    await ended("0003", request(1, package="lodash"))
    assert [each.run_id for each in await remediations.list_later("0009")] == ["0002"]
    assert [each.run_id for each in await remediations.of_lane(request(1).lane)] == ["0002", "0001"]
    assert await remediations.list_later("0404") == []


async def test_nothing_of_it_is_left_once_its_repository_is_forgotten(ended, database, tmp_path):
    await ended("0001", number=31)
    assert await AlertRuns(database).cover("0009", request(2)) == "0001"
    for each in (REPOSITORY, 7):
        await AlertLooks(database).record_look(each, next_at=1.0)
    assert (await forget(database, tmp_path, [REPOSITORY], alone=True)).runs == 1
    of_all = [told_alerts.c.ask_id, rows.c.run_id, alert_looks.c.repository_id]
    left = [
        await database.read(lambda c, each=each: list(c.scalars(select(each)))) for each in of_all
    ]
    assert left == [[], [], [7]]


def test_what_became_of_it_can_be_asked_once_its_texts_are_gone():
    """A pull request may wait for longer than texts are kept."""
    emptied = request_of(json.loads(without_texts(request(1).model_dump_json())))
    assert (emptied.lane, emptied.repository, emptied.title) == (
        request(1).lane,
        request(1).repository,
        "",
    )
