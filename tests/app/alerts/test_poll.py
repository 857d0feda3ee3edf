"""The look at open alerts: what was never told of, what may work now, and no storms of runs."""

from __future__ import annotations

import time
from functools import partial

import lz4.frame
import orjson
import pytest
from sqlalchemy import delete, update

import handlers
from agents.errors import TransientError
from agents.run import Outcome
from app.alerts.outcomes import mark
from app.alerts.poll import DAY, MOST_RUNS, AlertPoll, explain_retry, mark_of
from app.github.alerts.list_open import OpenAlerts
from app.github.policy.file import read_policy
from app.records.installations import KnownInstallation, KnownRepository
from app.simulator.github.state.alerts import Affected
from app.store.alerts.poll_times import AlertLooks
from app.store.alerts.remediations import Remediation, Remediations
from app.store.alerts.runs import AlertRuns
from app.store.installations.installations import StoredInstallations
from app.store.schedule_leases import Sweeps
from app.store.tables import alert_looks, installations, remediations, repositories
from app.webhooks.inbox import Inbox
from tests.app.github.conftest import alerted, key, scene, signer

__all__ = ["alerted", "key", "scene", "signer"]  # fixtures


@pytest.fixture
async def known(alerted):
    """Have the server know where the App is installed."""
    scene, ident = alerted.scene, alerted.scene.installation.id
    account = {"account_id": scene.people["ada"].id, "account": "ada", "url": ""}
    granted = {"vulnerability_alerts": "read"}
    stored = StoredInstallations(alerted.database)
    await stored.keep(KnownInstallation(ident, **account, permissions=granted, since=1.0))
    place = {"owner": "ada", "name": "parse", "default_branch": "main"}
    there = KnownRepository(alerted.repository.id, ident, **place)
    await stored.keep_repositories(ident, [there], whole=True)


@pytest.fixture
def look(alerted, known):
    """Return a function that lets time pass, makes a pass, and returns all requests so far."""

    async def poll_alerts(after=0.0):
        database = alerted.database
        await database.write(
            lambda c: (
                c.execute(
                    update(alert_looks).values(
                        next_at=alert_looks.c.next_at - after, at=alert_looks.c.at - after
                    )
                ),
                c.execute(update(remediations).values(ended_at=remediations.c.ended_at - after)),
            )
        )
        sweep = AlertPoll(
            OpenAlerts(alerted.scene.github),
            lambda *place: read_policy(alerted.scene.github, *place),
            sweeps=Sweeps(database, "one"),
            looks=AlertLooks(database),
            runs=AlertRuns(database),
            remediations=Remediations(database),
            inbox=Inbox(database, limit=1000),
            every=600.0,
        )
        await sweep.run()
        return await requests(database)

    return poll_alerts


async def requests(database):
    query = "SELECT event, body FROM deliveries ORDER BY run_id"
    rows = await database.read(lambda c: [tuple(row) for row in c.exec_driver_sql(query)])
    return [handlers.route(event, orjson.loads(lz4.frame.decompress(body))) for event, body in rows]


async def record_try(alerted, request, *, name="tried", number=0, cancelled=False, changed=False):
    """Note that a run has tried it, and has found what is open now."""
    run_id, about = await alerted.create_run(name, told=request.told, via=request.via)
    await alerted.runs.record_end(run_id, Outcome(kind="failed", text="No fix was found."))
    head = await alerted.server.file(alerted.repository, "requirements.txt")
    assert head is not None
    commit = alerted.commit if not changed else "0" * 40
    more = {"number": number, "cancelled": cancelled, "commit": commit}
    await Remediations(alerted.database).remember(run_id, about, found=alerted.found, **more)
    return run_id


@pytest.fixture
async def open_alert(alerted):
    """An alert that was open before the App was installed: nobody has heard of it."""
    files, ada = {"requirements.txt": "jinja2==3.1.3\n"}, alerted.scene.people["ada"]
    commit = await alerted.server.commit(
        alerted.repository, files, author=ada, message="Ask", branch="main"
    )
    alerted.commit = getattr(commit, "sha", commit)
    alert = await alerted.alert()
    listed = await OpenAlerts(alerted.scene.github).read(
        alerted.request.installation_id, alerted.request.repository
    )
    alerted.found = {each.number: mark_of(each) for each in listed}
    return alert


async def policy(alerted, text):
    files, ada = {".github/fettle.yml": text}, alerted.scene.people["ada"]
    await alerted.server.commit(alerted.repository, files, author=ada, message="Say", branch="main")


async def test_an_alert_that_nobody_told_of_gets_its_run_once(alerted, look, open_alert):
    [request] = await look()
    assert (request.via, request.package, request.directory) == ("schedule", "jinja2", "")
    assert (request.asked_by.id, request.unasked) == (0, True)
    assert [told.alert for told in request.told] == [open_alert.number]
    assert request.lane == alerted.request.lane
    assert await look() == [request]  # it is not its turn yet
    assert await look(after=DAY) == [request, request]  # no run came of it


async def test_what_an_open_pull_request_took_along_is_not_asked_for(alerted, look, open_alert):
    run_id, about = await alerted.create_run("1111", package="flask")
    await alerted.runs.record_end(run_id, Outcome(kind="pull_request", text="Opened."))
    made = {"number": 31, "cancelled": False, "commit": alerted.commit, "found": alerted.found}
    await Remediations(alerted.database).remember(run_id, about, **made)
    assert await look(after=DAY) == []

    files, ada = {"requirements.txt": "jinja2==3.1.3\nx==1\n"}, alerted.scene.people["ada"]
    more = {"author": ada, "message": "More", "branch": "main"}
    await alerted.server.commit(alerted.repository, files, **more)
    [request] = await look(after=DAY)  # so that it is made anew
    assert request.package == "jinja2"


async def test_a_pass_that_was_cut_short_asks_for_nothing_twice(alerted, look, open_alert):
    [request] = await look()
    await alerted.database.write(lambda c: c.execute(delete(alert_looks)))
    assert await look() == [request]


async def test_alerts_of_one_place_are_one_run_and_the_worst_come_first(alerted, look):
    for number, (package, severity) in enumerate(
        [("flask", "high"), ("jinja2", "high"), ("jinja2", "critical"), ("click", "low")]
    ):
        affected = Affected("pip", package, "< 3", "3.0.0")
        ghsa = f"GHSA-aaaa-bbbb-ccc{number + 2}"
        await alerted.alert(ghsa=ghsa, affected=affected, severity=severity)
    found = await look()
    assert [request.package for request in found] == ["jinja2", "flask"]
    assert [len(request.told) for request in found] == [2, 1]


async def test_one_pass_asks_for_a_few_and_the_next_ones_go_on(alerted, look):
    for number in range(MOST_RUNS + 2):
        ghsa = f"GHSA-aaaa-bbbb-cc{number + 22}"
        await alerted.alert(ghsa=ghsa, affected=Affected("pip", f"p{number}", "< 3", "3.0.0"))
    first = await look()
    assert len(first) == MOST_RUNS
    for number, request in enumerate(first):
        await alerted.runs.create(f"run-{number}", request)
    assert len(await look(after=600.0)) == MOST_RUNS + 2


async def test_what_never_gets_a_run_is_in_nobodys_way(alerted, look):
    """Those that were asked for and came to nothing must not use up the few of each pass."""
    for number in range(MOST_RUNS + 2):
        ghsa = f"GHSA-aaaa-bbbb-cc{number + 22}"
        await alerted.alert(ghsa=ghsa, affected=Affected("pip", f"p{number}", "< 3", "3.0.0"))
    assert len(await look()) == MOST_RUNS
    await alerted.database.write(lambda c: c.execute(update(alert_looks).values(next_at=0.0)))
    assert len(await look()) == MOST_RUNS + 2


async def test_what_is_under_way_is_left_alone(alerted, look, open_alert):
    await alerted.create_run()
    assert await look() == []


@pytest.mark.parametrize(
    "text",
    [
        "remediation: {schedule: never}\n",
        "remediation: {severities: [critical]}\n",
        "triggers: {alerts: false}\n",
        "remediation: {schedule: hourly}\n",
    ],
)
async def test_the_policy_decides(alerted, look, open_alert, text):
    await policy(alerted, text)
    assert await look() == []


async def test_a_weekly_rhythm_waits_for_a_week(alerted, look, open_alert):
    await policy(alerted, "remediation: {schedule: weekly}\n")
    [first] = await look()
    await record_try(alerted, first, changed=True)
    assert len(await look(after=2 * DAY)) == 1
    assert len(await look(after=6 * DAY)) == 2


async def test_what_failed_is_tried_again_when_the_lock_file_is_another_one(
    alerted, look, open_alert
):
    [first] = await look()
    await record_try(alerted, first)
    assert len(await look(after=2 * DAY)) == 1
    files, ada = {"requirements.txt": "jinja2==3.1.3\nflask\n"}, alerted.scene.people["ada"]
    await alerted.server.commit(
        alerted.repository, files, author=ada, message="Ask more", branch="main"
    )
    assert len(await look(after=2 * DAY)) == 2


async def test_an_action_is_tried_again_when_its_workflow_is_another_one(alerted, look):
    ci, ada = ".github/workflows/ci.yml", alerted.scene.people["ada"]
    write = partial(alerted.server.commit, alerted.repository, author=ada, message="CI")
    commit = await write({ci: "on: push\n"})
    alert = await alerted.alert(ci, affected=Affected("actions", "actions/x", "< 2", "2"))
    [first] = await look()
    same = {"ecosystem": "actions", "package": "actions/x", "directory": first.directory}
    run_id, about = await alerted.create_run("tried", told=first.told, via=first.via, **same)
    await alerted.runs.record_end(run_id, Outcome(kind="failed", text="No fix was found."))
    found = {alert.number: mark("high", "< 2", "2")}
    more = {"number": 0, "cancelled": False, "commit": commit}
    await Remediations(alerted.database).remember(run_id, about, found=found, **more)
    assert len(await look(after=2 * DAY)) == 1
    await write({ci: "on: pull_request\n"})
    assert len(await look(after=2 * DAY)) == 2


async def test_a_lock_file_that_changes_every_day_is_no_reason_for_a_run_every_day(
    alerted, look, open_alert
):
    [first] = await look()
    await record_try(alerted, first, name="one", changed=True)
    assert len(await look(after=2 * DAY)) == 2
    await record_try(alerted, first, name="two", changed=True)
    assert len(await look(after=1.5 * DAY)) == 2
    assert len(await look(after=1.5 * DAY)) == 3


@pytest.mark.parametrize("vulnerable", ["", "< 3 || > 4", "all of them"])
async def test_a_range_that_cannot_be_read_is_not_news_every_day(alerted, look, vulnerable):
    """What the run notes of an alert has to be what the next look makes of it."""
    await alerted.alert(affected=Affected("pip", "jinja2", vulnerable, "not a version"))
    [first] = await look()
    run_id, about = await alerted.create_run("tried", told=first.told, via="schedule")
    await alerted.runs.record_end(run_id, Outcome(kind="failed", text="No fix was found."))
    read = await alerted.alerts(run_id, about).open("pip", "jinja2")
    found = {each.alert: mark(each.severity, each.vulnerable, each.first_patched) for each in read}
    more = {"number": 0, "cancelled": False, "commit": ""}
    await Remediations(alerted.database).remember(run_id, about, found=found, **more)
    assert await look(after=2 * DAY) == [first]


async def test_what_runs_never_read_asks_for_none(alerted, look):
    """As of a withdrawn advisory, until GitHub has closed its alerts."""
    alert = await alerted.alert()
    alert.advisory.withdrawn_at = alert.advisory.updated_at
    assert await look() == []


async def test_a_fix_for_another_branch_is_none_for_this_one(alerted, look, open_alert):
    run_id, about = await alerted.create_run("other", base_branch="release")
    await alerted.runs.record_end(run_id, Outcome(kind="comment", text="Opened."))
    more = {"number": 31, "cancelled": False, "commit": alerted.commit}
    await Remediations(alerted.database).remember(run_id, about, found=alerted.found, **more)
    assert len(await look()) == 1


async def test_one_installation_that_is_out_of_requests_does_not_stop_the_others(alerted, known):
    """Its other repositories wait as well, instead of failing one by one."""
    stored = StoredInstallations(alerted.database)
    account = {"account_id": 5, "account": "zed", "url": ""}
    granted = {"vulnerability_alerts": "read"}
    await stored.keep(KnownInstallation(7, **account, permissions=granted, since=1.0))
    main = {"default_branch": "main"}
    there = [KnownRepository(n, 7, "zed", f"r{n}", **main) for n in (70_001, 70_002)]
    await stored.keep_repositories(7, there, whole=True)
    asked = []

    class Reads:
        async def read(self, installation_id, repository):
            asked.append((installation_id, repository.id))
            if len(asked) == 1:
                raise TransientError("GitHub asks for a pause of 600 s.")
            return []

    database = alerted.database
    await AlertPoll(
        Reads(),
        None,
        sweeps=Sweeps(database, "one"),
        looks=AlertLooks(database),
        runs=AlertRuns(database),
        remediations=Remediations(database),
        inbox=Inbox(database, limit=1000),
        every=600.0,
    ).run()
    assert {installation for installation, _ in asked} == {7, alerted.scene.installation.id}
    assert len(asked) in (2, 3)
    assert await AlertLooks(database).due(5) == []


async def test_other_files_change_every_day_and_mean_nothing(alerted, look, open_alert):
    [first] = await look()
    await record_try(alerted, first)
    ada = alerted.scene.people["ada"]
    await alerted.server.commit(
        alerted.repository, {"a.py": "1\n"}, author=ada, message="Work", branch="main"
    )
    assert len(await look(after=2 * DAY)) == 1


async def test_what_failed_is_tried_again_when_a_fix_may_have_come(alerted, look, open_alert):
    [first] = await look()
    await record_try(alerted, first)
    assert len(await look(after=8 * DAY)) == 2


@pytest.mark.parametrize("lost", ["permission", "archived", "suspended", "removed"])
async def test_where_nothing_may_be_done_nothing_is_asked(alerted, look, open_alert, lost):
    change = {
        "permission": update(installations).values(permissions="{}"),
        "archived": update(repositories).values(archived=True),
        "suspended": update(installations).values(suspended_at=1.0),
        "removed": update(repositories).values(removed_at=1.0),
    }[lost]
    await alerted.database.write(lambda c: c.execute(change))
    before = len(alerted.server.requests)
    assert await look() == []
    assert len(alerted.server.requests) == before


async def test_switched_off_alerts_do_not_stop_the_others(alerted, look, open_alert):
    alerted.repository.alerts_enabled = False
    assert await look() == []
    due = await AlertLooks(alerted.database).due(5)
    assert due == []  # not before tomorrow


async def test_hostile_names_are_left_out(alerted, look):
    await alerted.alert("../requirements.txt")
    bad = Affected("pip", "../../x", "< 3", "3.0.0")
    await alerted.alert(ghsa="GHSA-aaaa-bbbb-cccc", affected=bad)
    assert await look() == []


@pytest.mark.parametrize("folder", ["c#", "a?b", "пакеты", "a%2F..;b", "x" * 200])
async def test_odd_folders_are_read_as_they_are(alerted, folder):
    ada = alerted.scene.people["ada"]
    path = f"{folder}/requirements.txt"
    made = await alerted.server.commit(
        alerted.repository, {path: "a\n"}, author=ada, message="Add", branch="main"
    )
    then = getattr(made, "sha", made)
    reads = OpenAlerts(alerted.scene.github)
    place = (alerted.request.installation_id, alerted.request.repository, then, folder)
    assert not await reads.has_changed_files(*place, {"requirements.txt"})
    await alerted.server.commit(
        alerted.repository, {path: "b\n"}, author=ada, message="Change", branch="main"
    )
    assert await reads.has_changed_files(*place, {"requirements.txt"})


def remediation(state="over", *, days=1.5, found=None, declined=False, merged=None):
    return Remediation(
        run_id="r",
        lane="l",
        repository_id=1,
        number=0,
        base="main",
        state=state,
        declined=declined,
        found={1: "m"} if found is None else found,
        open_alerts=(1,),
        commit="c",
        ended_at=time.time() - days * DAY,
        merged_at=time.time() - merged * DAY if merged is not None else None,
        told_at=None,
        settled_at=None,
    )


@pytest.mark.parametrize(
    ("tried", "marks", "reason"),
    [
        ([], {1: "m"}, "no run"),
        ([remediation()], {1: "m"}, ""),
        ([remediation()], {1: "other"}, "new"),
        ([remediation()], {1: "m", 2: "n"}, "new"),
        ([remediation(days=0.5)], {1: "other"}, ""),
        ([remediation("open", days=90)], {1: "m"}, ""),
        ([remediation("open", days=90)], {1: "other"}, "new"),
        ([remediation(days=90), remediation("open", days=91)], {1: "m"}, ""),
        ([remediation(days=2, found={1: "m", 2: "n"}), remediation("open")], {2: "n"}, ""),
        ([remediation("merged", days=90, merged=3)], {1: "m"}, ""),
        ([remediation("merged", days=90, merged=8)], {1: "m"}, "release"),
        ([remediation("closed", days=90, declined=True)], {1: "m"}, ""),
        ([remediation("closed", days=90, declined=True)], {1: "other"}, "new"),
        ([remediation(days=90, declined=True)], {1: "m"}, ""),
        ([remediation(days=27, found={}, declined=True)], {1: "m"}, ""),
        ([remediation(days=29, found={}, declined=True)], {1: "m"}, "end"),
        ([remediation(days=8)], {1: "m"}, "release"),
        ([remediation(days=8), remediation(days=16)], {1: "m"}, ""),
        ([remediation(days=15), remediation(days=22)], {1: "m"}, "release"),
        ([remediation(days=27)] + [remediation(days=99)] * 9, {1: "m"}, ""),
        ([remediation(days=29)] + [remediation(days=99)] * 9, {1: "m"}, "release"),
        ([remediation(days=8), remediation(days=16, found={7: "x"})], {1: "m"}, "release"),
        ([remediation("fixed", days=8)], {1: "m"}, "release"),
        ([remediation(found={}, days=0.9)], {1: "m"}, ""),
        ([remediation(found={})], {1: "m"}, "end"),
        ([remediation(found={}), remediation(found={}, days=3)], {1: "m"}, ""),
        ([remediation(found={}, days=2.5), remediation(found={}, days=5)], {1: "m"}, "end"),
        ([remediation(found={}), remediation(days=3)], {1: "m", 2: "n"}, "end"),
        ([remediation(found={}), remediation(found={}, days=3), remediation()], {2: "n"}, ""),
    ],
)
def test_what_was_tried_is_tried_again_for_a_reason_alone(tried, marks, reason):
    said = explain_retry(tried, marks, time.time())
    assert (reason in said) if reason else said == ""
