"""What is noted of a run about alerts at its end, from what the engine has kept of its scan."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from agents.pipelines.remediate.findings.alert_group import AlertGroup
from agents.pipelines.remediate.ladder import Group
from agents.pipelines.remediate.work import Bump, CompanionFix, Work
from agents.pipelines.stages.save_unfinished import DAY_OVER
from agents.ports import Advisory, PullRequest
from agents.requests import Overruled, Retire
from agents.run import Outcome
from app.alerts.outcomes import DAY, AlertOutcomes, mark
from app.store.alerts.overrides import Overrides
from app.store.alerts.remediations import Remediations
from app.store.runs.history import KeptStep
from app.store.runs.runs import Runs
from app.store.runs.steers import StoredSteers
from tests.app.store.alerts.test_runs import request

GROUP = Group(
    repository="octo/lib",
    ecosystem="npm",
    package="minimist",
    directory="web",
    manifests=("web/package-lock.json",),
    advisories=(
        Advisory(
            ghsa_id="GHSA-vh95-rmgr-6w4m",
            severity="critical",
            package="minimist",
            ecosystem="npm",
            vulnerable="< 0.2.4",
            first_patched="0.2.4",
            alert=7,
        ),
        Advisory(
            ghsa_id="GHSA-aaaa-bbbb-cccc",
            severity="low",
            package="minimist",
            ecosystem="npm",
            vulnerable="< 1.0.0",
        ),
    ),
)
SCAN = {"output": AlertGroup(commit="c" * 40, group=GROUP).model_dump(mode="json")}


class EngineHistory:
    """What the engine recorded."""

    def __init__(self, *records):
        self.records = records

    async def steps(self, _run_id):
        return [
            KeptStep(name=name, started_at=1.0, ended_at=2.0, record=record)
            for name, record in self.records
        ]


@pytest.fixture
def ends(database):
    async def end_run(outcome, *records, **changes):
        about = request(7).model_copy(update=changes)
        await Runs(database).create("0001", about)
        remediations = Remediations(database)
        record = AlertOutcomes(
            remediations, Overrides(database), EngineHistory(*records), clock=lambda: 1000.0
        )
        await record.remember("0001", about, outcome)
        return await remediations.find("0001")

    return end_run


async def test_the_pull_request_and_what_each_alert_said(ends):
    said = {"title": "Fix", "body": "", "draft": False}
    pull = PullRequest(branch="bot/x", head="d" * 40, base="main", number=31, url="u", **said)
    outcome = Outcome(kind="pull_request", text="Opened.", pull_request=pull)
    kept = await ends(outcome, ("access/1", {}), ("stage/scan/1", SCAN))
    assert (kept.number, kept.state, kept.commit) == (31, "open", "c" * 40)
    assert kept.found == {7: mark("critical", "< 0.2.4", "0.2.4")}


@pytest.mark.parametrize("kind", ["failed", "comment", "covered"])
async def test_whoever_looked_is_remembered(ends, kind):
    kept = await ends(Outcome(kind=kind, text="x"), ("stage/scan/1", SCAN))
    assert (kept.state, set(kept.found)) == ("over", {7})


@pytest.mark.parametrize("record", [None, {"error": "x"}, {"output": {"commit": 5}}, {}])
async def test_whoever_failed_before_that_has_found_nothing(ends, record):
    kept = await ends(Outcome(kind="failed", text="x"), ("stage/scan/1", record))
    assert (kept.found, kept.commit) == ({}, "")


@pytest.mark.parametrize("kind", ["covered", "refused"])
async def test_whoever_was_not_let_in_has_tried_nothing(ends, kind):
    assert await ends(Outcome(kind=kind, text="x")) is None


@pytest.mark.parametrize("change", [{"dry_run": True}, {"no_pr": True}])
async def test_trials_are_no_tries(ends, change):
    outcome = Outcome(kind="comment", text="x")
    assert await ends(outcome, ("stage/scan/1", SCAN), **change) is None


def test_a_mark_changes_with_what_an_alert_says():
    said = {mark(*each) for each in [("low", "< 1", ""), ("low", "< 1", "1"), ("high", "< 1", "")]}
    assert len(said) == 3


async def test_whoever_had_no_money_left_that_day_has_tried_nothing(ends):
    outcome = Outcome(kind="failed", text="Used up.", rule=DAY_OVER)
    kept = await ends(outcome, ("stage/scan/1", SCAN))
    assert (kept.found, kept.commit) == ({}, "")


async def test_whoever_was_cancelled_because_nothing_was_left_has_tried_nothing(ends):
    assert await ends(Outcome(kind="cancelled", text="Closed."), ("stage/scan/1", SCAN)) is None


MADE = Overruled(versions=(("0.0.8", "0.2.4"),), reason="GHSA-x: why", until=date(2027, 2, 18))
RETIRE = Retire(**MADE.model_dump(), run_id="0000", days=30)
BUMP = Bump(by="ladder", level=4, tree="t", overruled=MADE)
FOUND = AlertGroup(commit="c" * 40, group=GROUP)
FIX = {"output": Work(found=FOUND, bump=BUMP).model_dump(mode="json")}
PLAIN = {"output": Work(found=FOUND, bump=Bump(by="ladder", tree="t")).model_dump(mode="json")}


ALONG = AlertGroup(
    commit="c" * 40,
    group=GROUP.model_copy(
        update={
            "package": "lodash",
            "advisories": (
                GROUP.advisories[0].model_copy(update={"package": "lodash", "alert": 8}),
            ),
        }
    ),
)
TOGETHER = Work(found=FOUND, bump=BUMP, companions=(CompanionFix(found=ALONG),))


@pytest.mark.parametrize(("number", "found"), [(31, {7, 8}), (None, {7})])
async def test_what_a_pull_request_took_along_is_remembered_with_it(ends, number, found):
    said = {"title": "Fix", "body": "", "draft": False}
    pull = PullRequest(branch="bot/x", head="d" * 40, base="main", number=number, url="u", **said)
    fixed = {"output": TOGETHER.model_dump(mode="json")}
    outcome = Outcome(kind="pull_request", text="Opened.", pull_request=pull)
    kept = await ends(outcome, ("stage/scan/1", SCAN), ("stage/fix/1", fixed))
    assert set(kept.found) == found


async def test_the_override_of_the_last_fix_is_kept_with_its_day(ends, database):
    outcome = Outcome(kind="comment", text="x")
    kept = await ends(outcome, ("stage/scan/1", SCAN), ("stage/fix/1", PLAIN), ("stage/fix/2", FIX))
    assert kept.override_until == datetime(2027, 2, 18, tzinfo=UTC).timestamp()


async def test_a_fix_without_one_has_no_day(ends):
    steps = ("stage/scan/1", SCAN), ("stage/fix/1", FIX), ("stage/fix/2", PLAIN)
    kept = await ends(Outcome(kind="comment", text="x"), *steps)
    assert kept.override_until is None


@pytest.fixture
def retired(database, ends):
    """Have a run about an override come to this; return when that is looked at next."""

    async def retire_override(rule, **found):
        about = request(7)
        await Runs(database).create("0000", about)
        kept = {"cancelled": False, "commit": "c", "found": {7: "m"}, "overruled": MADE}
        remediations = Remediations(database)
        await remediations.remember("0000", about, number=30, **kept)
        await remediations.pull_closed(about.repository.id, 30, merged=True)
        scan = FOUND.model_copy(update={"retire": RETIRE, "closed": (7,), **found})
        steps = ("stage/scan/1", {"output": scan.model_dump(mode="json")})
        outcome = Outcome(kind="failed" if "error" in rule else "covered", text="x", rule=rule)
        mine = await ends(outcome, steps, retire=RETIRE)
        assert (mine.retires, mine.found) == ("0000", {})
        assert await remediations.of_lane(about.lane) == [await remediations.find("0000")]
        return (await remediations.find("0000")).override_until

    return retire_override


async def test_what_is_needed_still_is_looked_at_after_as_many_days(retired):
    assert await retired("remediate/nothing_to_do") == 1000.0 + 30 * DAY


async def test_what_is_gone_or_theirs_is_never_looked_at_again(retired):
    assert await retired("remediate/nothing_to_do", let_go=True) is None


async def test_a_run_that_never_got_there_says_nothing(retired):
    assert await retired("remediate/infra_error") == datetime(2027, 2, 18, tzinfo=UTC).timestamp()


async def test_a_pull_request_is_noted_as_soon_as_it_is_known(database):
    about, remediations = request(7), Remediations(database)
    await Runs(database).create("0001", about)
    steps = EngineHistory(("stage/scan/1", SCAN), ("stage/fix/1", FIX))
    record = AlertOutcomes(remediations, Overrides(database), steps)
    for _ in range(2):
        await record.record_pull("0001", about, 31)
    await record.remember("0001", about, Outcome(kind="failed", text="It broke."))
    kept = await remediations.find("0001")
    assert (kept.number, kept.state, set(kept.found)) == (31, "open", {7})
    assert await remediations.pull_closed(about.repository.id, 31, merged=True) == ["0001"]
    assert (await remediations.find("0001")).override_until is not None


async def test_people_may_still_end_a_run_that_has_opened_one(database):
    about, remediations = request(7), Remediations(database)
    await Runs(database).create("0001", about)
    record = AlertOutcomes(remediations, Overrides(database), EngineHistory(("stage/scan/1", SCAN)))
    await record.record_pull("0001", about, 31)
    await StoredSteers(database).insert("0001", "k", kind="cancel", via="terminal", by="mara")
    await record.remember("0001", about, Outcome(kind="cancelled", text="Called off."))
    kept = await remediations.find("0001")
    assert (kept.number, kept.state, kept.declined) == (31, "open", True)


@pytest.mark.parametrize("merged", [True, False])
async def test_what_people_do_with_its_removal_says_what_becomes_of_it(database, merged):
    about, remediations = request(7), Remediations(database)
    await Runs(database).create("0000", about)
    kept = {"cancelled": False, "commit": "c", "found": {7: "m"}}
    await remediations.remember("0000", about, number=30, overruled=MADE, **kept)
    await remediations.pull_closed(about.repository.id, 30, merged=True)
    retiring = about.model_copy(update={"retire": RETIRE, "told": ()})
    await Runs(database).create("0001", retiring)
    await remediations.remember("0001", retiring, number=31, **kept)
    await remediations.pull_closed(about.repository.id, 31, merged=merged)
    first = await remediations.find("0000")
    assert (first.override_until is None) is merged
    assert not first.declined
