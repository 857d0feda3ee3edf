"""Nobody without the right to it has any effect: one table of who says what, and what comes of it.

What ends a run on GitHub's own word stands apart: who may take a label off or close an issue there,
GitHub has decided before it tells of it.
"""

from __future__ import annotations

import pytest

from agents.requests import Command, Person, ResolveIssue
from app.store.runs.lanes import Lanes
from app.store.runs.runs import Runs
from app.store.runs.steers import ANEW
from tests.app.commands.answering_scene import RUN, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures

PEOPLE = {"eve": "triage", "rita": "read", "mallory": ""}
"""Who may not write, each with the role; `mallory` has none, and has written the issue."""
SAID = {
    "approve": "/bot approve {ident}",
    "deny": "/bot deny {ident} no",
    "go": "/bot go on",
    "cancel": "/bot cancel",
    "budget": "/bot budget +$2",
    "status": "/bot status",
    "why": "/bot why",
    "retry": "/bot retry",
    "address": "/bot address",
    "update": "/bot update",
    "unknown": "/bot aprove {ident}",
    "remark": "Leave the tests out.",
}


@pytest.fixture
async def office(scene, database, aiohttp_server):
    scene.people["rita"] = rita = scene.server.create_user("rita")
    scene.server.set_role(scene.repository, rita, "read")
    return await open_office(scene, database, aiohttp_server)


async def label(office, who, run_id="run-9"):
    """Have somebody put the label on again; return what became of it for the run before."""
    person = {"id": office.scene.people[who].id, "login": who}
    request = office.scene.request.model_copy(
        update={"asked_by": type(office.scene.request.asked_by)(**person)}
    )
    await Runs(office.database).create(run_id, request)
    shared = {"installation_id", "repository", "number", "asked_by", "url"}
    command = Command(**request.model_dump(include=shared), verb="cancel", via="relabel")
    return await office.desk.obey(command, run_id + ANEW)


@pytest.mark.parametrize("verb", SAID)
@pytest.mark.parametrize("who", PEOPLE)
async def test_who_may_not_write_changes_nothing_by_what_they_say(office, who, verb):
    ident = await office.ask()
    before = len(office.texts())
    comment = await office.say(who, SAID[verb].format(ident=ident))

    assert await office.list_steers() == []
    assert office.asked == []
    assert await office.state(ident) == "waiting"
    assert [run.id for run in await Lanes(office.database).live(office.scene.request)] == [RUN]
    assert {face for _, face in faces(comment)} <= {"confused"}
    told = office.texts()[before:]
    assert len(told) <= 1
    for text in told:
        assert f"\n@{who}, about [your comment]" in text
        assert "Leave the tests" not in text
        assert "the label off" not in text


def faces(comment):
    return [(each.user.login, each.content) for each in comment.reactions]


@pytest.mark.parametrize("who", PEOPLE)
async def test_the_label_of_who_may_not_write_ends_no_run(office, who):
    ident = await office.ask()
    said = len(office.texts())
    assert await label(office, who) == {"refused": "asker-may-write"}

    assert await office.list_steers() == []
    assert await office.state(ident) == "waiting"
    assert len(office.texts()) == said
    assert office.scene.issue.reactions == []


async def queue(office, who, run_id):
    """Queue a run that somebody asked for, as the dispatcher does; nobody conducts it."""
    person = Person(id=office.scene.people[who].id, login=who)
    request = office.scene.request.model_copy(update={"asked_by": person})
    await Runs(office.database).create(run_id, request)


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("verb", ["go", "budget", "remark"])
async def test_a_run_that_is_about_to_be_refused_hears_nothing_meant_for_another(office, who, verb):
    await queue(office, who, "run-2")
    await office.say("bob", SAID[verb])
    assert [kind for kind, *_ in await office.list_steers()] == [verb]
    assert await office.list_steers("run-2") == []


@pytest.mark.parametrize("who", PEOPLE)
async def test_a_run_that_is_about_to_be_refused_keeps_nobody_from_a_new_one(office, who):
    await office.end()
    await queue(office, who, "run-2")
    comment = await office.say("bob", "/bot retry")
    assert len(office.asked) == 1
    assert [face for _, face in faces(comment)] == ["+1"]
    await office.say("bob", "/bot status")
    assert "run-2" not in office.texts()[-1]


async def test_what_waits_behind_a_run_of_a_writer_hears_what_is_said_to_the_newest(office):
    await queue(office, "bob", "run-2")
    await office.say("ada", "/bot go on")
    assert len(await office.list_steers("run-2")) == 1


async def test_a_run_that_has_begun_needs_no_second_look_at_its_asker(office):
    await queue(office, "eve", "run-2")
    await Runs(office.database).record_stage("run-2", "stage/prepare/1")
    await office.say("bob", "/bot go on")
    assert len(await office.list_steers("run-2")) == 1


async def test_the_label_of_who_may_write_ends_the_run_before(office):
    assert await label(office, "bob") == {"steered": RUN}
    [steer] = await office.steers.list_after(RUN)
    assert (steer.kind, steer.via, steer.by, steer.role) == ("cancel", "relabel", "bob", "write")
    assert await office.steers.list_after("run-9") == []


async def test_whom_the_policy_keeps_out_ends_no_run(office):
    await office.rule("who: {role: admin}\n")
    assert await label(office, "bob") == {"refused": "asker-among"}
    assert await office.list_steers() == []
    assert await label(office, "ada", "run-10") != {}


async def test_a_label_that_starts_nothing_ends_nothing(office):
    await office.rule("triggers: {resolve: false}\n")
    assert await label(office, "bob") == {"refused": "trigger-on"}
    assert await office.list_steers() == []


async def test_a_label_that_is_off_again_ends_nothing_by_being_put_on(office):
    await office.end()
    await office.unlabel("bob")
    await Runs(office.database).create("run-2", office.scene.request)
    assert await label(office, "bob") == {"refused": "label-on"}
    assert await office.list_steers("run-2") == []


async def test_what_it_is_asked_about_is_still_the_same_request(office):
    await label(office, "bob")
    request = await Runs(office.database).request("run-9")
    assert ResolveIssue.model_validate(request).asked_by.login == "bob"
