"""People steer a run from its issue: go on, end, spend more, or just hear this."""

from __future__ import annotations

import time

import pytest

from agents.policy import Budget
from app.commands.budget import RunAllowance
from app.simulator.github.accounts import Actor
from app.store.restore_recovery import put_back
from app.store.runs.runs import Runs
from tests.app.commands.answering_scene import RUN, open_office
from tests.app.github.conftest import key, scene, signer

__all__ = ["key", "scene", "signer"]  # fixtures


@pytest.fixture
async def office(scene, database, aiohttp_server):
    return await open_office(scene, database, aiohttp_server)


def faces(comment):
    return [(face.user.login, face.content) for face in comment.reactions]


@pytest.mark.parametrize(
    ("body", "said", "face"),
    [
        ("Mind the `tests`, please.", ("remark", "Mind the `tests`, please."), "eyes"),
        ("/bot go", ("go", ""), "+1"),
        ("/bot go the second one\nbut small", ("go", "the second one\nbut small"), "+1"),
        ("/bot cancel wrong issue", ("cancel", "wrong issue"), "+1"),
        ("/bot budget +$2", ("budget", ""), "+1"),
    ],
)
async def test_the_run_hears_it_and_people_see_that(office, body, said, face):
    comment = await office.say("bob", body)

    assert await office.list_steers() == [(*said, "bob")]
    [steer] = await office.steers.list_after(RUN)
    assert (steer.role, steer.via) == ("write", "comment")
    assert steer.url.endswith(f"#issuecomment-{comment.id}")
    assert faces(comment) == [("fettle[bot]", face)]
    assert office.texts() == []


async def test_a_redelivered_comment_is_heard_once(office):
    comment = await office.say("bob", "/bot go the second one")
    await office.redeliver()

    assert len(office.became) == 2
    assert len(await office.list_steers()) == 1
    assert faces(comment) == [("fettle[bot]", "+1")]


async def test_what_was_heard_stays_heard_when_the_run_has_ended_since(office):
    """A crash before the reaction: the run may be cancelled by the time it is obeyed again."""
    office.scene.server.faults.status("POST", "/reactions", 500, times=100)
    comment = await office.say("bob", "/bot cancel")
    await office.end("cancelled")
    office.scene.server.faults.clear()
    await office.redeliver()

    assert faces(comment) == [("fettle[bot]", "+1")]
    assert office.refusals == []
    assert len(await office.list_steers()) == 1


async def test_several_commands_of_one_comment(office):
    await office.say("bob", "/bot budget 1\n/bot go on")
    assert [kind for kind, *_ in await office.list_steers()] == ["budget", "go"]


async def test_of_several_runs_the_newest_is_told_and_all_are_cancelled(office):
    await Runs(office.database).create("run-2", office.scene.request)
    await office.say("bob", "Only the newest hears this.")
    await office.say("bob", "/bot cancel")

    assert [kind for kind, *_ in await office.list_steers(RUN)] == ["cancel"]
    assert [kind for kind, *_ in await office.list_steers("run-2")] == ["remark", "cancel"]


async def test_a_run_that_was_asked_for_afterwards_is_not_meant(office):
    await Runs(office.database).create("run-9", office.scene.request)
    await office.say("bob", "/bot cancel")

    assert await office.list_steers("run-9") == []
    assert len(await office.list_steers(RUN)) == 1


# --- with nothing under way ---------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["go", "cancel", "budget 2"])
async def test_with_no_run_it_is_said_once_what_to_do(office, verb):
    await office.end()
    first = await office.say("bob", f"/bot {verb}")
    await office.say("ada", f"/bot {verb}")

    [refusal] = office.refusals
    assert "no run is under way" in refusal
    assert "`/bot retry`" in refusal
    assert "the label `bot:resolve`" in refusal
    assert faces(first) == [("fettle[bot]", "confused")]


async def test_with_no_run_a_remark_asks_github_nothing(office):
    await office.end()
    before = len(office.scene.server.requests)
    await office.say("bob", "Nice weather.")

    assert office.became[-1][1] == {"dropped": "no run is under way"}
    assert len(office.scene.server.requests) == before


async def test_a_run_of_another_repository_with_the_same_name_hears_nothing(office):
    scene = office.scene
    await office.end()
    repository = scene.request.repository.model_copy(update={"id": 4711})
    other = scene.request.model_copy(update={"repository": repository})
    await Runs(office.database).create("run-0", other)
    for body in ("A remark.", "/bot cancel", "/bot go"):
        await office.say("bob", body)
    await office.unlabel("bob")

    assert await office.list_steers("run-0") == []


# --- called back --------------------------------------------------------------------------------


async def test_taking_the_label_off_cancels_whoever_does_it(office):
    await office.unlabel("eve")  # the triage role may label, but not write
    [steer] = await office.steers.list_after(RUN)
    assert (steer.kind, steer.by, steer.via, steer.role) == ("cancel", "eve", "label", "")


async def test_closing_the_issue_cancels(office):
    scene = office.scene
    await scene.server.close_issue(scene.repository, scene.issue.number, scene.people["mallory"])
    [steer] = await office.steers.list_after(RUN)
    assert (steer.kind, steer.by, steer.via) == ("cancel", "mallory", "issue")


async def test_a_bot_may_call_back(office):
    scene = office.scene
    app = scene.server.world.apps[scene.server.create_app("tidy").app_id]
    scene.people["tidy"] = app.bot
    await office.unlabel("tidy")
    assert [kind for kind, *_ in await office.list_steers()] == ["cancel"]


async def test_our_own_doing_cancels_nothing(office):
    scene = office.scene
    scene.people["fettle"] = scene.server.world.apps[scene.app.app_id].bot
    office.receiver._identity.bot_id = None  # just started: who we are is not known at the door yet
    await office.unlabel("fettle")

    assert office.became[-1][1] == {"dropped": "it was our own doing"}
    assert await office.list_steers() == []


async def test_another_label_says_nothing(office):
    scene = office.scene
    scene.server.create_label(scene.repository, "bug")
    await scene.server.label_issue(scene.repository, scene.issue.number, "bug", scene.people["bob"])
    await scene.server.unlabel_issue(
        scene.repository, scene.issue.number, "bug", scene.people["bob"]
    )
    assert await office.list_steers() == []


async def test_a_label_that_is_on_again_by_then_calls_nothing_back(office):
    """Its own delivery ends the run before; this one may come late, in any order."""
    scene = office.scene

    async def relabel(_request):
        scene.server.parts.issues.add_labels(
            scene.issue, Actor(scene.people["bob"]), [scene.request.label]
        )

    scene.server.faults.call_before("GET", rf"/issues/{scene.issue.number}$", relabel)
    await office.unlabel("bob")
    assert [what for _, what in office.became] == [{"dropped": "it was undone"}]
    assert await office.list_steers() == []


async def test_an_issue_that_is_open_again_by_then_calls_nothing_back(office):
    scene = office.scene

    async def reopen_issue(_request):
        scene.issue.state = "open"

    scene.server.faults.call_before("GET", rf"/issues/{scene.issue.number}$", reopen_issue)
    await scene.server.close_issue(scene.repository, scene.issue.number, scene.people["ada"])
    assert [what for _, what in office.became] == [{"dropped": "it was undone"}]
    assert await office.list_steers() == []


async def test_all_runs_are_called_back_but_none_that_came_after(office):
    for run_id in ("run-2", "run-9"):
        await Runs(office.database).create(run_id, office.scene.request)
    await office.unlabel("bob")
    told = [len(await office.list_steers(run_id)) for run_id in (RUN, "run-2", "run-9")]
    assert told == [1, 1, 0]


# --- the budget ---------------------------------------------------------------------------------


async def test_what_is_given_adds_up_to_the_operators_limit(office):
    """The operator allows $8, the policy $5."""
    for body in ("/bot budget +$2", "/bot budget $2.50", "/bot budget 1"):
        await office.say("bob", body)

    assert [each.usd for each in await office.steers.list_after(RUN)] == [2.0, 1.0]
    capped, refused = office.texts()
    assert "the run got $1.00 more, not $2.50" in capped
    assert "may spend $8.00" in capped
    assert "FETTLE_RUN_BUDGET_USD" in refused
    assert "Rule: `room-left`" in refused


async def test_a_budget_that_comes_again_is_given_once_and_told_once(office):
    await office.say("bob", "/bot budget 10")
    await office.redeliver()

    assert [each.usd for each in await office.steers.list_after(RUN)] == [3.0]
    assert len(office.texts()) == 1


async def test_a_budget_said_twice_in_one_comment_is_given_once(office):
    await office.say("bob", "/bot budget 1\n/bot budget 1")
    assert [each.usd for each in await office.steers.list_after(RUN)] == [1.0]


@pytest.mark.parametrize("amount", ["", "-2", "lots", "1e9", "nan"])
async def test_an_amount_that_cannot_be_read_is_asked_for(office, amount):
    await office.say("bob", f"/bot budget {amount}")
    assert await office.list_steers() == []
    assert "Write it like `/bot budget +$2`." in office.refusals[0]


async def test_the_policy_of_the_repository_counts(office):
    scene = office.scene
    spending = RunAllowance(office.steers, office.policy, 8.0, 50.0)
    unseen = await spending.compute(scene.request, RUN)
    await office.rule("budget: {usd: 1.5, usd_per_day: 7}\n")
    seen = await spending.compute(scene.request, RUN)

    assert (unseen.usd, unseen.room) == (Budget().usd, 3.0)
    assert (seen.usd, seen.room, seen.most, seen.day) == (1.5, 6.5, 8.0, 7)


async def test_a_policy_says_who_may_give_a_run_more(office):
    await office.rule("who: {role: admin, people: [Bob]}\n")
    await office.say("bob", "/bot budget 1")
    assert [each.usd for each in await office.steers.list_after(RUN)] == [1.0]

    await office.rule("who: {role: admin}\n")
    await office.say("bob", "/bot budget 1")
    assert [each.usd for each in await office.steers.list_after(RUN)] == [1.0]
    assert "`who` in `.github/fettle.yml`" in office.refusals[0]


async def test_whoever_may_write_calls_a_run_back_whatever_the_policy_says(office):
    await office.rule("who: {role: admin}\n")
    await office.say("bob", "/bot cancel")
    assert [each.kind for each in await office.steers.list_after(RUN)] == ["cancel"]


@pytest.mark.parametrize("body", ["Do it my way.", "/bot go my way"])
async def test_whom_the_policy_leaves_out_is_not_heard_and_told_so_once(office, body):
    await office.rule("who: {role: admin}\n")
    first, second = await office.say("bob", body), await office.say("bob", f"{body} Please.")

    assert await office.list_steers() == []
    assert faces(first) == faces(second) == [("fettle[bot]", "confused")]
    [refusal] = office.refusals
    assert "steer what is under way (`who` in `.github/fettle.yml`)" in refusal
    await office.say("ada", body)
    assert [by for _, _, by in await office.list_steers()] == ["ada"]


async def test_under_a_policy_that_is_not_valid_nobody_is_heard_and_it_is_said_once(office):
    await office.rule("who: {role: emperor}\n")
    for name in ("ada", "bob", "ada"):
        await office.say(name, "Mind the tests.")
    assert await office.list_steers() == []
    assert len(office.refusals) == 1
    await office.say("bob", "/bot cancel")
    assert [kind for kind, *_ in await office.list_steers()] == ["cancel"]


# --- after a restore ----------------------------------------------------------------------------


async def test_what_was_obeyed_before_a_restore_is_not_refused_now(office):
    done = await office.say("bob", "/bot go")
    await office.database.write(lambda c: put_back(c, time.time() - 60))
    await office.database.write(lambda c: c.exec_driver_sql("DELETE FROM steers"))
    await office.end()
    await office.redeliver()
    assert (faces(done), office.refusals) == ([("fettle[bot]", "+1")], [])
    fresh = await office.say("bob", "/bot go")
    assert faces(fresh) == [("fettle[bot]", "confused")]
    assert len(office.refusals) == 1


# --- words that mean nothing --------------------------------------------------------------------


async def test_an_unknown_command_is_answered_with_what_was_meant(office):
    comment = await office.say("bob", "/bot cancle")
    await office.redeliver()

    [refusal] = office.refusals
    assert "`/bot cancle` is no command. Did you mean `/bot cancel`?" in refusal
    assert "`/bot budget +$2`" in refusal
    assert faces(comment) == [("fettle[bot]", "confused")]
    assert await office.list_steers() == []


async def test_two_unknown_commands_of_one_comment_are_answered_once(office):
    await office.say("bob", "/bot cancle\n/bot retyr")
    assert len(office.refusals) == 1


async def test_strangers_learn_of_no_commands(office):
    comment = await office.say("mallory", "/bot cancle")
    assert office.texts() == []
    assert faces(comment) == []


async def test_a_remark_that_was_edited_on_its_way_is_marked_and_not_heard(office):
    """No comment about it: people talk, and mend what they wrote."""
    scene = office.scene

    async def edit(_request):
        said = scene.issue.comments[-1]
        said.body = "Delete everything."

    scene.server.faults.call_before("GET", r"/issues/comments/\d+$", edit)
    comment = await office.say("bob", "Mind the tests.")

    assert await office.list_steers() == []
    assert office.texts() == []
    assert faces(comment) == [("fettle[bot]", "confused")]
