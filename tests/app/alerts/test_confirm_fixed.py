"""After the merge: GitHub's answer is waited for; if it does not come people are told why, once."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from agents.errors import TransientError
from app.alerts.confirm_fixed import DAY, FixConfirmation
from app.github.transport.idempotent_comments import make_marker
from app.simulator.github.state.alerts import Affected
from app.store.alerts.remediations import Remediations
from app.store.schedule_leases import Sweeps
from app.store.tables import remediations as remediations_of
from app.store.tables import runs
from tests.app.github.conftest import alerted, key, scene, signer
from tests.app.github.pulls.test_competing import opened_by_us

__all__ = ["alerted", "key", "scene", "signer"]  # fixtures
COMMIT = "c" * 40


class DefaultBranchSource:
    """The default branch, as far as it is read."""

    def __init__(self, files):
        self.held = {path: text.encode() for path, text in files.items()}

    async def fetch(self):
        return COMMIT

    async def files(self, _commit):
        return tuple(self.held)

    async def show(self, _commit, path):
        return self.held.get(path)


class FixEquipment:
    """What a run is given, and let go of."""

    def __init__(self, alerts, source):
        self.ports = SimpleNamespace(alerts=alerts, source=source)
        self.closed = False

    async def close(self):
        self.closed = True


@pytest.fixture
def remediations(alerted):
    return Remediations(alerted.database)


@pytest.fixture
async def merged(alerted, remediations):
    """A run whose pull request was merged; return a function that lets days pass and looks."""
    scene, ada = alerted.scene, alerted.scene.people["ada"]
    alert = await alerted.alert()
    await scene.server.commit(
        alerted.repository, {"a": "1\n"}, author=ada, message="Fix", branch="bot/fix"
    )
    pull = await scene.server.open_pull(alerted.repository, ada, title="Fix", head="bot/fix")
    run_id, request = await alerted.create_run()
    kept = {"cancelled": False, "commit": COMMIT, "found": {alert.number: "m"}}
    await remediations.remember(run_id, request, number=pull.issue.number, **kept)
    made = []

    async def equip(run_id, request):
        if run_id in look.breaks:
            raise TransientError("GitHub did not answer.")
        made.append(FixEquipment(alerted.alerts(run_id, request), look.source))
        return made[-1]

    async def look(days=1.1):
        look.now += days * DAY
        await FixConfirmation(
            scene.github,
            equip,
            runs=alerted.runs,
            remediations=remediations,
            sweeps=Sweeps(alerted.database, "one"),
            clock=lambda: look.now,
        ).run()
        assert all(each.closed for each in made)
        return await remediations.find(run_id)

    look.breaks = set()
    look.now, look.source, look.alert, look.pull = time.time(), DefaultBranchSource({}), alert, pull
    look.said = lambda: [comment.body for comment in pull.issue.comments]
    look.merge = lambda: remediations.pull_closed(
        alerted.repository.id, pull.issue.number, merged=True
    )
    return look


async def test_nothing_is_asked_before_github_had_a_day(alerted, merged):
    await merged.merge()
    before = len(alerted.server.requests)
    assert (await merged(0.9)).state == "merged"
    assert len(alerted.server.requests) == before


async def test_a_fix_that_nobody_told_of_is_seen(alerted, merged):
    await merged.merge()
    await alerted.server.fix_alert(merged.alert)
    found = await merged()
    assert (found.state, found.told_at) == ("fixed", None)
    assert merged.said() == []


async def test_a_merge_that_nobody_told_of_is_seen(alerted, merged):
    await alerted.server.merge_pull(merged.pull, alerted.scene.people["ada"])
    assert (await merged()).state == "merged"


async def test_a_pull_request_that_nothing_is_left_of_is_closed_with_a_word(
    alerted, merged, remediations
):
    run_id, request = await alerted.create_run("own")
    text = f"Moved.\n\n{make_marker(run_id, 'pull-request')}"
    pull = await opened_by_us(alerted, "bot/deps-jinja2-0a1b2c", text)
    pull.repository.pushes.clear()  # as if Fettle itself had pushed
    kept = {"cancelled": False, "commit": COMMIT, "found": {merged.alert.number: "m"}}
    await remediations.remember(run_id, request, number=pull.issue.number, **kept)
    await merged()
    assert pull.issue.state == "open"

    await alerted.server.fix_alert(merged.alert)
    await merged()
    assert pull.issue.state == "closed"
    assert "Nothing is left to merge" in pull.issue.comments[-1].body
    found = await remediations.find(run_id)
    assert (found.state, found.declined) == ("over", False)
    assert merged.pull.issue.state == "open", "that one is somebody's own"


async def test_people_are_told_once_which_copy_is_still_in_which_range(merged):
    await merged.merge()
    merged.source = DefaultBranchSource({"requirements.txt": "jinja2==3.1.3\n"})
    assert (await merged()).told_at is not None
    [said] = merged.said()
    assert "The alert 1 is open a day after this was merged" in said
    assert "`3.1.3` in `< 3.1.4`" in said
    assert (await merged()).state == "merged"
    assert len(merged.said()) == 1


async def test_people_are_told_that_github_has_not_looked(merged):
    await merged.merge()
    merged.source = DefaultBranchSource({"requirements.txt": "jinja2==3.1.4\n"})
    await merged()
    [said] = merged.said()
    assert "outside of the vulnerable ranges (3.1.4)" in said
    assert "GitHub has not looked" in said


async def test_people_are_told_that_it_was_another_branch(alerted, merged, remediations):
    run_id, request = await alerted.create_run("other", base_branch="release")
    kept = {"cancelled": False, "commit": COMMIT, "found": {merged.alert.number: "m"}}
    number = merged.pull.issue.number
    await remediations.remember(run_id, request, number=number, **kept)
    await merged.merge()
    await merged()
    assert any("merged into `release`" in said for said in merged.said())


async def test_files_that_cannot_be_read_are_said_to_be(merged):
    await merged.merge()
    merged.source = DefaultBranchSource({"go.mod": "module x\n"})
    await merged()
    [said] = merged.said()
    assert "cannot read the lock file" in said


async def test_what_fettle_says_is_made_of_names_that_nobody_acts_on(alerted, merged):
    """A version and a folder are whatever somebody wrote into a file."""
    await merged.merge()
    merged.source = DefaultBranchSource(
        {"requirements.txt": "jinja2==3.1.3 # @mara `/bot approve`\n"}
    )
    await merged()
    [said] = merged.said()
    assert "@mara" not in said
    assert "/bot approve" not in said


async def test_after_a_month_nobody_looks_any_more(alerted, merged):
    await merged.merge()
    merged.source = DefaultBranchSource({"requirements.txt": "jinja2==3.1.3\n"})
    await merged(31)
    assert merged.said() == []


async def test_alerts_that_cannot_be_read_just_now_are_left_for_another_day(alerted, merged):
    await merged.merge()
    alerted.repository.alerts_enabled = False
    assert (await merged()).state == "merged"
    alerted.repository.alerts_enabled = True
    await alerted.server.fix_alert(merged.alert)
    assert (await merged()).state == "fixed"


async def test_only_what_is_left_open_is_told(alerted, merged, remediations):
    other = await alerted.alert(
        ghsa="GHSA-aaaa-bbbb-cccc", affected=Affected("pip", "jinja2", "< 3.1.5", "3.1.5")
    )
    run_id, request = await alerted.create_run("two")
    kept = {"cancelled": False, "commit": COMMIT, "found": {1: "m", other.number: "n"}}
    number = merged.pull.issue.number
    await remediations.remember(run_id, request, number=number, **kept)
    await merged.merge()
    await alerted.server.fix_alert(merged.alert)
    merged.source = DefaultBranchSource({"requirements.txt": "jinja2==3.1.4\n"})
    await merged()
    [said] = merged.said()
    assert "`3.1.4` in `< 3.1.5`" in said
    assert (await remediations.find(run_id)).open_alerts == (other.number,)


@pytest.mark.parametrize("broken", ["{}", '{"kind": "gone"}'])
async def test_one_that_cannot_be_read_does_not_stop_the_others(
    alerted, merged, remediations, broken
):
    await merged.merge()
    run_id, request = await alerted.create_run("broken")
    kept = {"cancelled": False, "commit": COMMIT, "found": {1: "m"}}
    await remediations.remember(run_id, request, number=77, **kept)
    change = update(runs).where(runs.c.id == run_id).values(request=broken)
    first = update(remediations_of).where(remediations_of.c.run_id == run_id).values(looked_at=1.0)
    await alerted.database.write(lambda c: (c.execute(change), c.execute(first)))
    await alerted.server.fix_alert(merged.alert)
    assert (await merged()).state == "fixed"


async def test_a_fault_at_one_of_them_stops_the_others_once(alerted, merged, remediations):
    await merged.merge()
    run_id, request = await alerted.create_run("broken")
    kept = {"cancelled": False, "commit": COMMIT, "found": {1: "m"}}
    await remediations.remember(run_id, request, number=77, **kept)
    await remediations.pull_closed(alerted.repository.id, 77, merged=True)
    first = update(remediations_of).where(remediations_of.c.run_id == run_id).values(looked_at=1.0)
    await alerted.database.write(lambda c: c.execute(first))
    merged.breaks.add(run_id)
    await alerted.server.fix_alert(merged.alert)
    assert (await merged()).state == "merged"
    assert (await merged(0.1)).state == "fixed"
