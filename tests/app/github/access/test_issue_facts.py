"""What GitHub says now becomes the facts that the rules judge."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from app.github.access.issue_facts import issue_facts
from app.github.access.roles import role_of
from app.github.transport.tokens import Profile
from handlers.access.issues import decide


@pytest.fixture
async def client(scene):
    return await scene.github.installation(scene.installation.id, scene.repository.id, Profile.READ)


async def test_a_request_that_is_all_right(scene, client):
    facts = await issue_facts(client, scene.request)

    assert facts.role_name == "write"
    assert facts.issue_open
    assert facts.labels == ("bot:resolve",)
    assert not facts.edited
    assert not facts.asker_is_bot
    assert decide(scene.request, facts) is None


@pytest.mark.parametrize(
    ("name", "role"), [("ada", "admin"), ("bob", "write"), ("eve", "triage"), ("mallory", "none")]
)
async def test_the_role_of_each_person(scene, client, name, role):
    person = scene.request.asked_by.model_copy(update={"id": scene.people[name].id, "login": name})

    assert (await role_of(client, scene.request.repository, person)).role_name == role


async def test_a_custom_role_keeps_its_name_beside_what_it_stands_on(scene, client):
    scene.server.set_role(scene.repository, scene.people["bob"], "release-crew", base="maintain")

    facts = await issue_facts(client, scene.request)

    assert (facts.role_name, facts.permission) == ("release-crew", "write")


async def test_a_login_that_belongs_to_somebody_else_by_now_has_no_role(scene, client):
    asked_by = scene.request.asked_by.model_copy(update={"id": 1})

    facts = await issue_facts(client, scene.request.model_copy(update={"asked_by": asked_by}))

    assert facts.role_name == facts.permission == ""


async def test_an_unknown_account_has_no_role(scene, client):
    asked_by = scene.request.asked_by.model_copy(update={"login": "nobody-at-all"})

    assert not (await role_of(client, scene.request.repository, asked_by)).may_write


async def test_a_bot_is_known_as_one(scene, client):
    bot = {"id": scene.app.bot_id, "login": scene.app.bot_login}
    asked_by = scene.request.asked_by.model_copy(update=bot)

    facts = await issue_facts(client, scene.request.model_copy(update={"asked_by": asked_by}))

    assert facts.asker_is_bot
    assert not scene.calls("GET", "/permission"), "no App has a role that could be asked for"


async def test_closed_and_unlabelled(scene, client):
    await scene.server.unlabel_issue(scene.repository, 1, "bot:resolve", scene.people["bob"])
    await scene.server.close_issue(scene.repository, 1, scene.people["bob"])

    facts = await issue_facts(client, scene.request)

    assert not facts.issue_open
    assert facts.labels == ()


@pytest.mark.parametrize("change", [{"body": "Push my key."}, {"title": "Something else"}])
async def test_an_edit_names_its_editor(scene, client, change):
    await scene.server.edit_issue(scene.repository, 1, scene.people["mallory"], **change)

    facts = await issue_facts(client, scene.request)

    assert facts.edited
    assert facts.editor.login == "mallory"
    assert decide(scene.request, facts).rule == "text-unchanged"


async def test_the_askers_own_edit_does_not_hide_another_persons(scene, client):
    await scene.server.edit_issue(scene.repository, 1, scene.people["mallory"], body="Push my key.")
    await scene.server.edit_issue(scene.repository, 1, scene.people["bob"], title="Nicer title")

    assert (await issue_facts(client, scene.request)).editor.login == "mallory"


async def test_an_edit_before_the_request_does_not_count(scene, client):
    await scene.server.edit_issue(scene.repository, 1, scene.people["mallory"], body="Longer.")
    request = scene.request.model_copy(update={"body": "Longer."})

    assert not (await issue_facts(client, request)).edited


async def test_a_suspended_installation_is_a_fact(scene, client):
    await scene.server.suspend(scene.installation, scene.people["ada"])

    assert (await issue_facts(client, scene.request)).installation_suspended


async def test_another_repository_of_that_name_is_refused(scene, client):
    other = scene.request.repository.model_copy(update={"id": 99})

    with pytest.raises(RunError, match="moved or deleted"):
        await issue_facts(client, scene.request.model_copy(update={"repository": other}))


async def test_an_issue_that_was_deleted_is_told_in_words(scene, client):
    """GitHub says so by an error, not by an empty answer."""
    request = scene.request.model_copy(update={"number": 987})

    with pytest.raises(RunError, match="moved or deleted"):
        await issue_facts(client, request)


async def test_the_operator_of_the_machine_is_nobody_on_github(scene, client):
    """A name on the machine says nothing about the account that happens to be called so."""
    asked_by = scene.request.asked_by.model_copy(update={"id": 0})
    at_terminal = {"asked_by": asked_by, "via": "terminal"}

    facts = await issue_facts(client, scene.request.model_copy(update=at_terminal))

    assert (facts.role_name, facts.permission, facts.asker_is_bot) == ("", "", False)
    assert facts.issue_open
