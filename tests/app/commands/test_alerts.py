"""What people say on the issue that Fettle opened about a package is heard by the run about it."""

from __future__ import annotations

import pytest

from agents.ports import Turn, Usage
from agents.requests import RemediateAlert
from agents.run import Outcome
from app.store.runs.lanes import Lanes
from app.store.runs.turns import StoredJournal
from tests.app.commands.answering_scene import make_asking, open_office
from tests.app.github.conftest import alerted, key, scene, signer

__all__ = ["alerted", "key", "scene", "signer"]  # fixtures


@pytest.fixture
async def office(alerted, scene, aiohttp_server):
    return await open_office(scene, alerted.database, aiohttp_server)


@pytest.fixture
async def waiting(alerted, office):
    """A run about alerts that has asked something."""
    await alerted.alert()
    run = await alerted.make_speaking("0001")
    found = await run.ask(make_asking())
    [issue] = alerted.issues()
    return run, found.id, issue


async def test_a_yes_on_the_issue_decides(office, waiting):
    _, ident, issue = waiting
    await office.say("bob", f"/bot approve {ident}", number=issue.number)
    stored = await office.store.get(ident)
    assert (stored.state, stored.decided_by) == ("approved", "bob")
    assert "**Approved** by `bob`" in office.texts(issue.number)[0]


async def test_a_yes_elsewhere_does_not(office, waiting):
    _, ident, _ = waiting
    await office.say("bob", f"/bot approve {ident}")
    assert await office.state(ident) == "waiting"
    assert "nothing with the id" in office.refusals[0]


async def test_nobody_without_write_access_decides(office, waiting):
    _, ident, issue = waiting
    await office.say("eve", f"/bot approve {ident}", number=issue.number)
    assert await office.state(ident) == "waiting"


async def test_it_is_told_where_the_run_stands_and_why(office, waiting):
    run, _, issue = waiting
    await office.say("bob", "/bot status", number=issue.number)
    assert any(run.run_id in text and "0.00 of" in text for text in office.texts(issue.number))
    await office.say("bob", "/bot why", number=issue.number)
    assert len(office.texts(issue.number)) == 4


@pytest.mark.parametrize("private", [False, True])
async def test_attack_what_the_public_must_not_learn_no_command_tells_it(office, alerted, private):
    alerted.repository.private = private
    await alerted.alert()
    run = await alerted.make_speaking("0001")
    await run.ask(make_asking())
    [issue] = alerted.issues()
    said = {"decision": "reachable", "reasoning": "GHSA-x is reached by login.py"}
    call = {"type": "tool_use", "id": "t1", "name": "submit_assessment", "input": said}
    turn = Turn("answer", "assess/1", [call], usage=Usage(input=1, output=1))
    await StoredJournal(alerted.database, run.run_id).append("assess/1", 0, turn)
    closed = {"kind": "cancel", "via": "alert", "by": "GitHub", "words": "GHSA-x is fixed."}
    await office.steers.insert(run.run_id, "k", **closed)
    over = Outcome(kind="failed", text="GHSA-x: login.py", rule="remediate/fix_failed")
    await alerted.runs.record_end(run.run_id, over)
    await office.say("bob", "/bot status", number=issue.number)
    await office.say("bob", "/bot why", number=issue.number)
    status, why = office.texts(issue.number)[-2:]
    assert "**Stopped**" in status
    assert "the run ended" in why
    assert [("GHSA-x" in text) for text in (status, why)] == [private, private]
    assert ("login.py" in why) is private


async def test_a_cancel_and_a_remark_reach_it(office, waiting):
    run, _, issue = waiting
    await office.say("bob", "Version 4 is fine for us.", number=issue.number)
    await office.say("bob", "/bot cancel", number=issue.number)
    assert [(kind, by) for kind, _, by in await office.list_steers(run.run_id)] == [
        ("remark", "bob"),
        ("cancel", "bob"),
    ]
    assert await office.list_steers() == []  # the run about another issue hears nothing


async def test_closing_the_issue_calls_the_run_off(office, alerted, waiting):
    run, _, issue = waiting
    await alerted.server.close_issue(alerted.repository, issue.number, alerted.scene.people["bob"])
    assert [kind for kind, _, _ in await office.list_steers(run.run_id)] == ["cancel"]


async def test_a_label_taken_off_calls_nothing_off(office, alerted, waiting):
    run, _, issue = waiting
    bob, label = alerted.scene.people["bob"], alerted.scene.request.label
    await alerted.server.label_issue(alerted.repository, issue.number, label, bob)
    await alerted.server.unlabel_issue(alerted.repository, issue.number, label, bob)
    assert await office.list_steers(run.run_id) == []


async def test_a_retry_asks_for_the_same_package_again(office, alerted, waiting):
    run, _, issue = waiting
    await alerted.runs.record_end(run.run_id, Outcome(kind="failed", text="None."))
    await office.say("bob", "/bot retry", number=issue.number)
    [(run_id, asked)] = office.asked
    assert isinstance(asked, RemediateAlert)
    assert (asked.package, asked.number, asked.via) == ("jinja2", issue.number, "command")
    assert (asked.asked_by.login, asked.again.run_id) == ("bob", run.run_id)
    assert asked.lane == run.request.lane
    assert await alerted.runs.lane_of(run_id) == asked.lane


async def test_a_branch_that_the_operator_named_is_not_for_who_asks_again(office, alerted):
    run = await alerted.make_speaking("0001", via="terminal", branch="fix/jinja2")
    await run.end(Outcome(kind="failed", text="None.", rule="remediate/fix_failed"))
    [issue] = alerted.issues()
    await office.say("bob", "/bot retry", number=issue.number)
    [(_, asked)] = office.asked
    assert asked.branch == ""


async def test_a_later_run_about_the_package_hears_what_is_said_there(office, alerted, waiting):
    first, _, issue = waiting
    await alerted.runs.record_end(first.run_id, Outcome(kind="failed", text="None."))
    later = await alerted.make_speaking("0002")
    await office.say("bob", "/bot cancel", number=issue.number)
    assert [kind for kind, _, _ in await office.list_steers(later.run_id)] == ["cancel"]


async def test_runs_without_an_issue_are_in_nobodys_lane(alerted, office):
    run_id, _ = await alerted.create_run("0001")
    seen = []

    async def look(command, _):
        seen.append(await Lanes(alerted.database).live(command))
        return {}

    office.desk.obey = look
    await office.say("bob", "/bot status")
    assert run_id not in [each.id for each in seen[0]]
