"""Answers that count, and what everybody sees of them."""

from __future__ import annotations

import asyncio
import dataclasses
import time

import pytest
from sqlalchemy import update

import handlers
from app.simulator.github.schemas.common import account_json, repository_json
from app.store.tables import approvals
from tests.app.commands.answering_scene import make_asking, open_office, open_pulled
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
async def office(scene, database, aiohttp_server):
    return await open_office(scene, database, aiohttp_server)


def faces(comment):
    return [(face.user.login, face.content) for face in comment.reactions]


async def test_a_yes_decides_and_is_seen(office):
    ident = await office.ask()
    comment = await office.say("bob", f"/bot approve {ident}")

    stored = await office.store.get(ident)
    assert (stored.state, stored.decided_by, stored.decided_via) == ("approved", "bob", "comment")
    assert faces(comment) == [("fettle[bot]", "+1")]
    [text] = office.texts()
    assert "**Approved** by `bob` on 20" in text
    assert "    git reset --hard HEAD~1" in text
    assert "/bot approve" not in text


async def test_a_no_decides_with_its_reason(office):
    ident = await office.ask()
    comment = await office.say("ada", f"/bot deny {ident} keep the @history,\nuse `git revert`")

    stored = await office.store.get(ident)
    assert (stored.state, stored.reason) == ("denied", "keep the @history,\nuse `git revert`")
    assert faces(comment) == [("fettle[bot]", "-1")]
    [text] = office.texts()
    assert "**Denied** by `ada`" in text
    assert "Reason: `` keep the @history,\\nuse `git revert` ``" in text


async def test_a_policy_says_who_may_approve_and_whoever_may_write_says_no(office):
    """`bob` may write and no more; the policy is that of the default branch at this moment."""
    ident = await office.ask()
    await office.rule("who: {role: admin}\n")
    await office.say("bob", f"/bot approve {ident}")
    assert await office.state(ident) == "waiting"
    assert "`who` in `.github/fettle.yml`" in office.refusals[0]

    await office.rule("who: {rolle: admin}\n")
    await office.say("ada", f"/bot approve {ident}")
    assert await office.state(ident) == "waiting"
    assert "line 1, column 7" in office.refusals[1]

    await office.say("bob", f"/bot deny {ident}")
    assert await office.state(ident) == "denied"


async def test_several_commands_of_one_comment_each_answer_their_own(office):
    first, second = await office.ask("c1"), await office.ask("c2")
    await office.say("bob", f"Well.\n\n/bot approve {first}\n/bot deny {second} no")

    assert await office.state(first) == "approved"
    assert await office.state(second) == "denied"
    assert office.refusals == []


async def test_nothing_is_decided_in_bulk(office):
    first, second = await office.ask("c1"), await office.ask("c2")
    for said in ("", " all", f" {first} {second}", f" {first}, {second}", " *"):
        await office.say("bob", f"/bot approve{said}")

    assert [await office.state(each) for each in (first, second)] == ["waiting"] * 2
    assert len(office.refusals) == 5
    assert f"`{first}`, `{second}`" in office.refusals[0]


async def test_a_good_command_beside_a_bad_one_still_counts(office):
    ident = await office.ask()
    comment = await office.say("bob", f"/bot approve nothing\n/bot approve {ident}")

    assert await office.state(ident) == "approved"
    assert len(office.refusals) == 1
    assert {face for _, face in faces(comment)} == {"+1", "confused"}


async def test_a_late_or_second_answer_changes_nothing(office):
    ident = await office.ask()
    await office.say("bob", f"/bot approve {ident}")
    before = await office.store.get(ident)
    await office.say("ada", f"/bot deny {ident} no!")
    await office.say("bob", f"/bot approve {ident}")

    assert await office.store.get(ident) == before
    [refusal] = office.refusals
    assert "was approved by bob" in refusal
    assert "first answer" in refusal


async def test_a_redelivered_comment_changes_nothing(office):
    ident = await office.ask()
    comment = await office.say("bob", f"/bot approve {ident}")
    before, told = await office.store.get(ident), office.texts()
    await office.redeliver()

    assert len(office.became) == 2
    assert await office.store.get(ident) == before
    assert office.texts() == told
    assert faces(comment) == [("fettle[bot]", "+1")]


async def test_a_refused_command_that_comes_again_is_refused_once(office):
    await office.ask()
    await office.say("bob", "/bot approve nothing")
    await office.redeliver()

    assert len(office.became) == 2
    assert len(office.refusals) == 1


async def test_of_two_people_who_answer_at_once_one_decides(office):
    ident = await office.ask()
    await asyncio.gather(
        office.say("bob", f"/bot approve {ident}"), office.say("ada", f"/bot deny {ident} no")
    )

    stored = await office.store.get(ident)
    decided = [what for _, what in office.became if "decided" in what]
    assert len(decided) == 1
    assert decided[0]["decided"] == stored.state
    assert stored.decided_by == {"approved": "bob", "denied": "ada"}[stored.state]
    assert len(office.refusals) == 1
    assert stored.state in office.texts()[0].casefold()


async def test_an_answer_after_its_time_is_none(office, database):
    ident = await office.ask()
    late = update(approvals).values(expires_at=time.time() - 1)
    await database.write(lambda c: c.execute(late))
    await office.say("bob", f"/bot approve {ident}")

    assert await office.state(ident) == "expired"
    assert "expired on" in office.refusals[0]


async def test_a_question_whose_run_has_ended_says_so_to_whoever_answers_it(office):
    ident = await office.ask()
    await office.store.void(ident, "the run ended")
    assert "**Waiting for a decision.**" in office.texts()[0]
    await office.say("bob", f"/bot approve {ident}")

    assert await office.state(ident) == "void"
    assert "became void" in office.refusals[0]
    assert "**Void** since" in office.texts()[0]
    assert "Reason: the run ended" in office.texts()[0]


async def test_a_damaged_record_cannot_be_approved(office, database):
    ident = await office.ask()
    other = update(approvals).values(arguments='{"command": "rm -rf /"}')
    await database.write(lambda c: c.execute(other))
    await office.say("bob", f"/bot approve {ident}")

    assert await office.state(ident) == "waiting"
    assert "damaged" in office.refusals[0]


async def test_a_crash_between_the_decision_and_its_telling_is_mended(office):
    ident = await office.ask()
    office.scene.server.faults.status("POST", "/reactions", 500, times=100)
    comment = await office.say("bob", f"/bot approve {ident}")
    assert await office.state(ident) == "approved"
    assert faces(comment) == []

    office.scene.server.faults.clear()
    await office.redeliver()

    assert faces(comment) == [("fettle[bot]", "+1")]
    assert "**Approved** by `bob`" in office.texts()[0]
    assert office.refusals == []


async def test_what_github_will_not_have_told_is_decided_all_the_same(office):
    ident = await office.ask()
    question = office.scene.issue.comments[0]
    await office.scene.server.delete_comment(question, office.scene.people["ada"])
    office.scene.server.faults.status("POST", "/comments$", 403, times=100)
    await office.say("bob", f"/bot approve {ident}")

    assert await office.state(ident) == "approved"


async def test_a_removed_question_is_written_again_with_the_decision(office):
    ident = await office.ask()
    await office.scene.server.delete_comment(
        office.scene.issue.comments[0], office.scene.people["ada"]
    )
    await office.say("bob", f"/bot approve {ident}")

    [text] = office.texts()
    assert "**Approved** by `bob`" in text
    assert "git reset" in text


# --- with a pull request --------------------------------------------------------------------------


@pytest.fixture
async def pulled(scene, database, aiohttp_server):
    return await open_pulled(scene, database, aiohttp_server)


def check_of(office):
    [found] = office.scene.repository.check_runs.values()
    return found


async def press(office, label, who):
    scene = office.scene
    return await scene.server.press_button(
        scene.repository, check_of(office), label, scene.people[who]
    )


async def test_a_pull_request_gets_buttons(pulled):
    ident = await pulled.ask()
    check = check_of(pulled)
    assert (check.external_id, check.conclusion) == (ident, "action_required")
    assert [each["identifier"] for each in check.buttons] == [f"approve:{ident}", f"deny:{ident}"]
    assert "    git reset --hard HEAD~1" in check.output["text"]
    assert f"#issuecomment-{pulled.scene.issue.comments[0].id})" in check.output["summary"]


@pytest.mark.parametrize(
    ("label", "state", "conclusion"),
    [("Approve", "approved", "success"), ("Deny", "denied", "neutral")],
)
async def test_a_button_decides(pulled, label, state, conclusion):
    ident = await pulled.ask()
    await press(pulled, label, "bob")

    stored = await pulled.store.get(ident)
    assert (stored.state, stored.decided_by, stored.decided_via) == (state, "bob", "button")
    check = check_of(pulled)
    assert (check.conclusion, check.buttons) == (conclusion, [])
    assert "with a button" in pulled.texts()[0]


async def test_a_comment_takes_the_buttons_away(pulled):
    ident = await pulled.ask()
    await pulled.say("bob", f"/bot approve {ident}")

    assert (check_of(pulled).conclusion, check_of(pulled).buttons) == ("success", [])


async def test_a_button_does_not_make_up_for_a_role(pulled):
    ident = await pulled.ask()
    await press(pulled, "Approve", "eve")

    assert await pulled.state(ident) == "waiting"
    assert "`triage`" in pulled.refusals[0]


async def test_a_button_of_another_app_is_none_of_ours(pulled):
    ident = await pulled.ask()
    check = check_of(pulled)
    check.app = dataclasses.replace(check.app, id=4711)
    [(command, _)] = [
        (command, None)
        for command in handlers.route(
            "check_run",
            {
                "action": "requested_action",
                "check_run": {"id": check.id, "external_id": ident},
                "requested_action": {"identifier": f"approve:{ident}"},
                "repository": repository_json(pulled.scene.server.world, pulled.scene.repository),
                "sender": account_json(pulled.scene.server.world, pulled.scene.people["bob"]),
                "installation": {"id": pulled.scene.installation.id},
            },
        )
    ]
    assert await pulled.desk.obey(command, "run-5-1") == {"refused": "known-here"}
    assert await pulled.state(ident) == "waiting"


async def test_an_answer_is_void_when_the_branch_has_moved(pulled):
    ident = await pulled.ask()
    scene = pulled.scene
    more = {"b.py": "2\n"}
    author = scene.people["ada"]
    await scene.server.commit(
        scene.repository, more, author=author, message="More", branch="bot/fix"
    )
    await pulled.say("bob", f"/bot approve {ident}")

    stored = await pulled.store.get(ident)
    assert (stored.state, stored.decided_by) == ("void", "")
    assert "new commits" in pulled.refusals[0]
    assert "**Void** since" in pulled.texts()[0]


# --- decided elsewhere ----------------------------------------------------------------------------


async def test_what_the_terminal_decided_is_shown_once_the_run_goes_on(office):
    ident = await office.ask()
    await office.store.decide(ident, verdict="approved", by="root", by_id=None, via="terminal")
    assert (await office.approvals.ask(make_asking())).state == "approved"

    [text] = office.texts()
    assert "**Approved** by `root` on the machine that Fettle runs on" in text
