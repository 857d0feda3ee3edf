"""Answers that must not count: nothing changes, and people hear of it politely, once at most."""

from __future__ import annotations

import pytest

from app.simulator.github.accounts import Actor
from app.store.runs.approvals import StoredApprovals
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import make_asking, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
async def office(scene, database, aiohttp_server):
    return await open_office(scene, database, aiohttp_server)


async def by_fettle_itself(office, yes):
    app = office.scene.server.world.apps[office.scene.app.app_id]
    office.scene.server.parts.issues.comment(office.scene.issue, Actor(app.bot, app), yes)
    await office.scene.server.webhooks.wait_until_settled()


async def by_another_bot(office, yes):
    other = office.scene.server.create_app("bob")
    app = office.scene.server.world.apps[other.app_id]
    office.scene.server.set_role(office.scene.repository, app.bot, "write")
    office.scene.server.parts.issues.comment(office.scene.issue, Actor(app.bot, app), yes)
    await office.scene.server.webhooks.wait_until_settled()


async def by_an_app_for_its_user(office, yes):
    app = office.scene.server.world.apps[office.scene.server.create_app("slack").app_id]
    await office.say("bob", yes, through=app)


async def by_a_stranger(office, yes):
    await office.say("mallory", yes)


async def by_a_reader(office, yes):
    office.scene.server.set_role(office.scene.repository, office.scene.people["mallory"], "read")
    await office.say("mallory", yes)


async def by_triage(office, yes):
    await office.say("eve", yes)


async def by_a_custom_role_that_only_reads(office, yes):
    scene = office.scene
    scene.server.set_role(scene.repository, scene.people["mallory"], "write-docs", base="read")
    await office.say("mallory", yes)


async def by_somebody_who_lost_write_access_meanwhile(office, yes):
    scene = office.scene

    async def demote(_request):
        scene.server.set_role(scene.repository, scene.people["bob"], "read")

    scene.server.faults.call_before("GET", "/permission$", demote)
    await office.say("bob", yes)


async def by_whoever_took_over_a_login(office, yes):
    """The person of the delivery is gone; somebody else has the name by now."""
    world, bob = office.scene.server.world, office.scene.people["bob"]

    async def taken_over(_request):
        del world.accounts["bob"]
        office.scene.server.set_role(
            office.scene.repository, office.scene.server.create_user("bob"), "admin"
        )
        office.scene.server.faults.clear()

    office.scene.server.faults.call_before("GET", "/permission$", taken_over)
    office.scene.server.parts.issues.comment(office.scene.issue, Actor(bob), yes)
    await office.scene.server.webhooks.wait_until_settled()


async def by_a_look_alike(office, yes):
    """A login that only looks like bob's; GitHub has none such, so the payload is refused."""
    alike = office.scene.server.create_user("b\u043eb")
    office.scene.server.set_role(office.scene.repository, alike, "write")
    office.scene.server.parts.issues.comment(office.scene.issue, Actor(alike), yes)
    await office.scene.server.webhooks.wait_until_settled()


async def by_a_deleted_account(office, yes):
    ghost = office.scene.server.create_user("ghost")
    office.scene.server.set_role(office.scene.repository, ghost, "write")
    office.scene.server.parts.issues.comment(office.scene.issue, Actor(ghost), yes)
    await office.scene.server.webhooks.wait_until_settled()


async def by_editing_an_old_comment(office, yes):
    said = await office.say("bob", "I have a look.")
    await office.scene.server.edit_comment(said, office.scene.people["bob"], yes)


async def by_editing_somebodys_comment_before_it_is_read(office, yes):
    """Whoever may write may edit other people's comments, and keep their name on them."""
    await edited_on_the_way(office, "bob", yes.replace("approve", "deny"), yes)


async def by_a_comment_that_is_edited_away(office, yes):
    await edited_on_the_way(office, "bob", yes, "Never mind.")


async def by_a_comment_that_is_edited_and_back(office, yes):
    await edited_on_the_way(office, "bob", yes, "Hm.", yes)


async def edited_on_the_way(office, who, first, *later):
    scene = office.scene

    async def edit(_request):
        said = scene.issue.comments[-1]
        for text in later:
            scene.server.parts.issues.edit_comment(said, Actor(scene.people["ada"]), text)
        said.updated_at = said.created_at.replace(year=2030)

    scene.server.faults.call_before("GET", r"/issues/comments/\d+$", edit)
    await office.say(who, first)


async def by_a_comment_that_was_removed(office, yes):
    scene = office.scene

    async def remove(_request):
        scene.issue.comments.pop()

    scene.server.faults.call_before("GET", r"/issues/comments/\d+$", remove)
    await office.say("bob", yes)


async def by_a_quotation(office, yes):
    await office.say("bob", f"> {yes}\n\nWhat do you all think?")


async def by_code(office, yes):
    await office.say("bob", f"```\n{yes}\n```\n\n`{yes}`\n\n    {yes}")


async def by_something_hidden(office, yes):
    await office.say("bob", f"Nice.\n\n<!--\n{yes}\n-->\n\n<details>\n\n{yes}\n\n</details>")


async def by_an_answered_mail(office, yes):
    """The question quoted by a mail program that marks no quotations: it holds both answers."""
    no = yes.replace("approve", "deny")
    await office.say("bob", f"I would rather not.\n\nVon: fettle\n\n{yes}\n{no} and why")


async def by_a_mail_with_its_history(office, yes):
    await office.say("bob", f"No!\n\nOn Sun, Nov 22, 2026 fettle[bot] wrote:\n{yes}")


async def by_talking_about_it(office, yes):
    await office.say("bob", f"Shall we say {yes} or not? - {yes}")


async def on_another_issue(office, yes):
    scene = office.scene
    other = await scene.server.create_issue(scene.repository, scene.people["ada"], "Other")
    await office.say("bob", yes, number=other.number)
    assert "asked here" in office.texts(other.number)[0]


async def for_everything(office, yes):
    await office.say("bob", "/bot approve all")


async def with_conditions(office, yes):
    await office.say("bob", f"{yes} but only on Mondays")


WAYS = [value for name, value in list(globals().items()) if name.startswith(("by_", "on_", "for_"))]
SILENT = {
    by_fettle_itself,
    by_another_bot,
    by_a_look_alike,
    by_a_deleted_account,
    by_editing_an_old_comment,
    by_a_comment_that_was_removed,
    by_a_quotation,
    by_code,
    by_something_hidden,
    by_a_mail_with_its_history,
    by_talking_about_it,
    on_another_issue,
}


@pytest.mark.parametrize("way", [*WAYS, with_conditions], ids=lambda way: way.__name__)
async def test_it_changes_nothing(office, way):
    ident = await office.ask()
    before, question = await office.store.get(ident), office.texts()[0]
    await way(office, f"/bot approve {ident}")

    assert await office.store.get(ident) == before
    assert office.texts()[0] == question
    assert len(office.refusals) == (0 if way in SILENT else 1)
    if way is by_an_answered_mail:
        assert "both approves and denies" in office.refusals[0]


async def test_it_would_have_counted_otherwise(office):
    """The ways above fail for their own reasons, not because nothing works."""
    ident = await office.ask()
    await office.say("bob", f"/bot approve {ident}")
    assert await office.state(ident) == "approved"


async def test_somebody_who_may_not_answer_is_told_once(office):
    ident = await office.ask()
    for number in range(5):
        comment = await office.say("mallory", f"/bot approve {ident}\n\n{number}")
        assert [face.content for face in comment.reactions] == ["confused"]

    assert await office.state(ident) == "waiting"
    [refusal] = office.refusals
    assert "@mallory" in refusal
    assert "write access" in refusal
    assert "Rule: `may-answer`" in refusal


async def test_an_id_of_another_repository_tells_nothing(office, database):
    scene = office.scene
    elsewhere = scene.request.repository.model_copy(update={"id": 4711, "name": "secret"})
    other = scene.request.model_copy(update={"repository": elsewhere})
    await Runs(database).create("run-2", other)
    hidden = await StoredApprovals(database).ask_once("run-2", make_asking())
    await office.say("bob", f"/bot approve {hidden.id}\n/bot approve aaaaaa")

    assert await office.state(hidden.id) == "waiting"
    first, second = (text.partition("\n")[2] for text in office.refusals)
    assert first.replace(hidden.id, "aaaaaa") == second
    assert "secret" not in first


async def test_a_refusal_carries_nothing_that_lives(office):
    await office.ask()
    await office.say("bob", "/bot approve @all![x](https://evil.example/?q=1) please")

    [refusal] = office.refusals
    assert "@all" not in refusal
    assert "evil.example" not in refusal
